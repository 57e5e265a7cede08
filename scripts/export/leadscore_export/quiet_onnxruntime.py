"""onnxruntime, which says nothing to its maker about the models it runs unless the environment asks for that."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime  # It reads the environment when it is imported.

__all__ = ["onnxruntime"]
