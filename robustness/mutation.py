"""Mutants: small changes to the solver steps, each of which some test should notice.

``python -m robustness.mutation`` changes one operator or number at a time in the modules of the
steps and runs their tests, compiled code uncompiled (``NUMBA_DISABLE_JIT=1``) so that no mutant
has to be compiled. A mutant that no test kills is listed in docs/results/mutation.md. What was
tried is kept in ``.robustness/``, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustness._equivalent import reason

__all__ = ["main", "mutants", "page"]

_ROOT = Path(__file__).resolve().parent.parent
#: Modules and the tests that are about them.
MODULES: dict[str, tuple[str, ...]] = {
    "labels": ("tests/test_step_details.py", "tests/test_steps.py"),
    "paper._weights": ("tests/test_step_details.py", "tests/test_steps.py"),
    "spectrum._laplacian": ("tests/test_step_details.py", "tests/test_steps.py"),
    "spectrum._stiefel": ("tests/spectrum/test_stiefel.py", "tests/test_step_details.py"),
    "graph.quality": ("tests/test_step_details.py",),
    "paper._wen_yin": ("tests/paper/test_wen_yin.py",),
    "graph._dense": ("tests/graph/test_codes.py",),
    "graph._loops": ("tests/graph/test_codes.py", "tests/test_steps.py"),
}
_LIMIT = 240.0

_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """Every mutant of a module: line, what was changed, new source.

    A number says nothing by itself: the line in which it stands is told with it.
    """
    tree, lines = ast.parse(source), source.splitlines()
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
            what = f"{before} → {ast.unparse(twin)}"
            if isinstance(node, (ast.Constant, ast.UnaryOp)):
                what += f" in {lines[node.lineno - 1].strip()}"
            yield node.lineno, what, ast.unparse(changed)


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
            options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported before
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


def _load() -> None:
    """Import once what the tests import, before the forks; nothing of the library itself."""
    import pytest

    for name in (
        "hypothesis.extra.numpy", "networkx", "numba", "pandas", "scipy.optimize", "scipy.stats",
        "scipy.sparse.csgraph", "sklearn.cluster", "sklearn.datasets", "sklearn.metrics",
    ):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--version"])  # its plugins


def _key(line: int, what: str) -> str:
    return f"{line}: {what}"


class _Book:
    """Which mutants were tried and what came of them, kept from one call to the next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.modules: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def open(self, module: str, source: str, tests: Sequence[str], every: int) -> dict[str, bool]:
        """The mutants of a module; forgotten where the module or its tests have changed."""
        state = hashlib.sha256(source.encode())
        for test in tests:
            state.update((_ROOT / test).read_bytes())
        now = state.hexdigest()[:12]
        if self.modules.get(module, {}).get("state") != now:
            self.modules[module] = {"state": now, "every": every, "survives": {}}
        return self.modules[module]["survives"]

    def save(self) -> None:
        from unispectral._files import write_text_atomic

        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.path, json.dumps(self.modules, indent=1, ensure_ascii=False))


def try_module(module: str, book: _Book, sample: int, seed: int, until: float) -> bool:
    """Try mutants of a module that the book lacks; False if its tests fail without any."""
    name = f"unispectral.{module}"
    tests = [test for test in MODULES[module] if (_ROOT / test).exists()]
    source = (_ROOT / "src" / Path(*name.split(".")).with_suffix(".py")).read_text()
    every = list(mutants(source))
    found = book.open(module, source, tests, len(every))
    chosen = sorted(np.random.default_rng(seed).permutation(len(every))[:sample])
    todo = [every[i] for i in chosen if _key(*every[i][:2]) not in found]
    if not todo or time.monotonic() > until:
        return True
    if not survives(name, source, tests):
        print(f"{module}: the tests fail without a mutant")
        return False
    for line, what, changed in todo:
        if time.monotonic() > until:
            break
        alive = found[_key(line, what)] = survives(name, changed, tests)
        if alive:
            print(f"  survives: {module}:{line}: {what}", flush=True)
        book.save()
    killed = len(found) - sum(found.values())
    print(f"{module}: {killed} of {len(found)} killed, of {len(every)} mutants", flush=True)
    return True


def page(modules: dict[str, Any]) -> str:
    """The table and the survivors, each with the reason why it makes no difference, if known."""
    lines = [
        "# Mutants",
        "",
        "Small changes to the solver steps, one at a time (another operator, another number), by",
        "`make mutation`. A mutant that the tests of the step do not notice survives. Survivors",
        "were looked at: those with a reason change nothing that a user could see.",
        "",
        "| module | mutants | tried | killed | survive | of these without a reason |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    details = []
    for module in [one for one in MODULES if one in modules]:
        found = modules[module]["survives"]
        alive = [key.partition(": ") for key, survived in found.items() if survived]
        open_ones = [what for _, _, what in alive if not reason(module, what)]
        lines.append(
            f"| {module} | {modules[module]['every']} | {len(found)} | {len(found) - len(alive)} "
            f"| {len(alive)} | {len(open_ones)} |"
        )
        if alive:
            details += ["", f"## {module}", ""]
        for line, _, what in sorted(alive, key=lambda one: int(one[0])):
            why = reason(module, what) or "a test for it is lacking"
            details.append(f"- line {line}, `{what}`: {why}")
    return "\n".join([*lines, *details]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants of each module and write the survivors."""
    parser = argparse.ArgumentParser(prog="python -m robustness.mutation", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=MODULES, default=list(MODULES))
    parser.add_argument("--sample", type=int, default=100, help="mutants of each module at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="try no mutant after this")
    parser.add_argument("--book", type=Path, default=_ROOT / ".robustness" / "mutants.json")
    parser.add_argument("--out", type=Path, default=_ROOT / "docs" / "results" / "mutation.md")
    options = parser.parse_args(arguments)
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    _load()
    from unispectral._files import write_text_atomic

    book = _Book(options.book)
    until = time.monotonic() + 60 * options.minutes
    good = [try_module(one, book, options.sample, options.seed, until) for one in options.only]
    write_text_atomic(options.out, page(book.modules))
    print(f"written to {options.out}")
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
