"""Errors whose message tells the person who exports a model what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_HEAD, _TAIL = 120, 160  # ONNX Runtime names the reason last, skl2onnx first


class ExportError(ValueError):
    """The model, its features or its data cannot become a bundle. The message says what to do."""


class UnusableRecord(ExportError):
    """The record cannot become a row. The service would refuse the whole call."""


class HoldoutRefused(ExportError):
    """The likelihoods do not hold on the holdout."""


@contextmanager
def failures_advise(failed: str, advice: str) -> Iterator[None]:
    """Raises any failure of a library as an ExportError with what failed, the failure itself, and advice."""
    try:
        yield
    except ExportError:
        raise
    except Exception as problem:  # the libraries have no common base class for their errors
        raise ExportError(f"{failed} ({short_text(problem)}); {advice}") from problem


def short_text(problem: Exception) -> str:
    """Another library's error in one line: if it is long, its start and its end."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} ... {text[-_TAIL:]}"
