"""Errors that say which argument is wrong, what is wrong with it, and what to do."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

_UNSET: Any = object()
#: Packages whose lines tell nobody which call a warning is about.
_INNER = ("unispectral", "sklearn")


class InputError(ValueError):
    """An argument that cannot be used, and why.

    The sentence is made of the fields, so that the command line can say it with the names of its
    options.

    Parameters
    ----------
    argument : str
        The subject of the sentence.
    problem : str
        The rest of the sentence: what is wrong.
    remedy : str, optional
        What to do instead, as an imperative.
    value : object, optional
        What was given; it is shown behind the argument.
    switch : tuple of str, optional
        An argument that is True or False and would help, and what it does.

    Examples
    --------
    >>> error = InputError("n_clusters", "must be at least 1", "ask for more", value=0)
    >>> str(error), error.argument, error.value
    ('n_clusters=0 must be at least 1; ask for more.', 'n_clusters', 0)
    >>> str(InputError("X", "has no rows"))
    'X has no rows.'
    >>> str(InputError("X", "holds text", switch=("encode", "makes numbers of it")))
    'X holds text; encode=True makes numbers of it.'
    """

    def __init__(
        self,
        argument: str,
        problem: str,
        remedy: str = "",
        *,
        value: object = _UNSET,
        switch: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(argument, problem, remedy)
        self.argument = argument
        self.problem = problem
        self.remedy = remedy
        if value is _UNSET:
            self.value = None
        else:
            self.value = value
        self.has_value = value is not _UNSET
        self.switch = switch

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, options: Mapping[str, str] | None = None) -> str:
        """The error as one sentence, with other names for the arguments if they are given."""
        options = options or {}
        subject = options.get(self.argument, self.argument)
        if self.has_value:
            subject += f"{' ' if self.argument in options else '='}{self.value!r}"
        parts = [f"{subject} {self.problem}", *([self.remedy] if self.remedy else [])]
        if self.switch is not None:
            name, effect = self.switch
            parts.append(f"{options.get(name, f'{name}=True')} {effect}")
        return f"{'; '.join(parts)}."


class Sentence(str):
    """A sentence that names parameters, which the command line says with its options.

    Parameters
    ----------
    template : str
        The sentence, with the names of parameters in braces.
    *names : str
        Parameters that are named alone.
    about : str, default=""
        What the sentence is about, for readers that say the same by themselves.
    **values
        Parameters that are named with these values.

    Examples
    --------
    >>> said = Sentence("{X} is small; try {n_clusters}.", "X", n_clusters="auto")
    >>> said
    "X is small; try n_clusters='auto'."
    >>> said.rename(lambda name, value: f"--{name}" if value is None else f"--{name} {value}")
    '--X is small; try --n_clusters auto.'
    """

    template: str
    values: dict[str, Any]
    about: str

    def __new__(cls, template: str, *names: str, about: str = "", **values: Any) -> Sentence:
        named = dict.fromkeys(names) | values
        sentence = super().__new__(cls, _fill(template, named, _name_in_python))
        sentence.template = template
        sentence.values = named
        sentence.about = about
        return sentence

    def rename(self, name: Callable[[str, Any], str]) -> str:
        """The same with other names: a function of a parameter and its value, or None."""
        return _fill(self.template, self.values, name)


def _fill(template: str, values: Mapping[str, Any], name: Callable[[str, Any], str]) -> str:
    """A template with its parameters named; braces around anything else are text."""

    def fill(found: re.Match[str]) -> str:
        if found[1] not in values:
            return found[0]
        return name(found[1], values[found[1]])

    return re.sub(r"\{(\w+)\}", fill, template)


def _name_in_python(name: str, value: object) -> str:
    if value is None:
        return name
    return f"{name}={value!r}"


def plural(number: int, word: str) -> str:
    """Count things in words: 1 row, 2,000 rows."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this library and scikit-learn that led here."""
    frame: FrameType | None = sys._getframe(1)
    depth = 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INNER:
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth)


class InputTypeError(InputError, TypeError):
    """An argument of the wrong type."""


class DoubtfulResultWarning(UserWarning):
    """A result that was found as asked, and that there is reason not to trust.

    For example that of ``n_clusters=1``, of fewer distinct samples than clusters, or of samples
    that show no clusters. The result is complete; the message says what speaks against it.

    Examples
    --------
    >>> import warnings
    >>> from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DoubtfulResultWarning)
    ...     try:
    ...         UnifiedSpectralClustering(1).fit([[0.0], [1.0], [2.0]])
    ...     except DoubtfulResultWarning as warning:
    ...         print(warning)
    n_clusters=1 puts all samples into one cluster; there is nothing to find.
    """
