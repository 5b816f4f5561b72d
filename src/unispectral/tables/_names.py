"""What the name of a column says: that it names rows, a year, a code, a place, classes, remarks.

A name proves nothing alone: the values must agree, and both are asked.
"""

from __future__ import annotations

import re

_HIGH, _LOW = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_WORD = re.compile(rf"[{_HIGH}]+(?=[{_HIGH}][{_LOW}])|[{_HIGH}]?[{_LOW}]+|[{_HIGH}]+|\d+|#")
#: Words that mean the name of a row, whatever stands beside them.
_KEY = {"id", "ids", "uid", "uuid", "guid", "rowid", "rowname", "rownames", "rownum", "unnamed"}
_NUMBER = {"nr", "no", "number", "num", "nummer", "index", "idx", "key", "#", "sno", "lfd"}
#: What rows of a table are: alone, or before a word for a number.
_THING = {"row", "zeile", "record", "datensatz", "case", "fall", "obs", "observation",
          "beobachtung", "instance", "sample", "probe", "specimen", "item", "entry", "serial",
          "respondent", "participant", "subject", "proband", "patient", "person", "individual",
          "teilnehmer", "customer", "kunde", "kunden", "client", "user", "nutzer", "passenger",
          "player", "student", "employee", "mitarbeiter", "acct", "account", "konto", "order",
          "invoice",
          "rechnung", "transaction", "ticket", "policy", "vertrag", "contract", "sl"}  # fmt: skip
_YEAR = {"year", "yr", "jahr", "année", "anno"}
_WHEN = {"month", "monat", "day", "tag", "week", "woche", "weekday", "wochentag", "hour",
         "stunde", "quarter", "quartal", "dayofweek"}  # fmt: skip
_TIME = {"time", "timestamp", "date", "datetime", "datum", "zeit", "zeitstempel", "epoch",
         "created", "updated", "modified", "ts"}  # fmt: skip
_CODE = {"code", "zip", "zipcode", "postcode", "postalcode", "postal", "plz", "postleitzahl",
         "fips", "geoid", "sku", "ean", "isbn", "upc", "barcode", "iban", "ssn", "vin",
         "naics"}  # fmt: skip
_LATITUDE = {"lat", "latitude", "breitengrad", "geobreite"}
_LONGITUDE = {"lon", "lng", "longitude", "längengrad", "laengengrad", "geolänge"}
_CLASS = {"class", "label", "labels", "target", "klasse"}
_REMARK = {"comment", "comments", "note", "notes", "remark", "remarks", "feedback", "text",
           "description", "message", "review", "bemerkung", "bemerkungen", "kommentar",
           "anmerkung", "beschreibung", "freitext"}  # fmt: skip


def tokens(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    >>> tokens("PassengerId"), tokens("year_built"), tokens("ZIP code")
    (['passenger', 'id'], ['year', 'built'], ['zip', 'code'])
    """
    return [word.casefold() for word in _WORD.findall(name)]


def names_rows(name: str) -> str:
    """Whether a name is one for the names of rows: ``"surely"``, ``"perhaps"`` or empty.

    >>> [names_rows(name) for name in ("customer_id", "respondent", "Case No.", "atomic number")]
    ['surely', 'perhaps', 'perhaps', '']
    """
    words = tokens(name)
    glued = [word for word in words if word.endswith("id") and word[:-2] in _THING]
    if glued or _KEY & set(words):
        return "surely"
    if any(word.endswith("nummer") and word[:-6] in _THING for word in words):
        return "perhaps"
    known = words and all(word in _THING | _NUMBER or word.isdigit() for word in words)
    return "perhaps" if known and not all(map(str.isdigit, words)) else ""


def is_year(name: str) -> str:
    """``"when"`` for the year of a row, ``"what"`` for one of its properties, or empty.

    >>> [is_year(name) for name in ("year", "year_built", "Baujahr", "yearly income")]
    ['when', 'what', 'what', '']
    """
    words = tokens(name)
    if words and all(word in _YEAR for word in words):
        return "when"
    found = any(word in _YEAR or (word.endswith("jahr") and word != "jahr") for word in words)
    return "what" if found else ""


def is_when(name: str) -> bool:
    """Whether a name is one for a part of a date, as the month."""
    words = tokens(name)
    return bool(words) and all(word in _WHEN for word in words)


def is_time(name: str) -> bool:
    """Whether a name is one for a point in time.

    >>> is_time("created_at"), is_time("time_spent_on_page")
    (True, False)
    """
    words = [word for word in tokens(name) if word not in ("at", "on", "of", "unix", "event")]
    return bool(words) and all(word in _TIME for word in words)


def is_code(name: str) -> bool:
    """Whether a name is one for codes, such as a postcode."""
    return bool(_CODE & set(tokens(name)))


def is_latitude(name: str) -> bool:
    """Whether a name is one for a latitude."""
    return bool(_LATITUDE & set(tokens(name)))


def is_longitude(name: str) -> bool:
    """Whether a name is one for a longitude."""
    words = tokens(name)
    return bool(_LONGITUDE & set(words)) or words[-1:] == ["long"]


def is_class(name: str) -> bool:
    """Whether a name is one for known classes."""
    return name.strip().casefold() in _CLASS


def is_remark(name: str) -> bool:
    """Whether a name is one for free text."""
    return bool(_REMARK & set(tokens(name)))
