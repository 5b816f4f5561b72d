"""``unispectral bench``: run studies, write their tables and their report."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import click

from unispectral._errors import InputError
from unispectral.bench import Results, Store, Study
from unispectral.bench._fields import parse_size
from unispectral.bench.export import FORMATS
from unispectral.cli._options import all_of, quiet_option, split_names
from unispectral.cli._outputs import check_outputs

__all__ = ["bench"]


class _Bench(click.Group):
    """A group in which a missing command means ``run``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Bench)
def bench() -> None:
    """Compare clustering methods: run studies, write tables and reports.

    Without a command the small study is run: `unispectral bench` is the same as
    `unispectral bench run --study small`.
    """


# The library speaks of arguments, the command line of options.
_OPTIONS = {
    "study": "--study",
    "datasets:": "--datasets:",
    "methods:": "--methods:",
    "metric": "--metrics",
    "reference": "--reference",
}
_SECONDS = click.FloatRange(0, min_open=True)
_FILE = click.Path(dir_okay=False, path_type=Path)
_store_option = click.option("--store", default="unispectral-bench.jsonl", show_default=True,
                             type=_FILE, help="The file of results.")  # fmt: skip
_result_options = all_of(
    click.option("--study", "name", help="A study of the store; by default the last."),
    click.option("--out", type=_FILE, help="The file to write; by default beside the store."),
    _store_option,
)


@bench.command("run")
@click.option("--study", "source", default="small", show_default=True, metavar="NAME|FILE.toml")
@click.option("--datasets", metavar="A,B", help="Only these data sets of the study.")
@click.option("--methods", metavar="A,B", help="Only these methods of the study.")
@_store_option
@click.option("--processes", "-j", type=click.IntRange(1), help="Worker processes.")
@click.option("--threads", type=click.IntRange(1), help="Threads of each process.")
@click.option("--retry", is_flag=True, help="Do failed cells again.")
@click.option("--allow-failures", is_flag=True, help="Exit with 0 although some cells failed.")
@click.option("--time-limit", type=_SECONDS, metavar="SECONDS", help="Limit of one fit.")
@click.option("--memory-limit", metavar="SIZE", help="Limit of one fit, like 6GB.")
@click.option("--backend", type=click.Choice(["processes", "here"]), default="processes",
              show_default=True, help="Worker processes, or this one (to debug).")  # fmt: skip
@quiet_option
@click.option("--no-report", is_flag=True, help="Do not write the page afterwards.")
def run_command(source: str, store: Path, quiet: bool, no_report: bool, **options: Any) -> None:
    """Run what the store lacks of a study, then write its report.

    The exit code is 0 if every cell has a result, and 1 if any failed, in this run or before it:
    with --allow-failures only if all of them failed.
    """
    from unispectral.bench import run, write_report

    if Path(source).is_file():  # modules beside a study are found, in the workers, too
        sys.path.insert(0, str(Path(source).resolve().parent))
    allow_failures = options.pop("allow_failures")
    chosen = [options.pop(part) for part in ("datasets", "methods")]
    limits = {key: options.pop(key) for key in ("time_limit", "memory_limit")}
    try:
        limits["memory_limit"] = parse_size(limits["memory_limit"], "--memory-limit")
        study = Study.load(source).select(*(split_names([n]) if n else None for n in chosen))
        study = replace(study, **{key: v for key, v in limits.items() if v is not None})
    except InputError as error:
        raise click.UsageError(error.sentence(_OPTIONS)) from None
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])  # no folder in front
    with Store(store) as results:
        try:
            if quiet:
                stream = None
            else:
                stream = sys.stdout
            summary = run(study, results, stream=stream, command=command, **options)
        except KeyboardInterrupt:
            click.echo("Stopped. Finished cells are kept; the same command goes on.", err=True)
            sys.exit(130)
        lines = [_outcome(summary)]
        if not no_report:
            page = _beside(store, study.name, ".html")
            whole, commands = results.load_study(study.name)  # with what was run of it before
            write_report(Results(whole, results), page, command=commands)
            lines.append(f"Report: {page}")
    try:
        click.echo("\n".join(lines))
    except BrokenPipeError:  # nobody listens any more, but the study is finished
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if summary.done < summary.total and (summary.done == 0 or not allow_failures):
        sys.exit(1)


