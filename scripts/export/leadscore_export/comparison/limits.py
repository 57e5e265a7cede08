"""All limits of the comparisons, by name. `docs/models.md` gives the main ones.

A model is compared with models that were trained alike, on the same rows. Two comparisons are possible.

`COPIES_`: With the copies that are trained for out-of-fold scores, each on its own training rows. Both know
these rows alike, so that honest models hardly differ from their copies.
`SCORES_`: With out-of-fold scores that were given. The model knows X, but their models did not, so that the
limits are wide.
"""

from __future__ import annotations

# Ratio of the odds of the mean probability, and its inverse. Honest models differ from their copies by up to
# 1.21. Models by stochastic gradient descent differ by more, and so do their copies from each other.
COPIES_LEVEL_REFUSED = 1.4
COPIES_LEVEL_NOTED = 1.25
COPIES_LEVEL_ALWAYS_REFUSED = 3.0  # however much the copies differ from each other
# Ratio of the standard deviations of the log-odds, and its inverse. Honest models: 0.8 to 1.25.
COPIES_SPREAD_REFUSED = 2.0
# The AUC may be lower by this. Honest models: up to 0.03.
COPIES_AUC_REFUSED = 0.05
# A difference within this many standard deviations of the copies is chance.
COPIES_DEVIATIONS = 6.0

# The same of given scores. Honest models that do not know X by heart: level up to 2.3, spread 0.61 to 2.06.
SCORES_LEVEL_REFUSED = 3.0
SCORES_LEVEL_NOTED = 1.6
SCORES_NOTED_FROM_ROWS = 2000
SCORES_SPREAD_REFUSED = 0.5
# A difference within this many standard errors is chance.
SCORES_ERRORS = 4.0

# Probabilities nearer to 0 or 1 count as this in a spread: pure leaves have infinite log-odds.
SPREAD_EDGE = 1e-3
# Spreads below this are those of a model that hardly distinguishes leads. They are not compared.
SPREAD_LEAST = 0.3

# A model with this AUC on X, and a lower one out of fold, knows X by heart. Its level on X shows little of
# its level on new leads. Honest ones with few conversions differ from out-of-fold scores by up to 9 times.
BY_HEART_AUC = 0.999
BY_HEART_LOSS = 0.05

# The calibrated mean of the holdout may be off its conversion rate by the larger of both.
HOLDOUT_ERRORS = 4.0
HOLDOUT_SHARE = 0.25

# Rows with a missing value against the others, as a ratio of their levels.
MISSING_LEVEL_NOTED = 1.6
MISSING_LEAST_ROWS = 50

# An honest model's AUC on X was measured up to 0.03 below its out-of-fold AUC, at any number of rows.
# The cases were stumps and hardly trained networks.
AUC_TOLERANCE = 0.05
AUC_ERRORS = 1.0  # standard errors of the AUC, which exceed the tolerance on small data
