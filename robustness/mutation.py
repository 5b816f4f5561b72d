"""Mutants: small changes to the solver steps, each of which some test should notice.

``python -m robustness.mutation`` changes one operator or number at a time in the modules of the
steps and runs the tests that reach the changed function, the quick ones first, to the first that
fails; compiled code uncompiled (``NUMBA_DISABLE_JIT=1``), so that no mutant has to be compiled. A
mutant that no test kills is listed in docs/results/mutation.md. What was tried is kept in
``.robustness/``, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import math
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from robustness._equivalent import reason

__all__ = ["main", "mutants", "page"]

_ROOT = Path(__file__).resolve().parent.parent
#: Modules and the tests that are about them.
MODULES: dict[str, tuple[str, ...]] = {
    "labels": ("tests/paper/test_step_details.py", "tests/paper/test_steps.py"),
    "paper._weights": ("tests/paper/test_step_details.py", "tests/paper/test_steps.py"),
    "spectrum._eigen": ("tests/spectrum/test_eigen.py", "tests/paper/test_steps.py"),
    "spectrum._stiefel": ("tests/spectrum/test_stiefel.py", "tests/paper/test_step_details.py"),
    "graph.quality": ("tests/paper/test_step_details.py",),
    "graph._dense": ("tests/graph/test_codes.py",),
    "graph._loops": (
        "tests/graph/test_codes.py",
        "tests/paper/test_steps.py",
        "tests/paper/test_step_details.py",
    ),
    "kernels._loops": ("tests/kernels/test_loops.py", "tests/kernels/test_neighbourhood_loop.py"),
    "paper._embedding": ("tests/paper/test_embedding.py",),
}
#: Processor seconds of a mutant beyond thrice those of its tests: it never ends, and is noticed.
_GRACE = 10

_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one node of a module's syntax."""

    line: int
    what: str
    place: int
    kind: Any


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module: what is changed, and where.

    Where is the function, and for a number, which says nothing by itself, the expression around
    it; both are read from the syntax, so that moving or reformatting the code changes neither.
    """
    tree = ast.parse(source)
    skipped = {id(n) for d in ast.walk(tree) if isinstance(d, ast.Call) for n in _of_jit(d)}
    around = dict(_surroundings(tree))
    for place, node in enumerate(_places(tree)):
        if id(node) in skipped:
            continue
        function, expression = around[id(node)]
        for kind in _kinds(node):
            twin = copy.deepcopy(node)
            _change(twin, kind)
            what = f"{ast.unparse(node)} → {ast.unparse(twin)}"
            if isinstance(node, (ast.Constant, ast.UnaryOp)):
                what += f" in {expression}"
            if function:
                what = f"{function}: {what}"
            yield Mutant(node.lineno, what, place, kind)


def mutate(source: str, mutant: Mutant) -> str:
    """The source of a module with one mutant."""
    tree = ast.parse(source)
    _change(_places(tree)[mutant.place], mutant.kind)
    return ast.unparse(tree)


def _places(tree: ast.AST) -> list[Any]:
    """The nodes of a syntax tree that have mutants."""
    return [node for node in ast.walk(tree) if _kinds(node)]


def _surroundings(
    node: ast.AST, function: str = "", expression: str = ""
) -> Iterator[tuple[int, tuple[str, str]]]:
    """For every node its function, and the smallest expression or statement that is around it."""
    yield id(node), (function, expression)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}".lstrip(".")
    if isinstance(node, ast.arguments):
        usual = [None] * (len(node.posonlyargs + node.args) - len(node.defaults))
        named = zip(node.posonlyargs + node.args, [*usual, *node.defaults], strict=True)
        for name, default in (*named, *zip(node.kwonlyargs, node.kw_defaults, strict=True)):
            if default is not None:
                around = f"{name.arg}={ast.unparse(default)}"
                yield from _surroundings(default, function, around)
        return
    simple = isinstance(node, (ast.expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return))
    simple = simple and not isinstance(node, ast.UnaryOp)
    children = list(ast.iter_child_nodes(node))
    parts = [child.value if isinstance(child, ast.keyword) else child for child in children]
    if simple and any(isinstance(part, (ast.Constant, ast.UnaryOp)) for part in parts):
        expression = ast.unparse(node)
    for child in children:
        yield from _surroundings(child, function, expression)


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


class _Reach:
    """A plugin of pytest: seconds of each test, and the functions of a module that it calls."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        called: set[str] = set()

        def note(frame: Any, event: str, argument: Any) -> None:
            if event == "call" and frame.f_code.co_filename == self.path:
                called.add(frame.f_code.co_qualname.partition(".")[0])

        begun = time.process_time()
        threading.setprofile(note)
        sys.setprofile(note)
        yield
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        seconds = time.process_time() - begun
        self.tests[item.nodeid] = {"seconds": seconds, "functions": sorted(called)}


def _in_fork(
    name: str, source: str, tests: Sequence[str], seconds: float, reach: bool = False
) -> dict[str, Any] | None:
    """Run tests with a module's source in a fork; what they reach if all pass, None otherwise."""
    path = _ROOT / "src" / Path(*name.split(".")).with_suffix(".py")
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, 1)
                os.dup2(nothing, 2)
                sys.meta_path.insert(0, _Finder(name, path, source))
                options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
                options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported before
                plugin = _Reach(path)
                plugins = [plugin] if reach else []
                code = int(pytest.main([*options, *tests], plugins=plugins))
                json.dump(plugin.tests, answer)
                answer.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        return json.load(answer) if status == 0 else None


def _enclosing(source: str, line: int) -> str:
    """The function or class of the module in which a line is; nothing outside of them."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= (node.end_lineno or first):
                return node.name
    return ""


def survives(name: str, source: str, reached: dict[str, Any], function: str) -> bool:
    """Whether all tests that reach a function pass with the mutant, in a fork of this process."""
    some = {
        test: found["seconds"]
        for test, found in reached.items()
        if not function or function in found["functions"]
    }
    if not some:
        return True
    limit = _GRACE + 3 * sum(some.values())
    return _in_fork(name, source, sorted(some, key=some.__getitem__), limit) is not None


def _load() -> None:
    """Import once what the tests import, before the forks; nothing of the library itself."""
    for name in (
        "hypothesis.extra.numpy", "networkx", "numba", "pandas", "scipy.optimize", "scipy.stats",
        "scipy.sparse.csgraph", "sklearn.cluster", "sklearn.datasets", "sklearn.metrics",
    ):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--version"])  # its plugins
    gc.collect()
    gc.freeze()  # pytest looks for garbage at its end: not in all of this each time


def _key(mutant: Mutant) -> str:
    return f"{mutant.line}: {mutant.what}"


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
    chosen = np.random.default_rng(seed).permutation(len(every))[:sample]
    todo = [every[i] for i in chosen if _key(every[i]) not in found]
    if not todo or time.monotonic() > until:
        return True
    reached = _in_fork(name, source, tests, 600, reach=True)
    if reached is None:
        print(f"{module}: the tests fail without a mutant")
        return False
    for mutant in todo:
        if time.monotonic() > until:
            break
        changed = mutate(source, mutant)
        alive = survives(name, changed, reached, _enclosing(source, mutant.line))
        found[_key(mutant)] = alive
        if alive:
            print(f"  survives: {module}:{_key(mutant)}", flush=True)
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
        "were looked at: those with a reason change nothing that a user could see. Where fewer",
        "were tried than there are, they were drawn at random with seed 0.",
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
    parser.add_argument("--sample", type=int, default=1000, help="mutants of each module at most")
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
