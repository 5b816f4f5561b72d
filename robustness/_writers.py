"""What writes files, and how to tell whether they are what they should be."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np


class Writer:
    """Something that writes files, and how to tell whether they are what they should be."""

    title = ""
    #: Kilobytes of a disk that is too small, from and to.
    disk = (4, 200)
    #: Faults of each kind in a short and in a full run.
    kills = (4, 40)
    others = (1, 6)

    def __init__(self, base: Path) -> None:
        self.base = base
        self.table = base / "table.csv"
        if not self.table.exists():
            rng = np.random.default_rng(0)
            X = rng.standard_normal((45, 3)) + 8 * np.repeat(np.arange(3), 15)[:, None]
            lines = ["a,b,c", *(",".join(f"{value:.4f}" for value in row) for row in X)]
            self.table.write_text("\n".join(lines) + "\n")

    def act(self, folder: Path) -> int:
        """Write the files into a folder; returns an exit code."""
        raise NotImplementedError

    def content(self, folder: Path) -> dict[str, Any]:
        """What is there, by final name, in a form that can be compared."""
        raise NotImplementedError

    def corrupt(self, folder: Path, rng: np.random.Generator) -> None:
        """Damage what an earlier run left."""


class ClusterFiles(Writer):
    title = "the files of the command cluster"

    def act(self, folder: Path) -> int:
        from unispectral.cli._app import run as command

        options = {"-o": "labels.csv", "--model": "model.npz", "--graph": "graph.graphml"}
        options["--report"] = "page.html"
        files = [part for option, name in options.items() for part in (option, str(folder / name))]
        sys.argv = ["unispectral", "cluster"]  # the page prints the command
        return command(["cluster", str(self.table), "-k", "3", "-q", "--jobs", "1", *files])

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.persistence import load_model

        found: dict[str, Any] = {}
        for name in ("labels.csv", "graph.graphml", "page.html"):
            path = folder / name
            if path.exists():
                text = path.read_text()
                if name == "page.html":  # it tells how long the fit took
                    text = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "0", text)
                found[name] = hashlib.sha256(text.encode()).hexdigest()
        if (folder / "model.npz").exists():
            found["model.npz"] = load_model(folder / "model.npz").labels_.tolist()
        return found

    def corrupt(self, folder: Path, rng: np.random.Generator) -> None:
        for path in sorted(p for p in folder.iterdir() if p.is_file()):
            content = path.read_bytes()
            path.write_bytes(content[: rng.integers(len(content))])


class OtherFiles(Writer):
    title = "the files of predict, compare and bench export"
    kills = (2, 24)
    others = (1, 4)
    disk = (1, 12)

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        from unispectral.bench import Store, Study, StudyDataset, StudyMethod
        from unispectral.bench import run as run_study
        from unispectral.cli._app import run as command

        self.model, self.store = base / "given.npz", base / "given.jsonl"
        options = ["-k", "3", "-q", "-o", str(base / "given.csv"), "--model", str(self.model)]
        with contextlib.redirect_stdout(io.StringIO()):
            command(["cluster", str(self.table), "--jobs", "1", *options])
        X = np.loadtxt(self.table, delimiter=",", skiprows=1)
        np.savez(base / "given_table.npz", X=X, y=np.repeat(np.arange(3), 15))
        study = Study(
            "given",
            datasets=[StudyDataset("d", file=str(base / "given_table.npz"), truth="y")],
            methods=[StudyMethod("k-means", "sklearn.cluster.KMeans", parameters={"n_init": 1})],
        )
        with Store(self.store) as store:
            run_study(study, store, processes=1)

    def act(self, folder: Path) -> int:
        from unispectral.cli._app import run as command

        table = str(self.table)
        compare = ["compare", table, "-k", "3", "--methods", "kmeans,ward", "-q"]
        export = ["bench", "export", "--study", "given", "--store", str(self.store)]
        return (
            command(["predict", str(self.model), table, "-q", "-o", str(folder / "new.csv")])
            or command([*compare, "-o", str(folder / "scores.parquet")])
            or command([*export, "--out", str(folder / "tables.md")])
        )

    def content(self, folder: Path) -> dict[str, Any]:
        import pandas as pd

        found: dict[str, Any] = {}
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = str(path.relative_to(folder))
            if any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue  # temporary names are no final ones
            if path.suffix == ".parquet":
                found[name] = pd.read_parquet(path).drop(columns="seconds").to_csv()
            else:
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def corrupt(self, folder: Path, rng: np.random.Generator) -> None:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            content = path.read_bytes()
            path.write_bytes(content[: rng.integers(max(len(content), 1))])


class SavedModel(Writer):
    title = "saved models"
    disk = (1, 16)

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        from unispectral import UnifiedSpectralClustering

        X = np.loadtxt(self.table, delimiter=",", skiprows=1)
        self.model = UnifiedSpectralClustering(3, kernels="gaussian", n_jobs=1).fit(X)

    def act(self, folder: Path) -> int:
        from unispectral.persistence import save_model

        try:
            save_model(self.model, folder / "model.npz")
        except OSError as error:
            sys.stderr.write(f"Error: {error}\n")
            return 1
        return 0

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.persistence import load_model

        path = folder / "model.npz"
        return {"model.npz": load_model(path).labels_.tolist()} if path.exists() else {}

    def corrupt(self, folder: Path, rng: np.random.Generator) -> None:
        path = folder / "model.npz"
        content = path.read_bytes()
        path.write_bytes(content[: rng.integers(len(content))])


class Bench(Writer):
    title = "the benchmark"
    kills = (2, 12)
    others = (1, 3)
    disk = (8, 120)

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        rng = np.random.default_rng(1)
        rows = [
            f"{x:.3f},{y:.3f},{'uv'[i % 2]}" for i, (x, y) in enumerate(rng.normal(size=(20, 2)))
        ]
        (base / "study.csv").write_text("x,y,kind\n" + "\n".join(rows) + "\n")
        (base / "study.toml").write_text(
            'name = "tiny"\ntitle = "Tiny"\n'
            f'[[dataset]]\nname = "t"\nfile = "{base}/study.csv"\ntruth = "kind"\n'
            '[[method]]\nname = "k-means"\nestimator = "sklearn.cluster.KMeans"\n'
            "repeats = 3\nparameters = { n_init = 1 }\n"
        )

    def act(self, folder: Path) -> int:
        from unispectral.cli._app import run as command

        study, store = str(self.base / "study.toml"), str(folder / "results.jsonl")
        return command(["bench", "run", "--study", study, "--store", store, "-j", "1", "-q"])

    def content(self, folder: Path) -> dict[str, Any]:
        from unispectral.bench import Store, StoreError

        found: dict[str, Any] = {}
        path = folder / "results.jsonl"
        if path.exists() and path.stat().st_size:
            try:
                with Store(path, readonly=True) as store:
                    for key, record in store.records().items():
                        if record.status == "done":
                            found[key] = (record.facts["labels"], sorted(record.scores.items()))
            except StoreError:
                return {}  # said to be unreadable; a rerun has to put it right
        for page in folder.glob("*.html"):
            if not page.read_text().rstrip().endswith("</html>"):
                found[page.name] = "cut short"
        return found

    def corrupt(self, folder: Path, rng: np.random.Generator) -> None:
        path = folder / "results.jsonl"
        content = bytearray(path.read_bytes())
        how = rng.integers(4)
        if how == 0:
            content = content[: rng.integers(len(content))]
        elif how == 1:
            content = bytearray(rng.bytes(len(content)))
        elif how == 2:
            for place in rng.integers(len(content), size=50):
                content[place] = rng.integers(256)
        else:
            content = bytearray()
        path.write_bytes(bytes(content))
