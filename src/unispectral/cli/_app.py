"""The group of commands, each imported when it is called, and what becomes of errors."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from typing import Any

import click

from unispectral._version import __version__

__all__ = ["app", "run"]

# Kept here so that `--help` imports nothing else.
_COMMANDS = {
    "cluster": "Find the clusters of a table.",
    "predict": "Put new rows into the clusters of a saved model.",
    "compare": "Run several methods side by side.",
    "data": "List, fetch and describe the paper's data sets.",
    "bench": "Run and report a study of methods on data sets.",
    "demo": "Cluster the handwritten digits; nothing needs to be downloaded.",
    "info": "Print versions, threads and memory, for bug reports.",
}
_INTERRUPTED = 130

# The library speaks of arguments, the command line of options.
_ARGUMENTS = re.compile(
    r"\b(impute|scale|id|truth|columns|key|separator|header|encoding|missing|format)="
)
_EPILOG = """\b
Examples:
  unispectral demo
  unispectral cluster customers.csv -k 5 -o labels.csv --report page.html
  unispectral cluster customers.csv -k auto --scale standard --impute median
  unispectral predict model.unispectral new.csv -o labels.csv
  unispectral compare customers.csv -k 5

\b
Completion of names with the Tab key (bash; zsh and fish likewise):
  eval "$(_UNISPECTRAL_COMPLETE=bash_source unispectral)"
"""


class _Lazy(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in _COMMANDS if _exists(name)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS or not _exists(name):
            return None
        return getattr(importlib.import_module(f"unispectral.cli.{name}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, _COMMANDS[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _close_stdout()  # whoever read us has seen enough
            return 0

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close or "Did you mean" in error.message:
                raise
            told = f"{error.message} Did you mean {close[0]!r}?"
            raise click.UsageError(told, ctx) from None


def _exists(name: str) -> bool:
    return importlib.util.find_spec(f"unispectral.cli.{name}") is not None


@click.group(cls=_Lazy, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unispectral")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.pass_context
def app(ctx: click.Context, debug: bool) -> None:
    """Clustering with a learned graph, for a table that you have.

    Exit codes: 0 success, 1 something is wrong with the data or a file, 2 wrong usage.
    """
    ctx.obj["debug"] = ctx.obj.get("debug", False) or debug


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code.

    Examples
    --------
    >>> run(["--version"])
    unispectral, version ...
    0
    """
    state: dict[str, Any] = {}
    _speak_unicode()
    try:
        code = app.main(arguments, prog_name="unispectral", standalone_mode=False, obj=state)
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("\nInterrupted.\n")
        return _INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        return _tell(error, bool(state.get("debug")))


def _speak_unicode() -> None:
    """Files and pipes get UTF-8 whatever the locale says; a terminal shows what it can."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _tell(error: Exception, debug: bool) -> int:
    """Say in one sentence what is wrong, and return the exit code."""
    if debug:
        traceback.print_exc()
    usage = type(error).__name__ == "InvalidParameterError"
    expected = (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError)
    sentence = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        reason = error.strerror[0].lower() + error.strerror[1:]
        sentence = f"Cannot open {str(error.filename)!r}: {reason}."
    if isinstance(error, expected):
        sentence = _ARGUMENTS.sub(r"--\1 ", sentence)
        sentence = sentence.replace("say so with id.", "say so with --id.")
    else:
        sentence = f"{type(error).__name__}: {sentence} (--debug shows where)"
    sys.stderr.write(f"Error: {sentence}\n")
    return 2 if usage else 1


def _close_stdout() -> None:
    """Keep Python from complaining about the closed pipe when it exits."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
