"""What a cluster might be called: proposals from the columns, or the words, of its members."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral.report._clusters import Contrasts
from unispectral.report._columns import (
    Columns,
    decimals_for,
    decimals_of_pair,
    in_words,
    needs_power,
    split_unit,
    write_number,
)

#: Columns that a portrait tells of, and those that make a name; a smaller difference of the means,
#: in deviations, is left out.
_TOLD, _NAMED, _LEAST = 3, 2, 0.5
#: Columns that are looked at for these.
_LOOKED_AT = 12
#: A cluster whose median lies above this share of all samples is high, and the like.
_LEVELS = ((0.9, "very high"), (0.6, "high"), (0.4, ""), (0.1, "low"), (-1.0, "very low"))
#: A cluster is mostly what this share of its members are; below the other, it lacks it.
_MOSTLY, _HARDLY = 0.5, 0.1
#: A cluster lies alone in the middle of a column where fewer of the others lie between these
#: quantiles of its members.
_FEW_OTHERS, _MIDDLE = 0.1, (0.05, 0.95)
#: Words of a text that tell a cluster apart, of at least so many letters.
_WORDS, _LETTERS = 3, 3
_WORD = re.compile(rf"[^\W\d_]{{{_LETTERS},}}")


class Portrait(NamedTuple):
    """A name for a cluster, and what sets it apart, in a line."""

    name: str
    text: str


class _Trait(NamedTuple):
    subject: str
    words: str
    text: str


def draw_portraits(columns: Columns, found: Contrasts, labels: np.ndarray) -> list[Portrait]:
    """A portrait of each cluster by the columns that set it apart; names differ.

    A number is told by its level among all samples and by medians, which a few large values do
    not move; a category by its share.
    """
    if len(found.effect) < 2 or not columns.telling:
        return [Portrait("", "") for _ in found.effect]
    traits = [
        _traits(columns, found, labels, cluster) or _between(columns, labels == cluster)
        for cluster in range(len(found.effect))
    ]
    names = _distinct([[trait.words for trait in own if trait.words] for own in traits])
    texts = [", ".join(trait.text for trait in own[:_TOLD]) for own in traits]
    average = "near the average in all columns"
    return [Portrait(name, text or average) for name, text in zip(names, texts, strict=True)]


def _traits(columns: Columns, found: Contrasts, labels: np.ndarray, cluster: int) -> list[_Trait]:
    """In which columns a cluster differs, clearest first, one for each subject."""
    member = labels == cluster
    looked_at = found.top(cluster, _LOOKED_AT)
    clear = np.array([_clearness(columns, found, member, cluster, j) for j in looked_at])
    traits: dict[str, _Trait] = {}
    for at in np.argsort(-clear, kind="stable"):
        if clear[at] < _LEAST:
            break
        trait = _trait(columns, int(looked_at[at]), member)
        if columns.numbered[looked_at[at]]:
            trait = trait._replace(words="")  # its name says nothing to anybody
        traits.setdefault(trait.subject, trait)
    return list(traits.values())


def _between(columns: Columns, member: np.ndarray) -> list[_Trait]:
    """The column in whose middle a cluster lies alone, where its mean is that of the others."""
    best = _FEW_OTHERS
    traits: list[_Trait] = []
    for j in range(min(columns.X.shape[1], _LOOKED_AT)):
        values = columns.values(j)
        known = ~np.isnan(values)
        inside, outside = values[known & member], values[known & ~member]
        if not len(inside) or not len(outside):
            continue
        ends = np.quantile(inside, _MIDDLE)
        within = float(np.mean((outside >= ends[0]) & (outside <= ends[1])))
        if within < best and outside.min() < ends[0] and outside.max() > ends[1]:
            best = within
            traits = [_middle(columns, j, ends, (outside.min(), outside.max()))]
    return traits


def _middle(columns: Columns, column: int, ends: Any, others: Any) -> _Trait:
    subject, unit = split_unit(columns.names[column])
    decimals = decimals_for(columns.values(column))
    low, high, least, most = (write_number(value, decimals) for value in (*ends, *others))
    here = low if low == high else f"{low} to {high}"
    told = f"{subject} {here}{' ' * bool(unit)}{unit} (others {least} to {most})"
    if columns.numbered[column]:
        return _Trait(subject, "", told)
    return _Trait(subject, f"middle {subject}", told)


def _clearness(
    columns: Columns, found: Contrasts, member: np.ndarray, cluster: int, column: int
) -> float:
    """The difference of a column in deviations; of a number not more than that of its medians.

    A few members with large values move a mean, and what is told are medians.
    """
    effect = float(found.effect[cluster, column])
    gap = float(found.inside[cluster, column] - found.outside[cluster, column])
    values = columns.values(column)
    known = values[~np.isnan(values)]
    if gap == 0.0 or np.isin(known, (0.0, 1.0)).all():
        return abs(effect)
    scaled = columns.X[:, [column]]
    scaled = (scaled.toarray() if sp.issparse(scaled) else scaled).ravel()
    medians = [float(np.nanmedian(scaled[part])) for part in (member, ~member) if part.any()]
    return abs(effect) * min(1.0, max(0.0, (medians[0] - medians[-1]) / gap))


def _trait(columns: Columns, column: int, member: np.ndarray) -> _Trait:
    values = columns.values(column)
    name = columns.names[column]
    known = ~np.isnan(values)
    inside = values[known & member]
    outside = values[known & ~member]
    everyone = values[known]
    if np.isin(everyone, (0.0, 1.0)).all():
        return _category(in_words(name), float(inside.mean()), float(outside.mean()))
    here = float(np.median(inside))
    there = float(np.median(outside)) if len(outside) else here
    below = np.mean(everyone < here) + np.mean(everyone == here) / 2
    level = next(word for least, word in _LEVELS if below > least)
    if not level:
        level = "higher" if here > there else "lower"
    subject, unit = split_unit(name)
    pair = write_pair(columns, column, here, there)
    told = f"{subject} {pair[0]}{' ' * bool(unit)}{unit} (others {pair[1]})"
    if pair[0] == columns.word(column, here):
        return _Trait(subject, f"{subject} {pair[0]}", told)
    return _Trait(subject, f"{level} {subject}", told)


def write_pair(columns: Columns, column: int, here: float, there: float) -> tuple[str, str]:
    """Two medians of a column: as answers where these differ, or as numbers of the same digits."""
    answers = columns.word(column, here), columns.word(column, there)
    if answers[0] is not None and answers[1] is not None and answers[0] != answers[1]:
        return answers[0], answers[1]
    decimals = decimals_of_pair(columns.values(column), here, there)
    powers = any(map(needs_power, (here, there)))
    return write_number(here, decimals, powers), write_number(there, decimals, powers)


def _category(name: str, inside: float, outside: float) -> _Trait:
    """A share: of a category, as its name ``column=category`` says, or of a yes."""
    subject, _, category = name.partition("=")
    what = category or subject
    told = f"{subject}{' ' * bool(category)}{category} {inside:.0%} (others {outside:.0%})"
    told = told.replace("%", " %")
    if inside >= max(_MOSTLY, outside):
        return _Trait(subject, f"mostly {what}", told)
    if inside > outside:
        return _Trait(subject, f"more {what}", told)
    return _Trait(subject, f"{'no' if inside < _HARDLY else 'less'} {what}", told)


def _distinct(words: Sequence[Sequence[str]]) -> list[str]:
    """Names of two words or more each, of more where two clusters would be called the same."""
    names = [", ".join(own[:_NAMED]) for own in words]
    for count in range(_NAMED + 1, _LOOKED_AT + 1):
        same = [names.count(name) > 1 for name in names]
        names = [
            ", ".join(own[:count]) if again else name
            for name, own, again in zip(names, words, same, strict=True)
        ]
    return [name if names.count(name) == 1 else "" for name in names]


def name_by_words(texts: Sequence[Any], labels: np.ndarray) -> list[Portrait]:
    """A portrait of each cluster by the words that its texts have and others lack.

    A word counts once a text, by the share of the members' texts that have it less its share
    elsewhere, and the more, the fewer of all texts have it.

    Examples
    --------
    >>> texts = ["red wine", "white wine", "fast car", "slow car"]
    >>> [one.name for one in name_by_words(texts, np.array([0, 0, 1, 1]))]
    ['wine', 'car']
    """
    sizes = np.bincount(labels)
    seen: dict[str, np.ndarray] = {}
    for text, cluster in zip(texts, labels, strict=True):
        for word in set(_WORD.findall(str(text).lower())):
            seen.setdefault(word, np.zeros(len(sizes)))[cluster] += 1
    if not seen or len(sizes) < 2:
        return [Portrait("", "") for _ in sizes]
    words = sorted(seen)
    counts = np.stack([seen[word] for word in words], axis=1)
    inside = counts / np.maximum(sizes, 1)[:, None]
    others = len(labels) - sizes
    outside = (counts.sum(axis=0) - counts) / np.maximum(others, 1)[:, None]
    rarity = np.log(len(labels) / counts.sum(axis=0))
    lead = np.where(counts > 1, (inside - outside) * rarity, 0.0)
    portraits = []
    for cluster in range(len(sizes)):
        best = np.argsort(-lead[cluster], kind="stable")[:_WORDS]
        best = best[lead[cluster, best] > 0]
        shares = [
            f"“{words[w]}” in {inside[cluster, w]:.0%} (others {outside[cluster, w]:.0%})"
            for w in best
        ]
        name = ", ".join(words[w] for w in best)
        portraits.append(Portrait(name, ", ".join(shares).replace("%", " %")))
    return portraits
