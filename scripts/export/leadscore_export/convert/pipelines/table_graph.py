"""Puts the columns of a trained table before a graph that skl2onnx has converted."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from leadscore_export.convert.layered_model import Scaling, scaler_nodes
from leadscore_export.convert.onnx_graph import INPUT_NAME
from leadscore_export.convert.pipelines.trained_table import TrainedTable

_TABLE = "trained_table"
_ML_DOMAIN, _ML_OPSET = "ai.onnx.ml", 3


def graph_of_bundle(model: onnx.ModelProto, table: TrainedTable) -> onnx.ModelProto:
    """The model for the rows of the bundle. `model`: For the trained table, with one input."""
    if not table.columns:
        return model
    graph, old = model.graph, model.graph.input[0].name
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = _TABLE
    nodes, stored = _table_nodes(table)
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    graph.initializer.extend(stored)
    del graph.input[:]
    graph.input.append(helper.make_tensor_value_info(INPUT_NAME, TensorProto.FLOAT, [None, table.width]))
    if all(opset.domain != _ML_DOMAIN for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_ML_DOMAIN, _ML_OPSET))
    onnx.checker.check_model(model)
    return model


def _table_nodes(table: TrainedTable) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    scaling = table.scaling()
    nodes, name = scaler_nodes([] if scaling is None else [Scaling(*scaling)])
    first = [column.column for column in table.columns]
    added = sorted({index for column in table.columns for index in column.added})
    stored = [numpy_helper.from_array(np.array(first, dtype=np.int64), "first_columns")]
    gathered = "first_values" if added else _TABLE
    nodes.append(helper.make_node("Gather", [name, "first_columns"], [gathered], axis=1))
    if added:
        # The added columns are 0 or 1, never NaN, which a product with 0 would spread.
        sums = np.array([[float(index in column.added) for column in table.columns] for index in added])
        stored += [
            numpy_helper.from_array(np.array(added, dtype=np.int64), "added_columns"),
            numpy_helper.from_array(sums.astype(np.float32), "added_to"),
        ]
        nodes += [
            helper.make_node("Gather", [name, "added_columns"], ["added_values"], axis=1),
            helper.make_node("MatMul", ["added_values", "added_to"], ["added_sums"]),
            helper.make_node("Add", [gathered, "added_sums"], [_TABLE]),
        ]
    return nodes, stored
