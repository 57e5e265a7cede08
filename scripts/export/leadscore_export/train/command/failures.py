"""Failures of a training, each with a code for programs and a message that says what to do."""

from __future__ import annotations

from typing import Any, Literal, get_args

from leadscore_export.errors import ExportError

Code = Literal[
    "usage",  # an option is wrong or lacks its value; exit code 2
    "no_file",  # the file cannot be opened
    "exists",  # the folder of the result exists
    "bad_encoding",  # the file is no UTF-8 or UTF-16; context: line, byte
    "bad_csv",  # a row cannot be read; context: line
    "too_large",  # more columns, or longer cells, than are read
    "no_column",  # the file has no such column; context: column, columns
    "no_rows",  # a header without rows
    "unknown_outcomes",  # too many rows have no readable outcome; context: rows, unknown, values
    "one_class",  # all leads converted, or none did
    "too_few_leads",  # below 100 rows or 20 of a class; context: rows, converted
    "no_features",  # each column is left out; context: left_out
    "bad_dates",  # too many rows have no readable date, or one in the future
    "not_matured",  # the horizon of too many leads has not passed
    "leak_unconfirmed",  # fields that were perhaps not known at scoring; context: fields, confirm
    "holdout_refused",  # likelihoods do not hold on the held-out leads; context: months
    "not_exported",  # the exporter refuses the model
    "bad_stored_leads",  # the stream of stored leads ends early or is malformed
    "not_written",  # the folder cannot be written
    "no_openmp",  # LightGBM cannot load OpenMP
    "interrupted",  # exit code 130
]
CODES: tuple[Code, ...] = get_args(Code)


class TrainError(ExportError):
    """A training that cannot go on. `context`: Further members of the error for programs."""

    def __init__(self, code: Code, message: str, **context: Any) -> None:
        super().__init__(message)
        self.code: Code = code
        self.context = context

    @property
    def exit_code(self) -> int:
        """2 for wrong options, 130 for an interruption, else 1."""
        return {"usage": 2, "interrupted": 130}.get(self.code, 1)
