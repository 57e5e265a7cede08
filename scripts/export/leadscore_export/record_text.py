"""Texts as the service compares them: white space, case and numbers as JavaScript has them."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACE_RUN = re.compile(f"[{_SPACES}]+")
_NAME_MARKS = re.compile(f"[{_SPACES}_-]+")


def normal_text(text: str) -> str:
    """NFKC, trimmed, runs of white space as one space."""
    return _SPACE_RUN.sub(" ", unicodedata.normalize("NFKC", text)).strip(" ")


def folded_text(text: str) -> str:
    """`normal_text` without regard to case; upper case comes first so that "straße" and "STRASSE" are one text."""
    return normal_text(text).upper().lower()


def folded_name(name: str) -> str:
    """A field's name without regard to case, spaces, `_` and `-`."""
    return _NAME_MARKS.sub("", folded_text(name))


def trimmed(text: str) -> str:
    """Without white space at either end."""
    return re.sub(f"^[{_SPACES}]+|[{_SPACES}]+$", "", text)


def number_text(value: int | float) -> str:
    """A finite number as JavaScript writes it: 5.0 is "5", 1e-7 "1e-7", 1e21 "1e+21" (ECMAScript, Number::toString)."""
    number = float(value)
    if number == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    point = len(digit_tuple) + int(exponent)
    return ("-" if sign else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """The digits with the decimal point after the first `point` of them."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"
