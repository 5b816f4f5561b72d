"""Valid saved models whose meaning is changed: ``python -m robustness.model_fuzz``.

A saved model is an archive of JSON and arrays. A case takes the model of one estimator, changes
one to three places of it (a number, a name, a shape, an index, a type, a subtree; also one of
another model), writes what the archive says about its own members anew, so that the change is not
found by that alone, loads the file and predicts. It passes if there is a result or one sentence:
``ModelFileError`` from ``load_model``, a ``ValueError`` that names its argument from ``predict``.
Nothing here knows more of the format than that it consists of JSON and ``.npy`` members.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from robustness import _estimators
from robustness._pool import add_cases
from robustness._results import Part, Plan, Result
from robustness.inputs import names_argument
from unispectral.tables import TablePreparer

__all__ = ["MUTATORS", "PARTS", "FuzzCase", "cases", "main", "mutated", "outcome", "run", "valid"]

#: Seconds after which a case counts as hung, also on a busy machine.
_LIMIT = 60.0
_PARTS = 4
_ROWS, _COLUMNS = 24, 5
#: Where workers find the valid models.
_FOLDER = "UNISPECTRAL_FUZZ_MODELS"
#: Compiled code with bounds checked; Numba would not tell it from code without.
_CACHE = Path(__file__).resolve().parent.parent / ".robustness" / "numba-boundscheck"


class FuzzCase(NamedTuple):
    """A model and the seed of its changes."""

    model: str
    seed: int

    def __str__(self) -> str:
        return f"models: {self.model} | changed | {self.seed}"


# ---- Valid models -------------------------------------------------------------------------------


def _table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(_ROWS, _COLUMNS)) + 4.0 * (np.arange(_ROWS) % 3)[:, None]


_PIPELINES = {
    "prepared": (TablePreparer(),),
    "scaled": (StandardScaler(), PCA(3, random_state=0)),
    "imputed": (SimpleImputer(), MinMaxScaler(), Normalizer()),
    "projected": ("passthrough", RobustScaler(), MaxAbsScaler(), TruncatedSVD(2, random_state=0)),
}


#: How the names of the forms begin that can be saved: those of estimators that predict.
_SAVED = (_estimators.DEFAULT, "USC", "SCSK", "SCMK")


def _forms() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Estimator and training data of every form that a saved model can have."""
    X = _table()
    K = X @ X.T
    absent = X.copy()
    absent[3] = np.nan
    found = {
        name: lambda name=name: (_estimators.make(name, 3), X)
        for name in _estimators.ON_TABLES
        if name.startswith(_SAVED)
    }
    for name in filter(lambda name: name.startswith(_SAVED), _estimators.ON_KERNELS):
        several = name.endswith("kernels")
        data = [K, (K / 50) ** 2] if several else K
        found[name] = lambda name=name, data=data: (_estimators.make(name, 3), data)
    for name, data in {
        "sparse": sp.csr_array(np.where(X > 3, X, 0.0)),
        "views": [X, X[:, :2] ** 2],
        "named views": {"a": X, "b": X[:, 2:]},
        "views, one sample absent": [absent, X[:, :2] ** 2],
        "float32": X.astype(np.float32),
    }.items():
        found[f"{_estimators.DEFAULT}, {name}"] = lambda data=data: (
            _estimators.make(_estimators.DEFAULT, 3),
            data,
        )
    for name, steps in _PIPELINES.items():
        holes = name == "imputed"
        data = np.where(X > 8, np.nan, X) if holes else X
        found[f"pipeline, {name}"] = lambda steps=steps, data=data: (
            make_pipeline(
                *(clone(step, safe=False) for step in steps),
                _estimators.make(_estimators.DEFAULT, 3),
            ),
            data,
        )
    return found


@lru_cache(maxsize=64)
def valid(name: str) -> bytes:
    """The saved model of a form, as :func:`save_model` writes it; workers find them in files."""
    if _FOLDER in os.environ:
        return (Path(os.environ[_FOLDER]) / name).read_bytes()
    from unispectral.persistence import save_model

    estimator, X = _forms()[name]()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        save_model(estimator.fit(X), Path(folder) / "model.npz")
        return (Path(folder) / "model.npz").read_bytes()


# ---- Archives -----------------------------------------------------------------------------------


