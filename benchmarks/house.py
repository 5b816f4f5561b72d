"""How large the source is, and how long the way of a fit: ``python -m benchmarks.house``.

Counts are read from the syntax of ``src/unispectral``, the way of a default fit of 300 digits by a
profile hook in a process of its own, generated methods included. ``--tree`` measures another
checkout, so that two states can be set side by side. ``--numbers`` prints the private numbers of
the source instead, or of some rooms, each with its value and its reason. Nothing is written.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._report import markdown_table

_ROOT = Path(__file__).resolve().parent.parent
_WAY = """
import json, sys, threading, warnings
from sklearn.datasets import load_digits
from unispectral import UnifiedSpectralClustering
X = load_digits().data[:300]
warnings.simplefilter("ignore")
UnifiedSpectralClustering(10).fit(X)
passed = set()
def note(frame, event, argument):
    code = frame.f_code
    module = frame.f_globals.get("__name__", "")
    if event == "call" and module.startswith("unispectral") and "<" not in code.co_name[:1]:
        passed.add((module, code.co_qualname))
threading.setprofile(note)
sys.setprofile(note)
UnifiedSpectralClustering(10).fit(X)
sys.setprofile(None)
print(json.dumps({"modules": len({m for m, _ in passed}), "functions": len(passed)}))
"""


def measure_source(tree: Path) -> dict[str, float]:
    """Counts of the package in a checkout."""
    files = sorted((tree / "src" / "unispectral").rglob("*.py"))
    statements = conditionals = tuples = parameters = untyped = constants = lines = 0
    for file in files:
        text = file.read_text(encoding="utf-8")
        lines += sum(bool(line.strip()) for line in text.split("\n"))
        module = ast.parse(text)
        constants += sum(map(_is_private_constant, module.body))
        for node in ast.walk(module):
            statements += isinstance(node, ast.stmt) and not _is_docstring(node)
            conditionals += isinstance(node, ast.IfExp)
            tuples += _is_packed(node)
            if isinstance(node, ast.arg) and node.annotation is not None:
                parameters += 1
                untyped += ast.unparse(node.annotation) == "Any"
    return {
        "modules": len(files),
        "statements": statements,
        "statements a line": round(statements / lines, 2),
        "tuple assignments in 1,000 statements": round(1000 * tuples / statements, 1),
        "conditional expressions in 1,000 statements": round(1000 * conditionals / statements, 1),
        "annotated parameters": parameters,
        "of these Any": untyped,
        "private constants": constants,
        "files in the root of tests/": len(list((tree / "tests").glob("test_*.py"))),
    }


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_packed(node: ast.AST) -> bool:
    """Whether several names get several values in one statement."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def _is_private_constant(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return False
    names = [name for target in targets for name in ast.walk(target)]
    return any(
        isinstance(name, ast.Name) and name.id.startswith("_") and name.id.isupper()
        for name in names
    )


def list_numbers(folder: Path) -> list[tuple[str, str, str, str]]:
    """Module, name, value and reason of each private number in a folder.

    The reason is the comment beside the number, or the one above the lines in which it stands.
    """
    found = []
    for file in sorted(folder.rglob("*.py")):
        lines = file.read_text(encoding="utf-8").split("\n")
        for node in ast.parse("\n".join(lines)).body:
            if _is_private_constant(node) and _is_numeric(node):
                names, _, value = ast.unparse(node).partition(" = ")
                module = file.relative_to(folder).as_posix()
                found.append((module, names, value, read_reason(lines, node.lineno - 1)))
    return found


def read_reason(lines: list[str], at: int) -> str:
    """The comment beside a line, or above the block of lines without a gap in which it is."""
    beside = lines[at].partition("#")[2].strip()
    if beside:
        return beside
    while at and lines[at].strip() and not lines[at].startswith("#"):
        at -= 1
    reason: list[str] = []
    while at >= 0 and lines[at].startswith("#"):
        reason.insert(0, lines[at].lstrip("#: ").strip())
        at -= 1
    return " ".join(reason)


def _is_numeric(node: ast.stmt) -> bool:
    """Whether a statement assigns a number, or several, and nothing else."""
    value = getattr(node, "value", None)
    try:
        parts = np.ravel(ast.literal_eval(value)) if value is not None else []
    except (ValueError, TypeError):
        powers = (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Constant, ast.operator, ast.unaryop)
        return all(isinstance(part, (*powers, ast.expr_context)) for part in ast.walk(value))
    return all(isinstance(part, (int, float, np.number)) for part in parts)


def measure_way(tree: Path) -> dict[str, float]:
    """Modules and functions of the package that a default fit passes."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", _WAY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    passed = json.loads(done.stdout)
    return {
        "modules that a fit passes": passed["modules"],
        "functions that a fit passes": passed["functions"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the counts of one tree or several, side by side."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__)
    parser.add_argument("--tree", type=Path, nargs="+", default=[_ROOT], help="checkouts")
    parser.add_argument("--numbers", nargs="*", metavar="ROOM", help="private numbers of rooms")
    options = parser.parse_args(arguments)
    if options.numbers is not None:
        source = options.tree[0] / "src" / "unispectral"
        rows = [
            list(row) for room in options.numbers or ["."] for row in list_numbers(source / room)
        ]
        print(markdown_table(["module", "number", "value", "reason"], rows))
        return
    found = [measure_source(tree) | measure_way(tree) for tree in options.tree]
    rows = [[name, *(f"{one[name]:,}" for one in found)] for name in found[0]]
    print(markdown_table(["what", *(tree.resolve().name for tree in options.tree)], rows))


if __name__ == "__main__":
    main()
