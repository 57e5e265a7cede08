"""Converts a trained model to a bundle that Leadscore scores with: see `export_bundle` and docs/models.md."""

from leadscore_export.convert.converted_model import OnnxFile
from leadscore_export.errors import ExportError, UnusableRecord
from leadscore_export.export_bundle import export_bundle
from leadscore_export.export_report import ExportReport
from leadscore_export.featurizer.feature_types import Boolean, Category, Date, Feature, Multi, Number
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.infer_features import InferredFeatures, infer_features
from leadscore_export.scores.out_of_fold import out_of_fold

__all__ = [
    "Boolean",
    "Category",
    "Date",
    "ExportError",
    "ExportReport",
    "Feature",
    "Featurizer",
    "InferredFeatures",
    "Multi",
    "Number",
    "OnnxFile",
    "UnusableRecord",
    "export_bundle",
    "infer_features",
    "out_of_fold",
]
