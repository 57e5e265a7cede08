"""Errors whose message tells the person who exports a model what to do."""

from __future__ import annotations


class ExportError(ValueError):
    """The model, its features or its data cannot become a bundle. The message says what to do."""


class UnusableRecord(ExportError):
    """The record cannot become a row. The service would refuse the whole call."""
