"""Mutants: small changes to the solver steps, each of which some test should notice.

``python -m torture.mutation`` changes one operator or number at a time in the modules of the
steps and runs their tests, compiled code uncompiled (``NUMBA_DISABLE_JIT=1``) so that no mutant
has to be compiled. A mutant that no test kills is listed in docs/results/mutation.md.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["main", "mutants"]

_ROOT = Path(__file__).resolve().parent.parent
#: Modules and the tests that are about them.
MODULES: dict[str, tuple[str, ...]] = {
    "labels": ("tests/test_step_details.py", "tests/test_steps.py"),
    "weights": ("tests/test_step_details.py", "tests/test_steps.py"),
    "spectrum": ("tests/test_step_details.py", "tests/test_steps.py"),
    "graph.quality": ("tests/test_step_details.py", "tests/test_steps.py"),
    "graph._loops": ("tests/test_steps.py", "tests/graph/test_codes.py"),
}
_LIMIT = 240.0

_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """Every mutant of a module: line, what was changed, new source."""
    tree = ast.parse(source)
    places = [node for node in ast.walk(tree) if _kinds(node)]
    skipped = {id(n) for d in ast.walk(tree) if isinstance(d, ast.Call) for n in _of_jit(d)}
    for number, node in enumerate(places):
        if id(node) in skipped:
            continue
        for kind in _kinds(node):
            changed = copy.deepcopy(tree)
            twin = [other for other in ast.walk(changed) if _kinds(other)][number]
            before = ast.unparse(twin)
            _change(twin, kind)
            after = ast.unparse(twin)
            yield node.lineno, f"{before} → {after}", ast.unparse(changed)


def _of_jit(call: ast.Call) -> list[ast.AST]:
    """The options of a compiler directive are no part of the method."""
    named = isinstance(call.func, ast.Name) and call.func.id == "njit"
    return list(ast.walk(call)) if named else []


def _kinds(node: ast.AST) -> list[Any]:
    if isinstance(node, ast.Compare):
        return [i for i, op in enumerate(node.ops) if type(op) in _SWAPS]
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in _SWAPS:
        return ["op"]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        return ["value"]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        return ["drop"]
    return []


def _change(node: Any, kind: Any) -> None:
    if isinstance(node, ast.Compare):
        node.ops[kind] = _SWAPS[type(node.ops[kind])]()
    elif kind == "op":
        node.op = _SWAPS[type(node.op)]()
    elif kind == "drop":
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node.value, int):
        node.value += 1
    else:
        node.value = node.value * 2 + (node.value == 0)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Gives the mutant in place of the module."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.path))

    def get_filename(self, name: str) -> str:
        return str(self.path)

    def get_data(self, path: Any) -> bytes:
        return self.source.encode()


def survives(name: str, source: str, tests: Sequence[str]) -> bool:
    """Whether all tests pass with the mutant, run in a fork of this process."""
    path = _ROOT / "src" / Path(*name.split(".")).with_suffix(".py")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import pytest

            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            sys.meta_path.insert(0, _Finder(name, path, source))
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]
            code = int(pytest.main([*options, *tests]))
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + _LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)  # a mutant that never ends is noticed
    os.waitpid(child, 0)
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Try a sample of the mutants of each module and write the survivors."""
    parser = argparse.ArgumentParser(prog="python -m torture.mutation", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=MODULES, default=list(MODULES))
    parser.add_argument("--sample", type=int, default=60, help="mutants of each module at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the survivors, as Markdown")
    options = parser.parse_args(arguments)
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    import pytest  # noqa: F401  imported once, before the forks
    import scipy.sparse.csgraph  # noqa: F401
    import sklearn.cluster  # noqa: F401

    lines = []
    for module in options.only:
        name = f"unispectral.{module}"
        tests = [test for test in MODULES[module] if (_ROOT / test).exists()]
        source = (_ROOT / "src" / Path(*name.split(".")).with_suffix(".py")).read_text()
        if not survives(name, source, tests):
            print(f"{module}: the tests fail without a mutant")
            return 1
        every = list(mutants(source))
        rng = np.random.default_rng(options.seed)
        chosen = sorted(rng.permutation(len(every))[: options.sample])
        alive = []
        for position in chosen:
            line, what, changed = every[position]
            if survives(name, changed, tests):
                alive.append((line, what))
                print(f"  survives: {module}:{line}: {what}", flush=True)
        killed = len(chosen) - len(alive)
        print(f"{module}: {killed} of {len(chosen)} killed, of {len(every)} mutants", flush=True)
        lines.append(f"\n## {module}\n\n{killed} of {len(chosen)} killed.\n")
        lines += [f"- line {line}: `{what}`" for line, what in alive]
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