class Archive:
    """Members of a saved model: JSON trees and arrays by name."""

    def __init__(self, content: bytes) -> None:
        self.trees: dict[str, Any] = {}
        self.arrays: dict[str, np.ndarray] = {}
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                if name.endswith(".npy"):
                    self.arrays[name] = np.load(io.BytesIO(archive.read(name)))
                else:
                    self.trees[name] = json.loads(archive.read(name))

    def declare(self) -> None:
        """Write anew what the JSON says of the type and shape of every array."""
        by_name = {name.removesuffix(".npy"): array for name, array in self.arrays.items()}
        for _, parent, key in self.places():
            node = parent[key]
            if isinstance(node, dict) and {"dtype", "shape"} <= node.keys() and key in by_name:
                array = by_name[key]
                node.update(dtype=array.dtype.str, shape=list(array.shape))

    def pack(self) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, tree in self.trees.items():
                archive.writestr(name or "?", json.dumps(tree))  # an archive needs names
            for name, array in self.arrays.items():
                member = io.BytesIO()
                np.save(member, array, allow_pickle=False)
                archive.writestr(name, member.getvalue())
        return packed.getvalue()

    def places(self) -> list[tuple[int, Any, Any]]:
        """Every node of the trees as (depth, container, key)."""
        found: list[tuple[int, Any, Any]] = []
        stack: list[tuple[int, Any]] = [(0, self.trees)]
        while stack:
            depth, node = stack.pop()
            keys = node if isinstance(node, dict) else range(len(node))
            for key in list(keys):
                found.append((depth, node, key))
                if isinstance(node[key], (dict, list)):
                    stack.append((depth + 1, node[key]))
        return found


def _copy(tree: Any) -> Any:
    return json.loads(json.dumps(tree))


def _pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def _place(
    archive: Archive, rng: np.random.Generator, wanted: type | tuple[type, ...] = object
) -> tuple[Any, Any] | None:
    """A node of a type: half of the time any, half of the time one near the root."""
    found = [place for place in archive.places() if isinstance(place[1][place[2]], wanted)]
    if rng.random() < 0.5:
        found = [place for place in found if place[0] <= 4] or found
    return _pick(rng, found)[1:] if found else None


# ---- Changes: each changes an archive in place --------------------------------------------------

Mutator = Callable[[Archive, np.random.Generator], None]


def _number(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng, (int, float)):
        parent, key = place
        value = parent[key]
        near = [value + 1, value - 1, -value, 2 * value, value + 0.5, bool(value), float(value)]
        far = [0, -1, 2**31, 2**40, 2**63, 10**30, 1e308, -1e308, 1e-320, None, str(value)]
        parent[key] = _pick(rng, near if rng.random() < 0.5 else far)


_NAMES = ("", "__class__", "__dict__", "fit", "labels_", "../x", "\ud800", "a" * 5000, "größe",
          "$array", "linear", "SCSK", "KKM", "os.system", "\n", "0")  # fmt: skip


def _string(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng, str):
        parent, key = place
        others = [p[k] for _, p, k in archive.places() if isinstance(p[k], str)]
        parent[key] = _pick(rng, others) if rng.random() < 0.5 else _pick(rng, _NAMES)


def _other_type(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng):
        parent, key = place
        parent[key] = _pick(rng, [None, True, 0, -1, 1.5, "x", [], {}, [[]], {"$array": "x"}])


def _remove(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng):
        parent, key = place
        del parent[key]


def _rename(archive: Archive, rng: np.random.Generator) -> None:
    places = [(p, k) for _, p, k in archive.places() if isinstance(p, dict)]
    parent, key = _pick(rng, places)
    others = [k for _, k in places]
    parent[_pick(rng, others) if rng.random() < 0.5 else _pick(rng, _NAMES)] = parent.pop(key)


def _repeat(archive: Archive, rng: np.random.Generator) -> None:
    if (place := _place(archive, rng, list)) and place[0][place[1]]:
        items = place[0][place[1]]
        for _ in range(_pick(rng, [1, 1, 2, 30])):
            items.insert(int(rng.integers(len(items) + 1)), _copy(_pick(rng, items)))


def _reorder(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng, list):
        parent, key = place
        parent[key] = [parent[key][i] for i in rng.permutation(len(parent[key]))]


def _exchange(archive: Archive, rng: np.random.Generator) -> None:
    """Two nodes of one kind change places."""
    if (one := _place(archive, rng)) is None:
        return
    kind = type(one[0][one[1]])
    if other := _place(archive, rng, kind):
        (p, k), (q, m) = one, other
        p[k], q[m] = _copy(q[m]), _copy(p[k])


def _nest(archive: Archive, rng: np.random.Generator) -> None:
    """A node inside copies of itself or of what holds it, many levels deep."""
    if place := _place(archive, rng, (dict, list)):
        parent, key = place
        for _ in range(_pick(rng, [1, 2, 5, 12])):
            whole = _copy(parent[key])
            inner = Archive.__new__(Archive)
            inner.trees, inner.arrays = {"": parent[key]}, {}
            below = [p for p in inner.places() if isinstance(p[1][p[2]], (dict, list))][1:]
            deep = max((depth for depth, _, _ in below), default=0)
            if not below or deep > 300 or len(json.dumps(whole)) > 200_000:
                break
            _, holder, where = _pick(rng, below)
            holder[where] = whole


