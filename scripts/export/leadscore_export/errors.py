"""The one error of this package that is meant for the person who exports."""

from __future__ import annotations


class ExportError(ValueError):
    """The model, its features or its data do not make a bundle; the message says what to do about it."""


class UnusableRecord(ExportError):
    """The record cannot become a row at all: the service would refuse the whole call."""
