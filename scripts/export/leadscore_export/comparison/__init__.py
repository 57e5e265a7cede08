"""Compares the model with its copies, with out-of-fold scores and with the holdout."""
