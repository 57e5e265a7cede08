"""Turns CRM records into the input rows of a model, as the service does."""