def _wrap(archive: Archive, rng: np.random.Generator) -> None:
    if place := _place(archive, rng):
        parent, key = place
        for _ in range(_pick(rng, [1, 2, 50])):
            parent[key] = _pick(rng, [[parent[key]], {"$tuple": [parent[key]]}])


def _graft(archive: Archive, rng: np.random.Generator) -> None:
    """A node of another model, with all of its arrays."""
    other = Archive(valid(_pick(rng, list(_forms()))))
    place, graft = _place(archive, rng), _place(other, rng)
    if place and graft:
        parent, key = place
        parent[key] = graft[0][graft[1]]
        archive.arrays = {**other.arrays, **archive.arrays}
        _declare_new(archive, other)


def _declare_new(archive: Archive, other: Archive) -> None:
    """Entries for arrays that came along, wherever the archive lists its arrays."""
    names = {name.removesuffix(".npy") for name in archive.arrays}
    for _, parent, key in archive.places():
        node = parent[key]
        if isinstance(node, dict) and node and set(node) < names:
            for name in names - set(node):
                node[name] = {"dtype": "", "shape": []}


def _array(archive: Archive, rng: np.random.Generator, *, integer: bool | None = None) -> str:
    """The name of an array, of integers if asked for and there are any."""
    names = [
        name
        for name, array in archive.arrays.items()
        if integer is None or (array.dtype.kind in "iu") == integer
    ]
    return _pick(rng, names or list(archive.arrays))


def _indices(archive: Archive, rng: np.random.Generator) -> None:
    name = _array(archive, rng, integer=True)
    array = archive.arrays[name].copy()
    if array.size and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        far = [-1, _ROWS, _ROWS + 1, 10**6, int(array.max()) + 1, limits.max, limits.min]
        value = min(max(int(_pick(rng, far)), limits.min), limits.max)
        array.flat[rng.integers(array.size, size=_pick(rng, [1, 3, array.size]))] = value
    archive.arrays[name] = array


def _values(archive: Archive, rng: np.random.Generator) -> None:
    name = _array(archive, rng, integer=False)
    array = archive.arrays[name].copy()
    if array.size and array.dtype.kind == "f":
        value = _pick(rng, [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1e-300, -0.0])
        with np.errstate(all="ignore"):
            array.flat[rng.integers(array.size, size=_pick(rng, [1, 5, array.size]))] = value
    archive.arrays[name] = array


def _shape(archive: Archive, rng: np.random.Generator) -> None:
    name = _array(archive, rng)
    array = archive.arrays[name]
    changes: list[Callable[[], np.ndarray]] = [
        lambda: array[:-1] if array.ndim else array,
        lambda: array[:0] if array.ndim else array,
        lambda: np.concatenate([array, array[-1:]]) if array.ndim else array,
        lambda: np.concatenate([array] * 3) if array.ndim else array,
        lambda: array[..., :-1] if array.ndim > 1 else array,
        lambda: np.concatenate([array, array], axis=-1) if array.ndim > 1 else array,
        lambda: array.T,
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.flat[0] if array.size else array,
        lambda: np.asfortranarray(array),
    ]
    archive.arrays[name] = np.asarray(_pick(rng, changes)())


