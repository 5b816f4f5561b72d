"""Hostile text in the pages that the library writes, looked at in Chromium: nothing executes."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustness._results import Plan, Result


def look_at_all(plan: Plan, attacks: Sequence[str]) -> Result:
    """Both pages, with every attack as column, value, file name, title, data set."""
    from robustness.browser import chromium

    result = Result("security: scripts in pages", plan.seed)
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder) / "profile") as browser:
        for path, attack in _clustering_pages(Path(folder), attacks, plan):
            _look(result, browser, path, f"clustering page: {attack}")
        for path, attack in _command_pages(Path(folder), attacks, plan):
            _look(result, browser, path, f"page of a file named: {attack}")
        for path, attack in _study_pages(Path(folder), attacks, plan):
            _look(result, browser, path, f"study page: {attack}")
    return result


def _look(result: Result, browser: Any, path: Path, case: str) -> None:
    """Open a page, press everything that can be pressed, and see whether a script has run."""
    from robustness.browser import console

    browser.get(path.as_uri())
    browser.execute_script(
        "document.querySelectorAll('button,summary,select,input,a[href^=javascript]')"
        ".forEach(e => { try { e.click(); e.dispatchEvent(new Event('mouseover', {bubbles:true}));"
        " e.dispatchEvent(new Event('focus')); } catch (error) {} })"
    )
    hacked = browser.execute_script(
        "return window.hacked || document.querySelectorAll("
        "'base[href*=attacker],iframe[srcdoc],img[src=x],a[href^=javascript],"
        "meta[http-equiv=refresh]').length"
    )
    here = browser.current_url.split("#")[0] == path.as_uri().split("#")[0]
    shown = bool(browser.execute_script("return document.body.innerText.length > 200"))
    errors = [line for line in console(browser) if "Uncaught" in line or "Refused" in line]
    good = not hacked and here and shown and not errors
    words = f"hacked: {hacked}, at {browser.current_url[-60:]}, shown: {shown}, said {errors[:1]}"
    result.check(good, case, words)


def _clustering_pages(folder: Path, attacks: Sequence[str], plan: Plan):
    from unispectral import UnifiedSpectralClustering
    from unispectral.report import write_report

    rng = np.random.default_rng(plan.seed)
    X = rng.standard_normal((24, len(attacks))) + 6 * (np.arange(24) % 2)[:, None]
    model = UnifiedSpectralClustering(2, n_jobs=1, n_init=2).fit(X)
    everything = " ".join(attacks)
    batches = [tuple(attacks)] if plan.quick else [tuple(attacks), *((one,) for one in attacks)]
    for number, batch in enumerate(batches):
        many = [batch[i % len(batch)] + ("" if i < len(batch) else f" {i}") for i in range(24)]
        columns = [batch[i % len(batch)] + f" {i}" for i in range(len(attacks))]
        path = folder / f"clustering-{number}.html"
        text = everything if len(batch) > 1 else batch[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_report(
                path,
                model,
                X,
                columns=columns,
                names=np.array(many, dtype=object),
                truth=np.array([batch[i % len(batch)] for i in range(24)], dtype=object),
                title=text,
                command=text,
                notes=list(batch),
                warnings=list(batch),
            )
        yield path, text[:60]


def _command_pages(folder: Path, attacks: Sequence[str], plan: Plan):
    """Pages of the command line, of tables whose names and columns are attacks."""
    from unispectral.cli._app import run as command

    rng = np.random.default_rng(plan.seed)
    for number, attack in enumerate(attacks[: plan.pick(1, len(attacks))]):
        place = folder / f"named-{number}"
        place.mkdir()
        table = place / f"{attack.replace('/', '')}.csv"
        heading = '"' + attack.replace('"', '""') + '",b,kind'
        rows = [f"{x:.3f},{y:.3f},{heading[:-7]}" for x, y in rng.normal(size=(20, 2))]
        table.write_text("\n".join([heading, *rows]) + "\n", encoding="utf-8")
        path = place / "page.html"
        options = ["-k", "2", "-q", "--jobs", "1", "--id", "kind"]
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            code = command(["cluster", str(table), *options, "--report", str(path)])
        if code == 0:
            yield path, attack
        elif "Error: " not in said.getvalue():
            raise RuntimeError(f"{attack}: code {code}: {said.getvalue()}")


def _study_pages(folder: Path, attacks: Sequence[str], plan: Plan):
    from unispectral.bench import (
        Column,
        Results,
        Store,
        Study,
        StudyDataset,
        StudyMethod,
        write_report,
    )
    from unispectral.bench import run as run_study

    rng = np.random.default_rng(plan.seed)
    table = str(folder / "table.npz")
    np.savez(table, X=rng.standard_normal((12, 2)), y=np.arange(12) % 2)
    usable = [text for text in attacks if len(text) <= 70 and text.isprintable()]
    batches = [usable[:4]] if plan.quick else [usable[i : i + 4] for i in range(0, len(usable), 4)]
    for number, batch in enumerate(batches):
        text = " ".join(batch)
        study = Study(
            f"study {number}",
            datasets=[StudyDataset(one, title=one, file=table, truth="y") for one in batch],
            methods=[
                StudyMethod(
                    one,
                    "sklearn.cluster.KMeans",
                    parameters={"n_init": 1, **({"init": one} if i else {})},
                    columns=(Column(one, ("paper", "label-free")),),
                    title=one,
                )
                for i, one in enumerate(batch[:2])
            ],
            title=text,
            about=text,
        )
        path = folder / f"study-{number}.html"
        with Store(folder / f"study-{number}.jsonl") as store:
            run_study(study, store, processes=1, command=text)
            write_report(Results(store.load_study()[0], store), path, command=text)
        yield path, text[:60]
