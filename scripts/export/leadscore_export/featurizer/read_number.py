"""Reads numbers as people type them into a CRM: "$5k", "(5)", "1,200", "1.200,5", "EUR 1'200", "45 %"."""

from __future__ import annotations

import math
import re

_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII)
_MAX_PLAIN = 1024
_MAX_DRESSED = 128
_SIGNS = (
    "$\u00a2-\u00a5\u058f\u060b\u07fe\u07ff\u09f2\u09f3\u09fb\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20c1"
    "\ua838\ufdfc\ufe69\uff04\uffe0\uffe1\uffe5\uffe6\U00011fdd-\U00011fe0\U0001e2ff\U0001ecb0"
)

# The letters of a country before a sign, as in the service. "M$", "k$" and "T\u20ac" are magnitudes.
_COUNTRY = "a|ar|au|c|ca|cl|cn|co|ec|fj|g|gb|gy|hk|j|jm|jp|l|ld|mx|n|na|nt|nz|r|rd|s|sg|tt|tw|u|us|uy|z|zw"

# One of three: a sign, perhaps after a country ("US$"), the rupee or rial sign after NFKC, or an ISO code.
_CURRENCY = rf"(?:{_COUNTRY})?[{_SIGNS}]|rs\.?|\u0631\u06cc\u0627\u0644|[a-z]{{3}}"
_DRESSED = re.compile(
    rf"(?P<sign>[+-]?) ?(?P<before>{_CURRENCY})? ?(?P<inner_sign>[+-]?) ?"
    rf"(?P<open>\(?) ?(?P<inside>{_CURRENCY})? ?"
    r"(?P<digits>[\d.,' ]*\d\.?)(?:e(?P<exponent>[+-]?\d{1,4}))? ?(?P<suffix>[kmb]?) ?(?P<percent>%?)"
    rf" ?(?P<close>\)?) ?(?P<percent_after>%?) ?(?P<after>{_CURRENCY})?",
    re.ASCII,
)
_POWER_OF_SUFFIX = {"": 0, "k": 3, "m": 6, "b": 9}

# ISO 4217: the codes in use, and the latest that the euro replaced.
_CODES = frozenset(
    (
        "aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd btn bwp byn "
        "bzd cad cdf chf clp cny cop crc cuc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp gbp gel "
        "ghs gip gmd gnf gtq gyd hkd hnl hrk htg huf idr ils inr iqd irr isk jmd jod jpy kes kgs khr kmf "
        "kpw krw kwd kyd kzt lak lbp lkr lrd lsl lyd mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr "
        "mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sdg "
        "sek sgd shp sle sll sos srd ssp stn svc syp szl thb tjs tmt tnd top try ttd twd tzs uah ugx usd "
        "uyu uzs ved ves vnd vuv wst xaf xcd xcg xof xpf yer zar zmw zwg "
    ).split()
)


def read_number_text(text: str, *, percent_is_fraction: bool) -> float | None:
    """The number in a folded text, else None. With `percent_is_fraction` "45%" is 0.45."""
    if len(text) > _MAX_PLAIN:
        return None
    if _PLAIN.fullmatch(text):
        return _finite(text)
    if len(text) > _MAX_DRESSED:
        return None
    bare = re.sub("^'|'$", "", text.replace("\u2212", "-").replace("\u2019", "'"))
    found = _DRESSED.fullmatch(bare)
    if found is None:
        return None
    part = {name: value or "" for name, value in found.groupdict().items()}
    if bool(part["open"]) != bool(part["close"]) or (part["percent"] and part["percent_after"]):
        return None
    if sum(bool(part[name]) for name in ("sign", "inner_sign", "open")) > 1:
        return None
    if not _is_one_currency([part["before"], part["inside"], part["after"]]):
        return None
    digits = _plain_digits(part["digits"].strip(" "))
    if digits is None:
        return None
    hundredths = 2 if percent_is_fraction and (part["percent"] or part["percent_after"]) else 0
    magnitude = _finite(
        f"{digits}e{int(part['exponent'] or 0) + _POWER_OF_SUFFIX[part['suffix']] - hundredths}"
    )
    is_negative = "-" in (part["sign"], part["inner_sign"]) or part["open"]
    return None if magnitude is None else -magnitude if is_negative else magnitude


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _is_one_currency(names: list[str]) -> bool:
    """Whether there is at most one sign and one code ("$5 USD")."""
    given = [name for name in names if name]
    letters = [name for name in given if re.fullmatch("[a-z]{3}", name)]
    return len(letters) <= 1 and len(given) - len(letters) <= 1 and all(name in _CODES for name in letters)


def _plain_digits(text: str) -> str | None:
    """The digits with a decimal point and without separators; None if the marks are contradictory.

    A lone comma before exactly three digits separates thousands, unless only 0 stands before it. If there are
    commas and points, the last mark is the decimal mark. Several points separate thousands.
    """
    commas, points = text.count(","), text.count(".")
    if commas and points:
        mark = "," if text.rindex(",") > text.rindex(".") else "."
        return _with_decimals(text, mark=mark, separators="." if mark == "," else ",")
    if points == 1:
        return _with_decimals(text, mark=".", separators=" '")
    if commas != 1:
        return _ungrouped(text, " ',.")
    before, after = text.split(",")
    if not (re.fullmatch("[0-9]{3}", after) and before.strip("0")):
        return _with_decimals(text, mark=",", separators=" '")
    thousands = _ungrouped(before, " '")
    return None if thousands is None else thousands + after


def _with_decimals(text: str, *, mark: str, separators: str) -> str | None:
    before, after, *more = text.split(mark)
    if more or not re.fullmatch("[0-9]*", after):
        return None
    whole = "0" if before == "" else _ungrouped(before, separators)
    return None if whole is None else f"{whole}.{after}"


def _ungrouped(text: str, separators: str) -> str | None:
    """The digits of groups of three with one separator. Commas also separate groups of two, as in India."""
    if re.fullmatch("[0-9]+", text):
        return text
    marks = re.findall("[^0-9]", text)
    if not marks or marks[0] not in separators:
        return None
    first, *groups = text.split(marks[0])
    last = groups.pop()
    middle = "[0-9]{2,3}" if marks[0] == "," else "[0-9]{3}"
    in_groups = (
        re.fullmatch("[0-9]{1,3}", first)
        and all(re.fullmatch(middle, group) for group in groups)
        and re.fullmatch("[0-9]{3}", last)
    )
    return "".join([first, *groups, last]) if in_groups else None
