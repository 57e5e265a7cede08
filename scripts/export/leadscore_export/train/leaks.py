"""Finds fields that were perhaps not known when the leads were scored, and asks a person about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.feature_types import columns_by_field
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.read_cell import missing_texts
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.featurizer.record_values import folded_text
from leadscore_export.scores.training_figures import area_under_curve
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.split import fewer_groups, folds

Rows = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

_MAX_ROWS = 20_000
_SEED = 0
_R2, _AUC = 0.3, 0.9
_AHEAD_FROM, _AHEAD = 0.75, 1.75
_LATER_SHARE = 0.01
_NAMED_FROM = 0.6
_WORDS = frozenset(("won", "lost", "closed", "stage", "reason", "outcome"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
TOO_GOOD_AUC = 0.95

# Gets a question and its subject. None if no person can answer.
Ask = Callable[[str, str], bool | None]


@dataclass(frozen=True)
class FieldRank:
    """How a field ranks leads alone.

    `auc`, `r2`: Of boosted trees on this field, on the half that did not train them.
    `filled_won`, `filled_lost`: Shares with a value.
    `suspect`: Why the field was perhaps not known at scoring, or None.
    """

    field: str
    auc: float
    r2: float
    filled_won: float
    filled_lost: float
    suspect: str | None

    def document(self) -> dict[str, Any]:
        """The rank for training.json."""
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def rank_fields(
    table: Table,
    featurizer: Featurizer,
    rows: Rows,
    converted: Vector,
    groups: Indexes,
    at_ms: Vector | None,
    say: Callable[[str, float], None],
) -> list[FieldRank]:
    """Ranks each field alone, the best first.

    `at_ms`: The date of each row; None without date features.
    `say`: Gets the field, and the share that is done.
    """
    some = _sample(len(rows))
    halves = folds(converted[some], fewer_groups(groups[some]), seed=_SEED, count=2)
    missing = missing_texts(featurizer.missing_tokens)
    alone: dict[str, tuple[float, float]] = {}
    fields = columns_by_field(featurizer.features)
    for number, (name, columns) in enumerate(fields.items()):
        say(f"testing {name} alone", number / len(fields))
        alone[name] = _alone(rows[some][:, columns], converted[some], halves)
    later = {
        feature["field"]: _later_share(rows[:, feature["columns"][0]], at_ms)
        for feature in featurizer.features
        if feature["type"] == "date" and at_ms is not None
    }
    suspects = _suspects({name: auc for name, (auc, _) in alone.items()}, alone, later)
    ranks = [
        FieldRank(name, auc, r2, *_filled(table.columns[name], converted, missing), suspects.get(name))
        for name, (auc, r2) in alone.items()
    ]
    return sorted(ranks, key=lambda rank: -rank.auc)


def confirm_suspects(ranks: Sequence[FieldRank], kept: Sequence[str], *, ask: Ask) -> dict[str, str]:
    """Asks about each suspect. Returns the fields to leave out, with the reason.

    `kept`: Fields that a person has named as known. Raises TrainError if no person can answer.
    """
    open_questions = [rank for rank in ranks if rank.suspect is not None and rank.field not in kept]
    left_out: dict[str, str] = {}
    for rank in open_questions:
        answer = ask(f"Was {rank.field} known when the lead was scored?", rank.field)
        if answer is None:
            raise _unconfirmed(open_questions)
        if not answer:
            left_out[rank.field] = f"it was not known at scoring ({rank.suspect})"
    return left_out


def confirm_auc(auc: float, ranks: Sequence[FieldRank], *, ask: Ask) -> None:
    """Asks about a model that ranks better than honest ones. Raises TrainError unless a person says yes."""
    if auc < TOO_GOOD_AUC:
        return
    best = ", ".join(rank.field for rank in ranks[:3])
    question = f"The AUC of {auc:.3f} is unusually high. Was each field known at scoring, such as {best}?"
    if ask(question, "auc") is True:
        return
    raise TrainError(
        "leak_unconfirmed",
        f"the AUC of {auc:.3f} is unusually high, so a field was perhaps filled in after the outcome. The "
        f"best fields are {best}. Leave out such fields with --skip, or give --yes if all were known",
        auc=round(auc, 4),
        fields=[rank.field for rank in ranks[:3]],
        confirm=["--yes"],
    )


def rank_table(ranks: Sequence[FieldRank]) -> str:
    """The ranks for a person, as lines of a table."""
    width = max(len(rank.field) for rank in ranks)
    lines = [f"{'field':<{width}}    AUC     R2  filled: won   lost"]
    lines += [
        f"{rank.field:<{width}}  {rank.auc:.3f}  {max(0.0, rank.r2):.3f}       {rank.filled_won:>6.0%} "
        f"{rank.filled_lost:>6.0%}{'' if rank.suspect is None else f'  {rank.suspect}'}"
        for rank in ranks
    ]
    return "\n".join(lines)


def _alone(rows: Rows, converted: Vector, halves: Sequence[tuple[Indexes, Indexes]]) -> tuple[float, float]:
    """AUC and R² of trees on some columns, each half scored by the trees of the other."""
    import lightgbm

    scores = np.empty(len(rows))
    for trained, unseen in halves:
        data = lightgbm.Dataset(rows[trained], converted[trained], params={"verbose": -1})
        booster = lightgbm.train(
            {
                "objective": "binary",
                "num_leaves": 8,
                "learning_rate": 0.1,
                "min_data_in_leaf": max(5, min(20, len(trained) // 50)),
                "num_threads": 1,
                "deterministic": True,
                "force_row_wise": True,
                "seed": _SEED,
                "verbose": -1,
            },
            data,
            num_boost_round=40,
        )
        scores[unseen] = booster.predict(rows[unseen])
    spread = float(((converted - converted.mean()) ** 2).sum())
    return area_under_curve(scores, converted), 1 - float(((converted - scores) ** 2).sum()) / spread


def _later_share(ages: npt.NDArray[np.float32], at_ms: Vector) -> float:
    """The share of dates after that of their row. `ages`: In days, NaN without a date."""
    # A date without a time is the midnight before, so that other times of this day seem to be later.
    is_day = at_ms % MS_PER_DAY == 0
    return float(np.where(is_day, ages <= -1, ages < 0).mean())


def _suspects(
    aucs: dict[str, float], alone: dict[str, tuple[float, float]], later: dict[str, float]
) -> dict[str, str]:
    """The reason for each field that was perhaps not known at scoring."""
    found: dict[str, str] = {}
    for name, (auc, r2) in alone.items():
        if r2 > _R2:
            found[name] = f"it explains {r2:.0%} of the outcome alone"
        elif auc >= _AUC:
            found[name] = f"it ranks leads alone with an AUC of {auc:.2f}"
        elif later.get(name, 0.0) >= _LATER_SHARE:
            found[name] = f"{later[name]:.0%} of its dates are after the date of the row"
        elif auc >= _NAMED_FROM and (words := sorted(_WORDS & _words_of(name))):
            found[name] = f'its name has the word "{words[0]}"'
    others = {name: auc for name, auc in aucs.items() if name not in found}
    for name, auc in others.items():
        second = max([other for each, other in others.items() if each != name], default=0.5)
        if auc >= _AHEAD_FROM and auc - 0.5 >= _AHEAD * max(0.0, second - 0.5):
            found[name] = f"it ranks leads far better than the next field (AUC {auc:.2f} and {second:.2f})"
    return found


def _words_of(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _filled(column: Column, converted: Vector, missing: frozenset[str]) -> tuple[float, float]:
    filled = [folded_text(cell) not in missing if isinstance(cell, str) else True for cell in column.texts]
    is_filled = np.array(filled, dtype=bool)[column.codes]
    return float(is_filled[converted == 1].mean()), float(is_filled[converted == 0].mean())


def _unconfirmed(suspects: Sequence[FieldRank]) -> TrainError:
    listed = "; ".join(f"{rank.field}: {rank.suspect}" for rank in suspects)
    return TrainError(
        "leak_unconfirmed",
        f"perhaps these fields were not known when the leads were scored: {listed}. For each, give --skip "
        "FIELD, or --keep FIELD if it was known; --yes keeps all",
        fields=[rank.document() for rank in suspects],
        confirm=[part for rank in suspects for part in ("--keep", rank.field)],
    )


def _sample(count: int) -> Indexes:
    if count <= _MAX_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(_SEED).choice(count, _MAX_ROWS, replace=False))
