"""The progress of a fit in a notebook: one bar that moves, where lines would pile up."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

__all__ = ["NotebookBar", "is_notebook"]

#: The shell of a Jupyter kernel; those of Colab and others are made of it.
_SHELL = "ZMQInteractiveShell"


def is_notebook() -> bool:
    """Whether what is displayed here is shown in a notebook."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell: Any = ipython.get_ipython()
    return any(kind.__name__ == _SHELL for kind in type(shell).__mro__)


class NotebookBar:
    """A bar below the cell that runs, drawn anew in its place.

    It is displayed when there is first something to show.
    """

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, done: int = 0, total: int | None = None) -> None:
        """How far a stage has got; a bar that runs to and fro where nobody knows."""
        if total:
            state = f'value="{done}" max="{total}"'
        else:
            state = ""
        bar = f'<progress {state} style="width:12em;vertical-align:middle"></progress>'
        self._draw(f"<div>{bar} {escape(text)}</div>")

    def close(self, text: str) -> None:
        """Leave a line in place of the bar, if there was one."""
        if self._handle is not None:
            self._draw(f'<div style="opacity:.7">{escape(text)}</div>')
            self._handle = None

    def _draw(self, markup: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(markup), display_id=True)
        else:
            self._handle.update(HTML(markup))
