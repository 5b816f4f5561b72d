"""Answers in words that have an order: never … always, strongly disagree … strongly agree.

Each scale gives its words places on one line, so that two questions answered on the same scale
get the same numbers, and a word that nobody used in the fit still has its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

#: Answers that give none.
NO_ANSWER = {"don't know", "dont know", "do not know", "no answer", "not applicable", "refused",
             "prefer not to say", "unknown", "weiß nicht", "weiss nicht", "keine angabe",
             "k.a.", "k. a.", "unbekannt"}  # fmt: skip
#: From the least to the most, one step apart; a bar separates words for the same level, and a
#: tilde marks a level half a step after the one before, which most questions do without.
_LISTS = (
    "never|at no time; ~almost never|hardly ever|very rarely; rarely|seldom; "
    "sometimes|occasionally|now and then; often|frequently|regularly; "
    "~very often|usually|mostly|most of the time|almost always|nearly always; always|all the time",
    "nie|niemals; ~fast nie|sehr selten; selten|kaum; manchmal|gelegentlich|ab und zu; "
    "oft|häufig|regelmäßig; ~sehr oft|meistens|meist|fast immer; immer|stets",
    "strongly disagree|disagree strongly|completely disagree|totally disagree; "
    "disagree|tend to disagree; ~somewhat disagree|slightly disagree|rather disagree; "
    "neither agree nor disagree|neither|neutral|undecided|not sure|no opinion; "
    "~somewhat agree|slightly agree|rather agree; agree|tend to agree; "
    "strongly agree|agree strongly|completely agree|totally agree",
    "stimme überhaupt nicht zu|stimme gar nicht zu|trifft überhaupt nicht zu|trifft gar nicht zu; "
    "stimme nicht zu|trifft nicht zu; ~stimme eher nicht zu|trifft eher nicht zu; "
    "teils, teils|teils teils|teils/teils|teils-teils|weder noch|neutral|unentschieden; "
    "~stimme eher zu|trifft eher zu; stimme zu|trifft zu; "
    "stimme voll und ganz zu|stimme voll zu|stimme völlig zu|trifft voll und ganz zu|"
    "trifft voll zu|trifft völlig zu",
    "very dissatisfied|very unsatisfied; dissatisfied|unsatisfied; ~somewhat dissatisfied; "
    "neither|neutral|neither satisfied nor dissatisfied; ~somewhat satisfied; satisfied; "
    "very satisfied",
    "sehr unzufrieden; unzufrieden; ~eher unzufrieden; "
    "weder noch|neutral|teils, teils|teils teils; "
    "~eher zufrieden; zufrieden; sehr zufrieden",
    "terrible|awful|very poor|very bad; poor|bad; fair|mediocre|passable; "
    "~average|ok|okay|acceptable|satisfactory|neutral; good; very good; excellent|outstanding",
    "fair; good; very good; premium; ideal",
    "ungenügend; mangelhaft; ausreichend; befriedigend; gut; sehr gut",
    "sehr schlecht; schlecht; mittelmäßig|mittel|durchschnittlich|neutral; gut; sehr gut",
    "very unlikely|highly unlikely; unlikely; ~somewhat unlikely; neutral|neither|undecided; "
    "~somewhat likely; likely; very likely|highly likely",
    "sehr unwahrscheinlich; unwahrscheinlich; neutral|unentschieden; wahrscheinlich; "
    "sehr wahrscheinlich",
    "not at all|not at all important|not important|unimportant; "
    "slightly|a little|slightly important|of little importance|a bit; "
    "moderately|somewhat|moderately important|somewhat important; "
    "quite|quite a bit|important|fairly; very|very much|very important|a lot; "
    "extremely|extremely important|essential",
    "gar nicht|überhaupt nicht|unwichtig|gar nicht wichtig; wenig|etwas|kaum|weniger wichtig; "
    "mittel|mäßig|mittelmäßig; ziemlich|eher wichtig|wichtig|stark; sehr|sehr wichtig|sehr stark",
    "none; few|a little|some|mild|slight; moderate|medium; many|a lot|severe|much",
    "very low|extremely low|lowest; low|lo; medium|middle|moderate|mid|med|average|normal; "
    "high|hi; very high|extremely high|highest",
    "sehr niedrig|sehr gering; niedrig|gering|tief; mittel|mäßig|normal; hoch; sehr hoch",
    "tiny|very small|extra small|x-small; small; medium|midsize|mid-size|middle; large|big; "
    "extra large|very large|huge|x-large",
    "winzig|sehr klein; klein; mittel|mittelgroß; groß|gross; sehr groß|riesig",
    "xxs; xs; s; m; l; xl; xxl|2xl; xxxl|3xl",
    "l; m; h",
    "lo; mid|med; hi",
    "first|1st; second|2nd; third|3rd; fourth|4th; fifth|5th; sixth|6th; seventh|7th; "
    "eighth|8th; ninth|9th; tenth|10th",
    "much worse; worse|somewhat worse; same|about the same|unchanged|the same; "
    "better|somewhat better; much better",
    "none|no schooling; primary|elementary|primary school; "
    "secondary|middle school|secondary school; high school|upper secondary; "
    "some college|vocational|college; tertiary|bachelor|bachelor's|bachelors|undergraduate; "
    "master|master's|masters|graduate|postgraduate; phd|doctorate|doctoral",
)
#: Fewer levels than this are two kinds of a thing, or letters that mean something else.
_LEAST = 3
#: More answers with a number in front are something else, as houses in streets.
_MOST = 12
_NUMBERED = re.compile(r"\(?(\d{1,2})\)?\s*(?:[-–=:.)]\s*|\s)([^\d\s].*)")
#: Of a scale from 1 to 7 often only the ends have words.
_ENDS, _BARE = 2, re.compile(r"\d{1,2}")
#: A number with or without marks of thousands; an address such as 10.0.3.1 is none.
_AMOUNT = r"(?:\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,]\d+)?"
_MEASURED = r"(?:\s*(?:years?|yrs?|jahre|km|kg|cm|€|eur|usd|people|employees|mitarbeiter))?"
_RANGE = re.compile(
    r"(?:(?P<below><|≤|<=|under|below|less than|up to|unter|bis(?: zu)?)\s*)?[$€£]?"
    rf"(?P<low>{_AMOUNT})\s*(?P<k>k?)\s*[$€£%]?"
    rf"(?:(?P<to>\s*(?:-|–|—|to|bis)\s*)[$€£]?(?P<high>{_AMOUNT})\s*k?\s*[$€£%]?"
    r"|(?P<above>\s*(?:\+|and over|and above|or more|or older|und mehr|und älter)))?"
    rf"{_MEASURED}",
    re.IGNORECASE,
)
_OVER = re.compile(
    rf"(?:>|≥|>=|over|above|more than|über|mehr als)\s*[$€£]?({_AMOUNT})\s*k?\s*[$€£%]?"
    rf"{_MEASURED}",
    re.IGNORECASE,
)


_END = r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?inf)\s*"
_INTERVAL = re.compile(rf"[\[(]{_END}[,;]{_END}[\])]")


def _positions(listed: str) -> dict[str, float]:
    places: dict[str, float] = {}
    step = -1
    for level in listed.split(";"):
        between = level.strip().startswith("~")
        step += not between
        for word in level.strip().removeprefix("~").split("|"):
            places[word.strip()] = step + 0.5 * between
    return places


_SCALES = [_positions(listed) for listed in _LISTS]


def find_order(
    texts: Iterable[str], given: Sequence[Mapping[str, float]] = ()
) -> dict[str, float] | None:
    """Places of answers on a scale that people know, or on one of those given; None if on none.

    >>> find_order(["Often", "never", "sometimes"])["never"]
    0.0
    >>> find_order(["18-24", "25-34", "65+"])
    {'18-24': 0.0, '25-34': 1.0, '65+': 2.0}
    >>> find_order(["red", "green", "blue"]) is None
    True
    """
    words = {text.casefold().strip() for text in texts} - NO_ANSWER
    for scale in given:
        if words and words <= scale.keys():
            return dict(scale)
    for scale in _SCALES:
        if words <= scale.keys() and len({scale[word] for word in words}) >= _LEAST:
            return dict(scale)
    if len(words) < _LEAST:
        return None
    return _read_numbers(words) or _ranges(words) or _intervals(words)


def given_order(levels: Sequence[str]) -> dict[str, float]:
    """Places of the levels that a user names from the least to the most."""
    return {level.casefold().strip(): float(at) for at, level in enumerate(levels)}


def _read_numbers(words: set[str]) -> dict[str, float] | None:
    """Answers that begin with their number, as "1 - never"; between the ends it may be alone."""
    found = {word: _NUMBERED.fullmatch(word) for word in words}
    numbers = {word: float(match[1]) for word, match in found.items() if match}
    said = {match[2] for match in found.values() if match}
    told_apart = len(numbers) == len(said) >= _ENDS
    numbers |= {word: float(word) for word in words if _BARE.fullmatch(word)}
    whole = told_apart and len(numbers) == len(words) == len(set(numbers.values()))
    close = (
        len(words) <= _MOST
        and whole
        and max(numbers.values()) - min(numbers.values()) <= 2 * len(words)
    )
    return numbers if close else None


def _ranges(words: set[str]) -> dict[str, float] | None:
    """Ranges of numbers, as "18-24", "under 18" and "65+", by where they begin."""
    begins: dict[str, float] = {}
    spans = 0
    for word in words:
        if over := _OVER.fullmatch(word):
            begins[word] = _plain(over[1]) + 0.5
            spans += 1
            continue
        match = _RANGE.fullmatch(word)
        if match is None:
            return None
        spans += bool(match["to"] or match["above"] or match["below"])
        begins[word] = _plain(match["low"]) - (0.5 if match["below"] else 0.0)
    if spans < len(words) - 1 or len(set(begins.values())) < len(words):
        return None
    ordered = sorted(begins, key=begins.__getitem__)
    return {word: float(at) for at, word in enumerate(ordered)}


def _intervals(words: set[str]) -> dict[str, float] | None:
    """Intervals as programs write them, as "(0.5, 2.0]", by where they begin."""
    found = {word: _INTERVAL.fullmatch(word) for word in words}
    begins = {word: float(match[1]) for word, match in found.items() if match}
    if len(begins) < len(words) or len(set(begins.values())) < len(words):
        return None
    ordered = sorted(begins, key=begins.__getitem__)
    return {word: float(at) for at, word in enumerate(ordered)}


def _plain(number: str) -> float:
    """A whole number, whatever marks its thousands."""
    return float(re.sub(r"[.,](?=\d{3})", "", number).replace(",", "."))
