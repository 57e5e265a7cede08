"""Tries an ONNX model as the service does before it stores one: a row must have one answer, of its kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto

from leadscore_export.bundle import limits
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.convert.onnx_graph import onnx_session
from leadscore_export.errors import ExportError, failures_advise

Rows32 = npt.NDArray[np.float32]
Values = npt.NDArray[np.float64]

_HALF_TYPES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def check_answers(model: ConvertedModel, rows: npt.ArrayLike, base_rate: float) -> None:
    """Runs 32 rows of X, and 32 that mix their columns, in calls of several sizes and orders.

    Raises ExportError if a row has several answers, or if the outputs are not of the model's kind.

    `base_rate`: As in the manifest. With a low one, some logits of a single column are below 0.
    """
    tried = _tried_rows(np.asarray(rows, dtype=np.float32))
    count = len(tried)
    try:
        answer = _Runner(model)
        answer.rows(tried, [0])
    except Exception:  # the comparison with the trainer names what ONNX Runtime says of any row
        return
    in_order = list(range(count))
    together = answer.rows(tried, in_order)
    _check_form(model, together, base_rate)
    raw = model.probabilities(together)
    tolerance = _tolerance(model)
    again = model.probabilities(answer.rows(tried, in_order))
    row = _different(raw, again, tolerance)
    if row is not None:
        raise ExportError(
            f"the ONNX model's answer changes from call to call (tried row {row}: {raw[row]:.4g}, then "
            f"{again[row]:.4g}); convert the model for inference (model.eval()), without random numbers"
        )
    alone = np.concatenate([model.probabilities(answer.rows(tried, [row])) for row in in_order])
    _check_same(alone, raw, in_order, tolerance)
    for order in (in_order[::-1], [index % count for index in range(limits.CALL_RECORDS)]):
        _check_same(alone, model.probabilities(answer.rows(tried, order)), order, tolerance)


def _check_same(alone: Values, others: Values, order: list[int], tolerance: tuple[float, float]) -> None:
    """Refuses answers to the rows `order` of one call that differ from those to each row alone."""
    index = _different(alone[order], others, tolerance)
    if index is not None:
        raise ExportError(
            "the ONNX model's answer to a row depends on the other rows of the call (tried row "
            f"{order[index]}: {alone[order[index]]:.4g} alone, {others[index]:.4g} with others); convert "
            "it for inference, and take no mean, maximum or softmax over the first axis"
        )


def _tried_rows(rows: Rows32) -> Rows32:
    """Rows from all parts of X, then as many in which each column comes from another of them."""
    chosen = rows[np.linspace(0, len(rows) - 1, min(limits.TRIED_ROWS, len(rows))).astype(int)]
    draw = np.random.default_rng(0)
    mixed = np.column_stack([draw.permutation(column) for column in chosen.T])
    return np.concatenate([chosen, mixed])


class _Runner:
    """A model in one session, as a worker of the service has it."""

    def __init__(self, model: ConvertedModel) -> None:
        self._model = model
        self._session = onnx_session(model.file)

    def rows(self, rows: Rows32, order: Sequence[int]) -> Values:
        """The output for some rows: [N, classes]."""
        model = self._model
        with failures_advise(
            f"ONNX Runtime does not run {len(order)} rows in one call",
            "convert the model with an open first dimension (dynamic_axes)",
        ):
            output = self._session.run([model.output], {model.input: rows[list(order)]})[0]
        values = np.asarray(output, dtype=np.float64)
        if values.size % len(order) != 0:
            raise ExportError(
                f"the ONNX model's output has {values.size} values for {len(order)} rows; "
                "let it have a row for each"
            )
        return values.reshape(len(order), -1)


def _different(ones: Values, others: Values, tolerance: tuple[float, float]) -> int | None:
    """The index at which two answers to one row differ most beyond the tolerance; None if they are equal."""
    probability, log_odds = tolerance
    ones, others = np.clip(ones, 0, 1), np.clip(others, 0, 1)  # a row with a NaN may hold any number as well
    slope = np.fmax(ones * (1 - ones), others * (1 - others))
    excess = np.abs(ones - others) - probability - log_odds * slope
    only_one = np.isnan(ones) != np.isnan(others)
    excess = np.where(only_one, np.inf, np.where(np.isnan(excess), -np.inf, excess))
    index = int(np.argmax(excess))
    return index if excess[index] > 0 else None


def _tolerance(model: ConvertedModel) -> tuple[float, float]:
    graph = onnx.load_from_string(model.file).graph
    casts = [attribute.i for node in graph.node if node.op_type == "Cast" for attribute in node.attribute]
    if {*casts, *(tensor.data_type for tensor in graph.initializer)} & set(_HALF_TYPES):
        return limits.HALF_PROBABILITY, limits.HALF_LOG_ODDS
    return limits.PROBABILITY, limits.LOG_ODDS


def _check_form(model: ConvertedModel, values: Values, base_rate: float) -> None:
    """Compares outputs with the kind of the model."""
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known):
        return  # the agreement with X names missing values
    is_in_range = known.min() >= -limits.BEYOND_RANGE and known.max() <= 1 + limits.BEYOND_RANGE
    adds_up = bool(np.all(np.abs(known.sum(axis=1) - 1) <= limits.ROW_SUM))
    if model.kind == "logit":
        if known.shape[1] == 1:
            if is_in_range and base_rate < limits.COMMON_RATE:
                raise ExportError(
                    f'the output "{model.output}" stays between 0 and 1 for every row tried, so it is a '
                    'probability; give OnnxFile(path, kind="probability")'
                )
            return
        if is_in_range and adds_up:
            raise ExportError(
                f'the output "{model.output}" adds up to 1 in every row, so it is a probability; give '
                'OnnxFile(path, kind="probability")'
            )
        if known.shape[1] != 2 or not _is_opposite(known):
            raise ExportError(
                f'the output "{model.output}" has {known.shape[1]} columns that are not [-s, s], '
                'so it is a logit of each class; end the graph in Softmax, and give kind="probability"'
            )
    elif not is_in_range:
        raise ExportError(
            f'the output "{model.output}" has the value {_outside(known):.4g}, so it is no probability. '
            f"{_likely_form(known)}"
        )


def _outside(known: Values) -> float:
    flat = known.ravel()
    return float(flat[np.argmax(np.maximum(-flat, flat - 1))])


def _likely_form(known: Values) -> str:
    """The kind that outputs look like which are no probabilities, and the remedy."""
    single = known.shape[1] == 1
    with np.errstate(over="ignore"):
        sums = np.exp(known).sum(axis=1)
    if known.max() <= limits.BEYOND_RANGE and (single or np.all(np.abs(sums - 1) <= limits.ROW_SUM)):
        return "It looks like the logarithm of a probability; end the graph in Softmax, not LogSoftmax"
    shares = known.sum(axis=1) / 100
    is_percent = known.min() >= -limits.BEYOND_RANGE and known.max() <= 100 * (1 + limits.BEYOND_RANGE)
    if is_percent and (single or np.all(np.abs(shares - 1) <= limits.ROW_SUM)):
        return "It looks like a percentage; divide it by 100 in the graph"
    if known.min() > -1 and known.max() < 2:
        remedy = "end the graph in Clip with the limits 0 and 1, or train a classifier"
        return f"It looks like a regression; {remedy}"
    if single or (known.shape[1] == 2 and _is_opposite(known)):
        return 'It looks like a logit; for log-odds give OnnxFile(path, kind="logit")'
    return "It looks like a logit of each class; end the graph in Softmax"


def _is_opposite(known: Values) -> bool:
    """Whether every row is [-s, s]."""
    with np.errstate(invalid="ignore"):
        sums = np.abs(known.sum(axis=1))
    nearly = sums <= limits.ROW_SUM * np.fmax(1, np.abs(known[:, 1]))
    return bool(np.all((known[:, 0] == -known[:, 1]) | nearly))
