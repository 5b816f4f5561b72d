"""Dates and levels as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral.tables._dates import date_order, days_of
from unispectral.tables._ordinals import _SCALES, find_order


@pytest.mark.parametrize(
    ("text", "order", "day"),
    [
        ("2024-05-31", "iso", "2024-05-31"),
        ("2024/5/3", "iso", "2024-05-03"),
        ("2024-05-31T12:00:00Z", "iso", "2024-05-31T12:00"),
        ("2024-05-31 02:00+02:00", "iso", "2024-05-31T00:00"),
        ("31/05/2024 23:59:59", "dmy", "2024-05-31T23:59:59"),
        ("31.05.24", "dmy", "2024-05-31"),
        ("05/31/2024 1:30 PM", "mdy", "2024-05-31T13:30"),
        ("31 May 2024", "words", "2024-05-31"),
        ("5. März 2024", "words", "2024-03-05"),
        ("Dec 1, 1999", "words", "1999-12-01"),
        ("20240531", "ymd", "2024-05-31"),
        ("2024-05", "ym", "2024-05-01"),
    ],
)
def test_dates(text, order, day):
    assert date_order([text]) == order
    known = np.datetime64(day, "s").astype(float) / 86_400
    assert days_of(text, order) == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("text", ["1.5", "12", "2024", "31/31/2024", "5 apples 2024", "x", ""])
def test_what_is_no_date(text):
    assert date_order([text]) == ""


@pytest.mark.parametrize("text", ["2024-13-01", "31/02/2024", "2024-01-01 25:00"])
def test_days_that_do_not_exist(text):
    assert np.isnan(days_of(text, "dmy"))


def test_scales_rise():
    for scale in _SCALES:
        places = list(scale.values())
        assert places[0] == 0.0
        assert places == sorted(places)


@pytest.mark.parametrize(
    "words",
    [
        ["never", "rarely", "sometimes", "often", "always"],
        ["nie", "selten", "manchmal", "oft", "immer"],
        ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
        ["very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"],
        ["sehr unzufrieden", "unzufrieden", "neutral", "zufrieden", "sehr zufrieden"],
    ],
)
def test_five_answers_are_one_step_apart(words):
    found = find_order(words)
    assert [found[word] for word in words] == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["65+", "18-24", "under 18"], ["under 18", "18-24", "65+"]),
        (["$50k+", "$0 - $20k", "$20k - $50k"], ["$0 - $20k", "$20k - $50k", "$50k+"]),
        (["> 10", "0-5", "5-10"], ["0-5", "5-10", "> 10"]),
        (
            ["über 4.000 €", "2.000 - 4.000 €", "< 1.000 €", "1.000 - 2.000 €"],
            ["< 1.000 €", "1.000 - 2.000 €", "2.000 - 4.000 €", "über 4.000 €"],
        ),
        (["Over $10k", "up to $5k", "$5k - $10k"], ["up to $5k", "$5k - $10k", "Over $10k"]),
        (
            ["1 (not at all)", "2", "4", "3", "5 (very)"],
            ["1 (not at all)", "2", "3", "4", "5 (very)"],
        ),
        (
            ["(10.5, 20.0]", "(-inf, 0.0]", "(0.0, 10.5]"],
            ["(-inf, 0.0]", "(0.0, 10.5]", "(10.5, 20.0]"],
        ),
        (["3 = yes", "1 = no", "2 = perhaps"], ["1 = no", "2 = perhaps", "3 = yes"]),
    ],
)
def test_ranges_and_numbers_give_an_order(words, order):
    found = find_order(words)
    assert sorted(words, key=lambda word: found[word.casefold()]) == order


@pytest.mark.parametrize(
    "words",
    [["red", "green"], ["S", "C", "Q"], ["1", "2", "3"], ["a-1"], ["(1, 2)", "(1, 3)", "(2, 2)"]],
)
def test_what_has_no_order(words):
    assert find_order(words) is None
