"""No honest model is refused: 72 of them, by kind, weights and number of rows."""

from __future__ import annotations

from typing import Any

import pytest
from training_kinds import KINDS, OTHERS, drawn, weighted_fit, weights_of

from leadscore_export.comparison.level import against_copies, against_scores, figures_of, is_by_heart
from leadscore_export.scores.out_of_fold import fold_scores
from leadscore_export.scores.training_figures import area_under_curve

ALL = KINDS | OTHERS


@pytest.mark.parametrize("count", [600, 3000])
@pytest.mark.parametrize("name", ALL)
def test_accepts_honest_models(name: str, count: int) -> None:
    kind, (rows, converted) = ALL[name], drawn(count, seed=count)
    outcomes = converted.astype(float)
    honest: list[tuple[Any, Any]] = [(kind.make().fit(rows, converted), None)]
    if kind.balanced:
        honest.append((kind.make(**kind.balanced).fit(rows, converted), None))
    if kind.weights is not None:
        honest.append((weighted_fit(kind, rows, converted), weights_of(converted)))
    for model, weights in honest:
        served = model.predict_proba(rows)[:, 1].astype(float)
        scores = fold_scores(model, rows, outcomes, None, weights)
        own = figures_of(served, outcomes)
        difference = against_copies(own, scores.copies)
        assert not difference.is_refused and not difference.is_noted, difference
        by_heart = is_by_heart(own.auc, area_under_curve(scores.raw, outcomes))
        difference = against_scores(served, scores.raw, is_by_heart=by_heart)
        assert not difference.is_refused, difference
