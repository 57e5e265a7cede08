"""Checks the export against the limits of the service and writes the files of a bundle."""