def _dtype(archive: Archive, rng: np.random.Generator) -> None:
    name = _array(archive, rng)
    kinds = ["i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", ">f8", ">i8", "?", "c16", "U3"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.arrays[name] = archive.arrays[name].astype(_pick(rng, kinds))


def _order(archive: Archive, rng: np.random.Generator) -> None:
    name = _array(archive, rng)
    if archive.arrays[name].ndim:
        archive.arrays[name] = rng.permutation(archive.arrays[name])


def _swap_arrays(archive: Archive, rng: np.random.Generator) -> None:
    one, other = _array(archive, rng), _array(archive, rng)
    arrays = archive.arrays
    arrays[one], arrays[other] = arrays[other], arrays[one]


def _drop_array(archive: Archive, rng: np.random.Generator) -> None:
    del archive.arrays[_array(archive, rng)]


MUTATORS: dict[str, Mutator] = {
    "number": _number, "string": _string, "other type": _other_type, "remove": _remove,
    "rename": _rename, "repeat": _repeat, "reorder": _reorder, "exchange": _exchange,
    "nest": _nest, "wrap": _wrap, "graft": _graft, "indices": _indices, "values": _values,
    "shape": _shape, "dtype": _dtype, "order": _order, "swap arrays": _swap_arrays,
    "drop array": _drop_array,
}  # fmt: skip


def mutated(case: FuzzCase) -> tuple[bytes, list[str]]:
    """The changed file of a case, and the names of its changes."""
    rng = np.random.default_rng(case.seed)
    archive = Archive(valid(case.model))
    changes = [_pick(rng, list(MUTATORS)) for _ in range(_pick(rng, [1, 1, 1, 2, 3]))]
    for change in changes:
        if archive.arrays:
            MUTATORS[change](archive, rng)
    if rng.random() < 0.9:
        archive.declare()
    return archive.pack(), changes


# ---- Trying them --------------------------------------------------------------------------------


def outcome(case: FuzzCase) -> tuple[str, str]:
    """Load and predict: ``"works"``, ``"refused"`` or ``"failed"``, and what was said."""
    content, changes = mutated(case)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.npz"
        path.write_bytes(content)
        found = _load_and_predict(path)
    return found[0], f"{', '.join(changes)}: {found[1]}"


def _load_and_predict(path: Path) -> tuple[str, str]:
    from unispectral.persistence import ModelFileError, load_model

    try:
        model = load_model(path)
    except ModelFileError as error:
        text = str(error)
        good = "\n" not in text and 0 < len(text) < 2000
        return ("refused", text) if good else ("failed", f"no sentence: {text[:300]!r}")
    except Exception as error:
        return "failed", f"load_model: {type(error).__name__}: {error}"
    wrong = [text for how, new in _new_points(model) if (text := _predict(model, how, new))]
    return ("failed", "; ".join(wrong)) if wrong else ("works", "")


def _predict(model: Any, how: str, new: Any) -> str:
    """What is wrong with a prediction, if anything."""
    try:
        labels = model.predict(new)
    except ValueError as error:
        named = names_argument(str(error), model)
        return "" if named else f"predict on {how} names no argument: {error!r}"
    except Exception as error:
        return f"predict on {how}: {type(error).__name__}: {error}"
    n_rows = (new[0] if isinstance(new, list) else new).shape[0]
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
        return f"predict on {how}: {labels.dtype} labels of shape {labels.shape}"
    return ""


def _new_points(model: Any) -> Iterator[tuple[str, Any]]:
    """What the model was made for, and tables as wide as it says that it wants."""
    X = _table()[:4] + 0.1
    yield "a table", X
    if hasattr(model, "steps"):  # what else a pipeline takes is its transformers' affair
        return
    yield "sparse rows", sp.csr_array(np.where(X > 3, X, 0.0))
    yield "views", [X, X[:, :2] ** 2]
    cross = X @ _table().T
    yield "a kernel", cross
    yield "kernels", [cross, (cross / 50) ** 2]
    width = getattr(model, "n_features_in_", None)
    if isinstance(width, (int, np.integer)) and 0 < width <= 100_000 and width != _COLUMNS:
        wide = np.resize(X, (4, int(width)))
        yield "a table of its width", wide
        yield "sparse rows of its width", sp.csr_array(wide)


def cases(seed: int) -> Iterator[FuzzCase]:
    """Endless cases over all forms in turn."""
    rng = np.random.default_rng([seed, 5])
    names = list(_forms())
    while True:
        for name in names:
            yield FuzzCase(name, int(rng.integers(2**31)))


def run(wanted: Iterable[FuzzCase], seed: int = 0, workers: int = 1) -> Result:
    """Run cases in processes whose compiled code checks its bounds."""
    result = Result("hostile files: saved models of changed meaning", seed)
    with _checked_workers():
        return add_cases(result, outcome, wanted, workers=workers, limit=_LIMIT)


@contextmanager
def _checked_workers() -> Iterator[None]:
    """Valid models in a folder, and an environment in which new processes check bounds."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        for name in _forms():
            (Path(folder) / name).write_bytes(valid(name))
        os.environ.update(
            {_FOLDER: folder, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(_CACHE)}
        )
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def prepare() -> None:
    """Load every valid model and predict, so that all is compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _forms():
            _load_and_predict(Path(os.environ[_FOLDER]) / name)


def _part(number: int) -> Part:
    def part(plan: Plan) -> Result:
        count = plan.pick(100, 20_000 // _PARTS)
        wanted = islice(cases(plan.seed), number * count, (number + 1) * count)
        return run(wanted, plan.seed, plan.workers)

    return part


PARTS: dict[str, Part] = {f"{number}": _part(number) for number in range(_PARTS)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run many cases with bounds checked in compiled code; prints a summary as JSON last."""
    parser = argparse.ArgumentParser(prog="python -m robustness.model_fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    result = run(islice(cases(options.seed), options.cases), options.seed, options.workers)
    print(*result.failures, sep="\n", file=sys.stderr)
    kinds = Counter(text.partition(" | changed")[0] for text in result.failures)
    print(f"{time.monotonic() - begun:.0f} s; {dict(kinds)}", file=sys.stderr)
    print(json.dumps({"outcomes": result.outcomes, **result.facts}))
    return int(result.n_failed > 0)


if __name__ == "__main__":
    from robustness.model_fuzz import main as run_as_imported  # workers import it by this name

    sys.exit(run_as_imported())
