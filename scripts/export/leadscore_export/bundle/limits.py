"""Limits of the service that the exporter checks too.

They are those of shared/bundle/limits.ts, which gives the reason for each.
A test of the service compares them.
"""

from __future__ import annotations

TRIED_ROWS = 32
CALL_RECORDS = 250
PROBABILITY = 1e-6
LOG_ODDS = 1e-4
HALF_PROBABILITY = 2e-3
HALF_LOG_ODDS = 1e-2
BEYOND_RANGE = 1e-4
ROW_SUM = 1e-3
COMMON_RATE = 0.5
