"""Converts CRM records to the input rows of a model, as the service does."""
