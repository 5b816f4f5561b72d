"""Texts that lie beside a table in a file of their own: one a line, or a column of a table."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from unispectral._compat import optional
from unispectral.tables._columns import texts_of
from unispectral.tables._formats import load
from unispectral.tables._source import Source, as_source

#: Endings of files with a text on each line.
_PLAIN = (".txt", ".text")
_REMEDY = "give a .txt file with one text a line, or a table with a column of texts"


def read_texts(file: str) -> tuple[np.ndarray, str]:
    """The texts of a file, an empty one for a row without a text, and where they were found.

    Of a table it is the column whose texts are longest in the mean.
    """
    source = as_source(file)
    name = PurePath(file).name
    if source.suffix in _PLAIN:
        return _read_lines(source), f"lines of {name!r}"
    frame = next(load(source, None, None, (None, None), {})).frame
    if frame is None:
        raise source.error("holds a matrix of numbers, not texts", _REMEDY)
    is_number = optional("pandas", extra="io").api.types.is_numeric_dtype
    found: dict[str, np.ndarray] = {}
    lengths: dict[str, float] = {}
    for column in frame.columns:
        if is_number(frame[column]):
            continue
        texts = [text or "" for text in texts_of(frame[column])]
        found[column] = np.array(texts, dtype=object)
        lengths[column] = float(np.mean([len(text) for text in texts]))
    if not found:
        raise source.error("has no column of texts", _REMEDY)
    longest = max(lengths, key=lambda column: lengths[column])
    return found[longest], f"column {longest!r} of {name!r}"


def _read_lines(source: Source) -> np.ndarray:
    with source.open() as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise source.error("is not text in UTF-8", "save it so") from error
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()  # what follows the last line's end is none
    return np.array([line.rstrip("\r") for line in lines], dtype=object)
