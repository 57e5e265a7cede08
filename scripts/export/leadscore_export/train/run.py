"""Runs a training from the file to the folder of the result."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from leadscore_export.export_report import ExportReport
from leadscore_export.scores.training_figures import top_lift
from leadscore_export.train.as_of import month_rates
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.command.progress import Progress
from leadscore_export.train.command.result_folder import result_folder
from leadscore_export.train.fit import auc_interval, check_lightgbm, exported, fitted_model
from leadscore_export.train.leaks import Ask, FieldRank, confirm_auc, confirm_suspects, rank_table
from leadscore_export.train.report.figures import report_figures
from leadscore_export.train.report.sections import report_page
from leadscore_export.train.rows.golden import golden_records
from leadscore_export.train.rows.leads import Leads, read_leads, stored_leads
from leadscore_export.train.rows.prepare import Prepared, prepare
from leadscore_export.train.search import Search, search_parameters
from leadscore_export.train.selection import WARNING, same_leads, selection_figures, selection_notes

_ONE_THREAD_BELOW = 100_000  # rows: threads of a smaller table mostly wait for each other
_EXPORT_STEPS = 10


@dataclass(frozen=True)
class Trained:
    """A finished training, for the report and training.json."""

    options: TrainOptions
    version: str
    leads: Leads
    prepared: Prepared
    search: Search
    model: Any
    exported: ExportReport
    selection: dict[str, Any] | None
    notes: tuple[str, ...]


def train(options: TrainOptions, progress: Progress) -> dict[str, Any]:
    """Trains, exports and writes the folder. Returns the contents of training.json. Raises TrainError."""
    with result_folder(options.out, replace=options.replace) as folder:
        check_lightgbm()
        leads = _leads(options, progress)
        progress.step("prepare", "choosing columns")
        prepared = prepare(
            leads,
            options,
            note=progress.note,
            say=lambda text, part: progress.step("leaks", text, part),
            confirm=lambda ranks: _confirmed(ranks, leads, options, progress),
        )
        search = search_parameters(
            prepared.rows,
            prepared.converted,
            prepared.groups,
            budget_seconds=options.budget_seconds,
            say=lambda text, part: progress.step("search", text, part),
        )
        if search.left_out:
            progress.note(
                f"the budget ended before {len(search.left_out)} further candidates; --budget gives more time"
            )
        confirm_auc(search.best.auc, prepared.ranks, ask=_ask(options, progress))
        progress.step("fit", f"training {search.best.trees} trees on {len(prepared.rows):,} leads")
        model = fitted_model(prepared, search.best, _threads(len(prepared.rows)))
        version = options.version or _version(prepared, search)
        steps = iter(range(1, 1000))

        def said(text: str) -> None:
            # The folder gets its name when all is written.
            named = text.replace(str(folder), str(options.out))
            progress.step("export", named, next(steps) / _EXPORT_STEPS)

        report = exported(
            model,
            prepared,
            folder / "bundle",
            say=said,
            months=[] if leads.split_ms is None else month_rates(leads.split_ms, leads.converted),
            name=_name(leads, options),
            version=version,
            horizon_days=_horizon_days(leads, options),
            golden_records=golden_records(leads.table, prepared.split.held, prepared.featurizer),
            **_dates(leads, prepared),
        )
        for note in report.notes:
            progress.note(note)
        selection = _selection(leads, prepared, model)
        for note in selection_notes(selection["bands"] if selection else []):
            progress.note(note)
        progress.step("write", f"writing {options.out}")
        trained = Trained(
            options, version, leads, prepared, search, model, report, selection, tuple(progress.notes)
        )
        document = training_document(trained)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / "report.html").write_text(_report(trained, document, folder), encoding="utf-8")
        (folder / "training.json").write_text(f"{text}\n", encoding="utf-8")
    return document


def _dates(leads: Leads, prepared: Prepared) -> dict[str, Any]:
    """The arguments of the export that need the date of each lead."""
    if leads.at_ms is None:
        return {"now": datetime.now(timezone.utc)}
    trained_until = float(leads.at_ms[prepared.split.trained].max())
    # Golden records are scored as the newest lead was. Their dates come from other leads.
    return {
        "now": float(leads.at_ms.max()),
        "data_until": trained_until,
        "recency": _newest_date(prepared),
    }


def _newest_date(prepared: Prepared) -> str | None:
    """The date field with the youngest dates, for the recency guard."""
    ages = {
        feature["field"]: float(np.nanmedian(prepared.rows[:, feature["columns"][0]]))
        for feature in prepared.featurizer.features
        if feature["type"] == "date"
    }
    return min(ages, key=lambda field: ages[field]) if ages else None


def _confirmed(
    ranks: list[FieldRank], leads: Leads, options: TrainOptions, progress: Progress
) -> dict[str, str]:
    """Shows the ranks of the fields, and asks about suspects."""
    documents = [rank.document() for rank in ranks]
    progress.line({"fields": documents}, rank_table(ranks))
    if leads.stored is not None:  # cells are stored when they are scored, so that none is of later
        return {}
    kept = [leads.table.named(name, "--keep").name for name in options.keep]
    return confirm_suspects(ranks, kept, ask=_ask(options, progress))


def _ask(options: TrainOptions, progress: Progress) -> Ask:
    """Asks the person of a terminal, or the program that gave --ask."""
    if options.yes:
        return lambda question, about: True
    return lambda question, about: progress.answer(question, about, is_asked=options.ask)


def _selection(leads: Leads, prepared: Prepared, model: Any) -> dict[str, Any] | None:
    """How earlier scores may have changed the outcomes of stored leads; None for a file."""
    stored = leads.stored
    if stored is None:
        return None
    held = prepared.split.held
    new = model.predict_proba(prepared.held_rows)[:, 1]
    return {
        "warning": WARNING,
        "version": stored.version,
        "bands": selection_figures(stored.scores, stored.converted, stored.days, stored.unnamed_by_band),
        "auc": same_leads(stored.scores[held], new, prepared.held_converted),
    }


def _leads(options: TrainOptions, progress: Progress) -> Leads:
    if options.stored is not None:
        progress.step("read", "reading stored leads")
        return stored_leads(options, progress.note)
    progress.step("read", f"reading {options.file.name}")
    return read_leads(options, progress.note)


def _name(leads: Leads, options: TrainOptions) -> str:
    return options.name or ("Lead conversion" if leads.stored is None else leads.stored.name)


def _horizon_days(leads: Leads, options: TrainOptions) -> int:
    return options.horizon_days if leads.stored is None else leads.stored.horizon_days


def _report(trained: Trained, document: dict[str, Any], folder: Path) -> str:
    manifest = json.loads((folder / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    prepared, dates = trained.prepared, trained.leads.split_ms
    figures = report_figures(
        trained.model,
        prepared.featurizer,
        prepared.held_rows,
        prepared.held_converted,
        None if dates is None else dates[prepared.split.held],
        manifest,
    )
    # A pipe of stored leads cannot be read again.
    return report_page(document, figures, trained.options.command if trained.leads.stored is None else None)


def training_document(trained: Trained) -> dict[str, Any]:
    """The contents of training.json: all figures, and no lead."""
    prepared, report, search = trained.prepared, trained.exported, trained.search
    scores = trained.model.predict_proba(prepared.held_rows)[:, 1]
    return {
        "schema_version": 1,
        "name": _name(trained.leads, trained.options),
        "version": trained.version,
        "rows": trained.leads.counts
        | {"trained": len(prepared.rows), "held_out": len(prepared.held_rows), "apart": prepared.split.apart},
        "conversion_rate": round(float(trained.leads.converted.mean()), 6),
        "horizon_days": _horizon_days(trained.leads, trained.options),
        "fields": [feature["field"] for feature in prepared.featurizer.features],
        "left_out": prepared.left_out,
        "ranks": [rank.document() for rank in prepared.ranks],
        "auc": {
            "held_out": auc_interval(scores, prepared.held_converted).document(),
            "out_of_fold": round(report.out_of_fold_auc, 4),
        },
        "top_lift": round(top_lift(scores, prepared.held_converted), 4),
        "calibration": report.calibration,
        "parameters": search.best.document(),
        "candidates": [candidate.document() for candidate in search.tried],
        "not_tried": [parameters.document() for parameters in search.left_out],
        "search_rows": search.rows,
        "golden_records": report.golden_records,
        **({} if trained.selection is None else {"selection": trained.selection}),
        "notes": list(trained.notes),
    }


def summary(document: dict[str, Any], options: TrainOptions) -> str:
    """A finished training for a person."""
    rows, auc = document["rows"], document["auc"]["held_out"]
    interval = f"{auc['low']:.3f} to {auc['high']:.3f}"
    left_out = [f"  {name}: {reason}" for name, reason in document["left_out"].items()]
    return "\n".join(
        [
            f"Written to {options.out}",
            f"  leads       {rows['leads']:,}, {document['conversion_rate']:.1%} of them converted",
            f"  held out    {rows['held_out']:,}: AUC {auc['value']:.3f} ({interval})",
            f"  top fifth   converts {document['top_lift']:.2f} times as often as all",
            f"  calibration {document['calibration']}",
            "Left out:",
            *left_out,
            f"Check it: npx leadscore model check {options.out / 'bundle'}",
        ]
    )


def _threads(rows: int) -> int:
    if rows < _ONE_THREAD_BELOW:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(prepared: Prepared, search: Search) -> str:
    """The date and a digest of rows and parameters, so that another model has another version."""
    digest = hashlib.sha256(np.ascontiguousarray(prepared.rows).tobytes())
    digest.update(prepared.converted.tobytes())
    digest.update(repr((search.best.parameters, search.best.trees, prepared.featurizer.features)).encode())
    return f"{datetime.now(timezone.utc):%Y.%m.%d}-{digest.hexdigest()[:8]}"
