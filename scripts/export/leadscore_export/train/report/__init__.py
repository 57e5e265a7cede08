"""The report of a training, as one HTML file."""
