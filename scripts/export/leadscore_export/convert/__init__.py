"""Writes a trained model as ONNX, with exact contributions for trees and linear models."""
