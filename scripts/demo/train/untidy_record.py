"""Makes a tidy record untidy in ways that the bundle format allows, and lists the changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

Record = dict[str, Any]
Feature = Mapping[str, Any]
Change = tuple[str, Any]
_ABSENT = object()

_NUMBERS: list[Change] = [
    ("currency-k", "$5k"), ("currency-m", "€1.2m"), ("iso code", "USD 2,400"), ("thousands comma", "1,200"),
    ("eu decimals", "1.200,5"), ("decimal comma", "1,5"), ("lone point", "1.200"), ("exponent", "1e2"),
    ("parentheses", "(5)"), ("apostrophe", "1'200"), ("inner space", "1 200"), ("padded", " 7 "),
    ("fullwidth", "１２"), ("range", "11-50"), ("json boolean", True), ("one-element array", [14]),
    ("percent", "12%"), ("text", "about ten"), ("zero before comma", "0,125"), ("negative", -3),
]
_BOOLEANS: list[Change] = [
    ("yes", "Yes"), ("no", " NO "), ("one", 1), ("zero", 0), ("text zero", "0"), ("t", "t"), ("F", "F"),
    ("on", "On"), ("off", "off"), ("unreadable", "maybe"), ("number two", 2), ("one-element array", ["y"]),
]
_BLANKS: list[Change] = [
    (f"missing token {token!r}", token) for token in ("", " N/A ", "-", None, "NULL", "Unknown", "?")
]


def untidy_record(
    record: Record, features: list[Feature], now: datetime, draw: random.Random
) -> tuple[Record, list[str]]:
    """A copy with three to six fields changed in value, renamed or removed, and one line per change."""
    changed = dict(record)
    mutations: list[str] = []
    chosen = draw.sample(features, draw.randint(3, 6))
    for feature in chosen:
        field = feature["field"]
        name, value = _changed_value(feature, changed.get(field), now, draw)
        mutations.append(f"{field}: {name}")
        if value is _ABSENT:
            changed.pop(field, None)
        else:
            changed[field] = value
    for feature in draw.sample(features, 2):
        if feature["field"] in changed:
            changed, line = _renamed(changed, feature, draw)
            mutations.append(line)
    return changed, mutations


def _changed_value(feature: Feature, value: Any, now: datetime, draw: random.Random) -> Change:
    if draw.random() < 0.12:
        return "absent", _ABSENT
    if draw.random() < 0.15:
        return draw.choice(_BLANKS)
    ways: dict[str, Callable[[], Change]] = {
        "number": lambda: draw.choice(_NUMBERS),
        "boolean": lambda: draw.choice(_BOOLEANS),
        "category": lambda: _category(feature, value, draw),
        "multi": lambda: _multi(feature, draw),
        "date": lambda: _date(now, draw),
    }
    return ways[feature["type"]]()


def _category(feature: Feature, value: Any, draw: random.Random) -> Change:
    canonical = value if isinstance(value, str) else draw.choice(feature["categories"])
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in canonical)
    changes: list[Change] = [
        ("upper", canonical.upper()), ("lower", canonical.lower()), ("fullwidth", wide),
        ("white space", f"\u00a0{canonical.replace(' ', '   ')}\t"), ("unknown category", "Zzz Unheard Of"),
        ("json number", 5), ("json boolean", False), ("one-element array", [canonical]),
    ]
    aliases = list(feature.get("category_aliases", {}))
    if aliases:
        changes += [
            ("category alias", draw.choice(aliases)),
            ("alias in upper case", draw.choice(aliases).upper()),
        ]
    if "None" in feature["categories"]:
        changes += [("missing token in the vocabulary", "none")] * 3
    return draw.choice(changes)


def _multi(feature: Feature, draw: random.Random) -> Change:
    two = draw.sample(feature["categories"], 2)
    return draw.choice([
        ("array", two), ("one-element array", two[:1]), ("spaces and empty parts", f" {two[0]} ;; {two[1]};"),
        ("upper", ";".join(two).upper()), ("with an unknown", f"{two[0]};Zzz Unheard Of"),
        ("only unknown", "Zzz"), ("repeated", f"{two[0]};{two[0]}"),
    ])


def _date(now: datetime, draw: random.Random) -> Change:
    at = (now - timedelta(days=draw.uniform(0, 200))).replace(microsecond=0)
    seconds = int(at.timestamp())
    naive = at.strftime("%Y-%m-%dT%H:%M:%S")
    ahead = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    return draw.choice([
        ("date only", naive[:10]), ("no zone", naive), ("+0000", f"{naive}+0000"),
        ("offset", ahead.isoformat()), ("milliseconds", f"{naive}.250Z"), ("unix seconds", seconds),
        ("unix milliseconds", seconds * 1000 + 250), ("unix microseconds", seconds * 1_000_000),
        ("slashes", f"{at.month}/{at.day}/{at.year}"),
        ("slashes, two digits", at.strftime("%m/%d/%Y")), ("no such date", "2026-02-30"),
        ("zeros", "0000-00-00"), ("out of range", "1850-06-01"),
        ("future", (now + timedelta(days=400)).strftime("%Y-%m-%d")),
        ("text", "last Tuesday"),
    ])


def _renamed(record: Record, feature: Feature, draw: random.Random) -> tuple[Record, str]:
    """The record with the field renamed, or with a second key of the same name that must be ignored."""
    field = feature["field"]
    upper, lower = field.upper(), field.lower()
    if draw.random() < 0.1:
        return {upper: "Zzz", **record}, f"{field}: exact name after a rival {upper!r}"
    if draw.random() < 0.1:
        others = {key: value for key, value in record.items() if key != field}
        line = f"{field}: sent as {lower!r}, then a rival {upper!r}"
        return {lower: record[field], **others, upper: "Zzz"}, line
    names = [upper, lower.replace(" ", "_"), f" {field} ", field.replace(" ", "-"), field.replace(" ", "")]
    name = draw.choice([name for name in [*names, *feature.get("aliases", [])] if name != field])
    renamed = {name if key == field else key: value for key, value in record.items()}
    return renamed, f"{field}: sent as {name!r}"
