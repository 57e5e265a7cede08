"""Reads the trees of a CatBoost model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import ConvertedModel, converted_trees
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel, float32_below
from leadscore_export.errors import ExportError

_LOSSES = ("Logloss", "CrossEntropy")


def convert_catboost(model: Any, table: TrainedTable) -> ConvertedModel:
    """A CatBoost model as ONNX."""

    def predict(rows: Any) -> Any:
        return np.asarray(model.predict(rows, prediction_type="Probability", thread_count=1))[
            :, table.positive
        ]

    width = len(table.columns) or table.width
    return converted_trees(catboost_trees(model, width), predict, table, notes=_best_iteration_notes(model))


def catboost_trees(model: Any, width: int) -> TreeModel:
    """The trees of a `CatBoostClassifier` or `CatBoost`. Covers are weights of training rows."""
    loss = str(model.get_all_params().get("loss_function", ""))
    if loss not in _LOSSES:
        raise ExportError(
            f'CatBoost was trained with the loss "{loss}", which gives no probability; train with "Logloss"'
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        dump = json.loads(file.read_text(encoding="utf-8"))
    columns = _columns(dump["features_info"])
    scale, biases = dump["scale_and_bias"]
    if "oblivious_trees" in dump:
        trees = [_symmetric(tree, columns, scale) for tree in dump["oblivious_trees"]]
    else:
        trees = [_grown(tree, columns, scale) for tree in dump["trees"]]
    return TreeModel(trees, base=float(biases[0]), width=width)


def _best_iteration_notes(model: Any) -> list[str]:
    """A note if `predict` uses more trees than were best on the evaluation set (use_best_model=False)."""
    best = getattr(model, "best_iteration_", None)
    if best is None or best + 1 >= model.tree_count_:
        return []
    return [
        f"the evaluation set was best after {best + 1} of {model.tree_count_} trees. The bundle serves all "
        f"{model.tree_count_}, as predict of CatBoost does. To serve the best ones, train with "
        "use_best_model=True"
    ]


@dataclass(frozen=True)
class _Column:
    index: int
    is_missing_above: bool


Columns = Mapping[int, _Column]


def _columns(features: Mapping[str, Any]) -> Columns:
    """The input column of each of CatBoost's float features, and where it takes NaN."""
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if features.get(kind):
            raise ExportError(
                f"CatBoost was trained with {kind.replace('_', ' ')}, and ONNX lacks their statistics; "
                'give it the columns of Featurizer.rows as numbers (Category(..., encoding="onehot"))'
            )
    return {
        feature["feature_index"]: _Column(
            feature["flat_feature_index"], is_missing_above=feature["nan_value_treatment"] == "AsTrue"
        )
        for feature in features["float_features"]
    }


def _symmetric(tree: Mapping[str, Any], columns: Columns, scale: float) -> Node:
    """A tree with one split per level. The last in the list is the root, as for CatBoost's SHAP values."""
    splits, values, weights = tree.get("splits") or [], tree["leaf_values"], tree["leaf_weights"]

    def grow(level: int, leaf: int) -> Node:
        if level < 0:
            return Leaf(float(values[leaf]) * scale, float(weights[leaf]))
        return _split(
            splits[level], columns, below=grow(level - 1, leaf), above=grow(level - 1, leaf | 1 << level)
        )

    return grow(len(splits) - 1, 0)


def _grown(node: Mapping[str, Any], columns: Columns, scale: float) -> Node:
    if "split" not in node:
        value = node["value"]
        return Leaf(float(value[0] if isinstance(value, Sequence) else value) * scale, float(node["weight"]))
    return _split(
        node["split"],
        columns,
        below=_grown(node["left"], columns, scale),
        above=_grown(node["right"], columns, scale),
    )


def _split(split: Mapping[str, Any], columns: Columns, *, below: Node, above: Node) -> Split:
    """A split of CatBoost, which tests whether a value is above a border."""
    if split["split_type"] != "FloatFeature":
        raise ExportError(
            f"CatBoost wrote a split of the type {split['split_type']}; train on plain numbers only"
        )
    column = columns[split["float_feature_index"]]
    return Split(
        column=column.index,
        test="<=",
        threshold=float32_below(split["border"]),
        members=(),
        is_missing_true=not column.is_missing_above,
        when_true=below,
        when_false=above,
        cover=below.cover + above.cover,
    )
