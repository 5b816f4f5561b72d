"""The group of commands, each imported when it is called, and what becomes of errors."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

import click

from unispectral._errors import InputError, Sentence
from unispectral._version import __version__
from unispectral.cli._options import debug_option

# Kept here so that `--help` imports nothing else.
_COMMANDS = {
    "cluster": "Find the clusters of a table.",
    "profile": "Say what the columns of a table are, before clustering them.",
    "predict": "Put new rows into the clusters of a saved model.",
    "update": "Take further rows into a saved model, and say what changes.",
    "compare": "Run several methods side by side.",
    "data": "List, fetch and describe the paper's data sets.",
    "bench": "Run and report a study of methods on data sets.",
    "demo": "Cluster 178 wines; nothing needs to be downloaded.",
    "info": "Print versions, threads and memory, for bug reports.",
}
# The library speaks of arguments, the command line of options.
_SAME = ("id", "truth", "columns", "use", "supplementary", "order", "geo", "scale", "format",
         "key", "separator", "header", "encoding", "kernel", "texts")  # fmt: skip
_OPTIONS = {name: f"--{name}" for name in _SAME} | {
    "n_clusters": "-k", "kernels": "--kernel", "views": "--view", "random_state": "--seed",
    "n_jobs": "--jobs", "X": "The table", "impute": "--missing", "missing": "--na",
    "leave_out": "--leave-out", "header_row": "--header-row", "skip_footer": "--skip-footer",
}  # fmt: skip
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError)
_EPILOG = """\b
Examples:
  unispectral demo
  unispectral cluster customers.csv -k 5 -o labels.csv --report page.html
  unispectral profile customers.csv
  unispectral cluster customers.csv -k auto --leave-out region --append -o customers.xlsx
  unispectral predict model.unispectral new.csv -o labels.csv
  unispectral update model.unispectral new.csv -o labels.csv
  unispectral compare customers.csv -k 5

\b
Completion of names with the Tab key (bash; zsh and fish likewise):
  eval "$(_UNISPECTRAL_COMPLETE=bash_source unispectral)"
"""


class _Lazy(click.Group):
    """A group that imports a command when it is called."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        return getattr(importlib.import_module(f"unispectral.cli.{name}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def invoke(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        if sys.stdout is not None:
            sys.stdout.flush()  # where nobody reads us any more, click ends the program, with 1
        return result


@click.group(
    cls=_Lazy,
    epilog=_EPILOG,
    commands={name: click.Command(name) for name in _COMMANDS},  # for "Did you mean …"
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="unispectral")
@debug_option
def app() -> None:
    """Clustering with a learned graph, for a table that you have.

    Exit codes: 0 success, 1 something is wrong with the data or a file, 2 wrong usage.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    state: dict[str, Any] = {}
    _speak_unicode()
    try:
        code = app.main(arguments, prog_name="unispectral", standalone_mode=False, obj=state)
        if isinstance(code, int):
            return code
        return 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nInterrupted.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        if state.get("debug"):
            traceback.print_exc()
        click.echo(f"Error: {sentence(error)}", err=True)
        if type(error).__name__ == "InvalidParameterError":
            return 2
        return 1


def _speak_unicode() -> None:
    """Files and pipes get UTF-8 whatever the locale says; a terminal shows what it can."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            other = {"encoding": "utf-8", "errors": "backslashreplace"}
            stream.reconfigure(**({"errors": "replace"} if stream.isatty() else other))


def sentence(error: Exception) -> str:
    """What is wrong, in one sentence and in the words of the shell."""
    if isinstance(error, InputError):
        return " ".join(error.sentence(_OPTIONS).split())
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        named = error.filename is not None
        if named:
            failed = f"Cannot open {str(error.filename)!r}"
        else:
            failed = "Reading or writing failed"
        return f"{failed}: {reason}."
    if isinstance(error, _EXPECTED):
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"


def say_in_shell(said: str) -> str:
    """A sentence in the words of the shell: options for the parameters that it names.

    >>> from unispectral._errors import Sentence
    >>> say_in_shell(Sentence("{X} is small; try {n_clusters}.", "X", n_clusters="auto"))
    'The table is small; try -k auto.'
    """
    text: str = said
    if isinstance(said, Sentence):
        text = said.rename(_option)
        if said.template.startswith("{X}"):
            text = text[:1].upper() + text[1:]
    return " ".join(text.split())


def _option(name: str, value: object) -> str:
    """A parameter, and its value unless it is None, as the shell has them."""
    if name == "X":
        return "the table"
    if name in _OPTIONS:
        return _OPTIONS[name] + ("" if value is None else f" {value}")
    return f"--param {name}" + ("" if value is None else f"={value}")
