"""Rows of a model from the cells of a table, and the parts of a table."""