@bench.command("init")
@click.argument("path", type=_FILE)
def init_command(path: Path) -> None:
    """Write the beginning of a study of your own to PATH, a TOML file that runs as it is."""
    from unispectral._files import write_text_atomic

    if path.suffix != ".toml":
        raise click.UsageError(f"PATH is {str(path)!r}; a study is a file that ends with .toml.")
    if path.exists():
        raise click.UsageError(f"{str(path)!r} exists; name another file, or delete it.")
    template = resources.files("unispectral.bench") / "my_study.toml"
    write_text_atomic(path, template.read_text(encoding="utf-8"))
    click.echo(f"{path}; run it with: unispectral bench run --study {shlex.quote(str(path))}")


@bench.command("export")
@click.option("--format", "-f", "form", default="markdown", show_default=True,
              type=click.Choice(list(FORMATS)), help="LaTeX needs booktabs.")  # fmt: skip
@click.option("--metrics", metavar="A,B", help="Only these scores of the study.")
@click.option("--reference", metavar="COLUMN", help="The column that the others are tested "
              "against; by default the one of the best average rank.")  # fmt: skip
@_result_options
def export_command(
    name: str | None, out: Path | None, store: Path, form: str, **options: str | None
) -> None:
    """Write the tables of a study: Markdown, LaTeX, or CSV with one line for each figure."""
    from unispectral.bench import write_tables

    metrics = options["metrics"]
    reference = options["reference"]
    with _open_store(store, name, out) as (results, _):
        path = out or _beside(store, results.study.name, FORMATS[form])
        if metrics is None:
            chosen = None
        else:
            chosen = split_names([metrics])
        try:
            write_tables(results, path, form, metrics=chosen, reference=reference)
        except InputError as error:
            raise click.UsageError(error.sentence(_OPTIONS)) from None
        click.echo(str(path))


@bench.command("report")
@_result_options
def report_command(name: str | None, out: Path | None, store: Path) -> None:
    """Write the report of a study: one page that works offline."""
    from unispectral.bench import write_report

    with _open_store(store, name, out) as (results, command):
        path = out or _beside(store, results.study.name, ".html")
        write_report(results, path, command=command)
        click.echo(str(path))


@contextmanager
def _open_store(store: Path, name: str | None, out: Path | None) -> Iterator[tuple[Results, str]]:
    """What the store has of a study, and the command that made it."""
    check_outputs({"out": None if out is None else str(out)}, [str(store)])
    with Store(store, readonly=True) as stored:
        study, command = stored.load_study(name)
        yield Results(study, stored), command


@bench.command("list")
@_store_option
def list_command(store: Path) -> None:
    """List the built-in studies and those of the store."""
    for name in Study.builtin():
        study = Study.load(name)
        click.echo(f"built-in  {name}: {study.title} ({len(study.cells())} cells)")
    if not store.is_file():
        return
    with Store(store, readonly=True) as results:
        for name in results.studies():
            figures = Results(results.load_study(name)[0], results)
            done = sum(r.status == "done" for r in figures.records.values())
            total = len({cell.key for cell in figures.cells})
            failed = len(figures.records) - done
            click.echo(f"stored    {name}: {done} of {total} cells done, {failed} failed")


def _beside(store: Path, name: str, suffix: str) -> Path:
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
    return store.with_name(f"{store.stem}-{safe}{suffix}")


def _outcome(summary: Any) -> str:
    """What a run came to, in a sentence."""
    text = f"{summary.done} of {summary.total} cells are done, {summary.failed} failed in this run"
    if summary.failed_before:
        text += f", {summary.failed_before} failed before"
    again = summary.failed + summary.failed_before
    return text + ("; --retry tries them again." if again else ".")
