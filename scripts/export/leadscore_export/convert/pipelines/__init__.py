"""Folds the steps of a pipeline into features, and its classifier into a model of the bundle's columns."""
