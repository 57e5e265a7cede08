"""Reference values for the statistics of worker/grading, by scipy and statsmodels.

Prints the JSON of test/fixtures/statistics-reference.json:

    python -m venv .local/statistics
    .local/statistics/bin/pip install -r scripts/simulate/requirements.txt
    .local/statistics/bin/python scripts/simulate/statistics_reference.py > reference.json

The script shares no code with worker/grading. Tests, intervals and tails are functions of the libraries.
"""

import json
import math

import numpy as np
from scipy.stats import norm, poisson
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

Z = [-6.5, -2.0, -0.3, 0.0, 0.1, 1.0, 1.6448536269514722, 1.96, 2.9, 3.0, 3.1, 5.0, 8.0, 20.0, 35.0]

# (records, conversions) of each band, from the lowest scores to the highest.
TRENDS = [
    [(200, 4), (200, 8), (200, 10), (200, 16), (200, 22)],
    [(200, 22), (200, 16), (200, 10), (200, 8), (200, 4)],
    [(412, 20), (398, 21), (405, 19), (377, 22), (408, 18)],
    [(1000, 3), (50, 10), (20, 15)],
    [(120, 60), (80, 41)],
    [(33, 1), (250, 30), (900, 41), (21, 9)],
    [(25000, 900), (25000, 1100), (25000, 1250), (25000, 1400), (25000, 1900)],
]

RATES = [(0, 1), (0, 20), (1, 1), (1, 20), (5, 100), (30, 600), (599, 600), (600, 600), (1234, 45678)]

# (conversions, records) of the top band and of the rest.
RISKS = [
    ((22, 200), (38, 800)),
    ((0, 40), (38, 800)),
    ((12, 40), (0, 160)),
    ((40, 40), (60, 160)),
    ((1900, 25000), (4650, 100000)),
    ((18, 408), (82, 1592)),
]

POISSON = [(0, 0.5), (0, 30.0), (3, 3.0), (12, 30.0), (14, 30.0), (15, 30.0), (30, 30.0), (60, 30.0),
           (100, 181.5), (700, 820.25), (2000, 1900.0), (5, 900.0), (20000, 20500.0)]

# (top band's share, expected lift)
SIZES = [(0.2, 2.0), (0.2, 1.5), (0.2, 1.8), (0.2, 1.2), (0.05, 3.0), (0.1, 1.6), (0.45, 1.9), (0.33, 2.9)]


def trend(bands):
    # Two columns, converted and not converted; the bands have the scores 0, 1, 2, …
    table = np.array([[conversions, records - conversions] for records, conversions in bands], dtype=float)
    test = Table(table).test_ordinal_association(np.arange(len(bands)), np.array([1, 0]))
    z = test.zscore
    return {"bands": bands, "z": z, "risingP": norm.sf(z), "fallingP": norm.cdf(z)}


def interval(conversions, records):
    low, high = proportion_confint(conversions, records, alpha=0.05, method="wilson")
    return {"conversions": conversions, "records": records, "low": low, "high": high}


def lift(top, rest):
    (x, n), (y, m) = top, rest
    bound, _ = confint_proportions_2indep(
        x + 0.5, n + 1, y + 0.5, m + 1, method="log", compare="ratio", alpha=0.10
    )
    share = n / (n + m)
    return {
        "top": top,
        "rest": rest,
        "relativeRiskLowerBound": bound,
        "lift": (x / n) / ((x + y) / (n + m)),
        "lowerBound": bound / (share * bound + 1 - share),
    }


def required(share, expected_lift):
    a = share * expected_lift
    p_top, p_rest = expected_lift, (1 - a) / (1 - share)  # in units of the overall rate
    needed = (1.645 + 0.842) ** 2 * (1 / a + 1 / (1 - a)) / math.log(p_top / p_rest) ** 2
    conversions = min(100, max(30, math.ceil(needed)))
    return {"topShare": share, "expectedLift": expected_lift, "conversions": conversions}


def main():
    reference = {
        "normalUpperTail": [{"z": z, "p": norm.sf(z)} for z in Z],
        "cochranArmitage": [trend(bands) for bands in TRENDS],
        "wilsonInterval": [interval(x, n) for x, n in RATES],
        "topBandLift": [lift(top, rest) for top, rest in RISKS],
        "poissonLowerTail": [{"count": k, "mean": mean, "p": poisson.cdf(k, mean)} for k, mean in POISSON],
        "requiredConversions": [required(share, expected) for share, expected in SIZES],
    }
    print(json.dumps(reference, indent=1))


if __name__ == "__main__":
    main()
