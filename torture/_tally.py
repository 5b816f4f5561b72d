"""What was tried and what came of it, in one form for all kinds of torture."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Part", "Plan", "Tally"]

#: Failures that are kept with their text; more of the same teach nothing.
_KEPT = 40


@dataclass(frozen=True)
class Plan:
    """How much to do: a seed, a short or a full run, and in how many processes."""

    seed: int = 0
    quick: bool = False
    workers: int = 1

    def pick(self, few: int, many: int) -> int:
        """The number for a short or a full run."""
        return few if self.quick else many


@dataclass
class Tally:
    """One row of the table, or the share of it that one part has done.

    Attributes
    ----------
    kind : str
        What was done.
    outcomes : Counter
        Cases by what came of them; only ``"lost"`` is bad.
    lost : list of str
        The first failures, each with all that is needed to replay it.
    facts : dict
        Measurements.
    """

    kind: str
    seed: int
    outcomes: Counter = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        return self.outcomes.total()

    @property
    def survived(self) -> int:
        return self.tried - self.outcomes["lost"]

    def add(self, outcome: str, case: str = "", words: str = "") -> None:
        """Count one case."""
        self.outcomes[outcome] += 1
        self.seconds = time.monotonic() - self.begun
        if outcome == "lost" and len(self.lost) < _KEPT:
            self.lost.append(f"{case}: {' '.join(words.split())[:600]}")

    def check(self, good: bool, case: str, words: str = "") -> bool:
        """Count one case that either holds or does not."""
        self.add("survived" if good else "lost", case, words)
        return good


#: A piece of work of a few minutes at most; parts of one kind are added up.
Part = Callable[[Plan], Tally]
