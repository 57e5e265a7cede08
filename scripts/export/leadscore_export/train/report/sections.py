"""The sections of a report, from the figures of a training."""

from __future__ import annotations

import shlex
from html import escape
from typing import Any

from leadscore_export.train.report.charts import bar_chart, line_chart, share_bar
from leadscore_export.train.report.figures import Figures
from leadscore_export.train.report.page import facts, listed, page, paragraph, section, table

_COUNTS = {
    "rows": "rows of the file",
    "leads": "leads with a known outcome",
    "trained": "trained",
    "held_out": "held out",
    "apart": "left out of both parts, because equal rows are in the other one",
    "without_outcome": "rows without a readable outcome",
    "open": "open leads",
    "undated": "without a readable date",
    "converted_before": "converted before their date",
    "before_since": "older than the first date that counts",
    "immature": "younger than the horizon",
    "beyond_most": "more than one training takes",
    "unnamed": "without an outcome",
    "without_fields": "scored by a version without one of the fields",
}


def report_page(document: dict[str, Any], figures: Figures, command: list[str] | None) -> str:
    """The report as HTML. `document`: training.json. `command`: Repeats it, None if nothing does."""
    return page(
        f"{document['name']} {document['version']}",
        [
            _result(document),
            _left_out(document),
            _fields(document),
            _ranking(figures),
            *([_selection(document["selection"])] if "selection" in document else []),
            *([_by_month(figures)] if figures.months else []),
            _reasons(figures),
            _model(document, command),
        ],
    )


def _result(document: dict[str, Any]) -> str:
    rows, auc = document["rows"], document["auc"]["held_out"]
    return (
        paragraph(
            "A model was trained on past leads, and measured on the held-out ones, which it has not seen.",
            "soft",
        )
        + facts(
            [
                ("leads", f"{rows['leads']:,}"),
                ("converted", f"{document['conversion_rate']:.1%}"),
                (f"AUC of {rows['held_out']:,} held-out leads", f"{auc['value']:.3f}"),
                ("95 % interval", f"{auc['low']:.3f} to {auc['high']:.3f}"),
                ("lift of the top fifth", f"{document['top_lift']:.2f}"),
            ]
        )
        + paragraph(
            f"Calibration: {document['calibration']}. AUC out of fold: {document['auc']['out_of_fold']:.3f}."
        )
        + listed(document["notes"])
    )


def _left_out(document: dict[str, Any]) -> str:
    counts = [
        (text, f"{document['rows'][key]:,}") for key, text in _COUNTS.items() if document["rows"].get(key)
    ]
    return section(
        "Leads and columns",
        table(["Leads", "Number "], counts),
        "<h3>Columns that train nothing</h3>",
        table(["Column", "Reason"], list(document["left_out"].items()))
        if document["left_out"]
        else paragraph("None: each column trains.", "soft"),
    )


def _fields(document: dict[str, Any]) -> str:
    # A phone has no room for an empty column.
    is_suspicious = any(rank["suspect"] for rank in document["ranks"])
    ranks = [
        (
            rank["field"],
            f"{rank['auc']:.3f}",
            share_bar((rank["auc"] - 0.5) * 2),
            f"{max(0.0, rank['r2']):.3f}",
            f"{rank['filled_won']:.0%}",
            f"{rank['filled_lost']:.0%}",
            *([rank["suspect"] or ""] if is_suspicious else []),
        )
        for rank in document["ranks"]
    ]
    suspect = ["Suspect"] if is_suspicious else []
    warning = (
        "The cells are those of the first call, before the outcome."
        if "selection" in document
        else "A field that was filled in after the outcome ranks too well. Read the list: only a person "
        "knows when a field is filled in."
    )
    return section(
        "Fields alone",
        paragraph(f"How well each field ranks leads alone. {warning}", "soft"),
        table(["Field", "AUC ", "", "R² ", "filled, won ", "filled, lost ", *suspect], ranks, drawn=(2,)),
    )


def _ranking(figures: Figures) -> str:
    steps = len(figures.gain) - 1
    gain = [(index / steps, share) for index, share in enumerate(figures.gain)]
    bands = [(band.name, band.converted / max(1, band.leads), band.low, band.high) for band in figures.bands]
    most = max([0.01, *(max(tenth.likelihood, tenth.converted) for tenth in figures.tenths)])
    return section(
        "Held-out leads",
        "<h3>Gain</h3>",
        paragraph("The share of all conversions among the leads with the highest scores.", "soft"),
        line_chart(
            "Gain",
            gain,
            x_title="share of the leads, highest scores first",
            y_title="conversions",
            diagonal=True,
        ),
        "<h3>Conversion by score</h3>",
        bar_chart("Conversion by score", bands, x_title="score", y_title="converted"),
        table(
            ["Score", "Leads ", "Converted ", "Rate ", "95 % interval "],
            [
                (
                    band.name,
                    f"{band.leads:,}",
                    f"{band.converted:,}",
                    f"{band.converted / band.leads:.1%}" if band.leads else "",
                    f"{band.low:.1%} to {band.high:.1%}" if band.leads else "",
                )
                for band in figures.bands
            ],
        ),
        "<h3>Calibration</h3>",
        paragraph(
            "On the dashed line, as many leads convert as the likelihood says. A point is a tenth.", "soft"
        ),
        line_chart(
            "Calibration",
            [(tenth.likelihood, tenth.converted) for tenth in figures.tenths],
            x_title="likelihood",
            y_title="converted",
            largest=(most, most),
            diagonal=True,
        ),
    )


def _selection(selection: dict[str, Any]) -> str:
    auc = selection["auc"]
    bands = [
        (
            band["scores"],
            f"{band['leads']:,}",
            "" if band["named"] is None else f"{band['named']:.0%}",
            f"{band['converted']:,}",
            "" if band["median_days"] is None else f"{band['median_days']:g}",
        )
        for band in selection["bands"]
    ]
    return section(
        "Earlier scores",
        paragraph(selection["warning"], "warn"),
        table(["Earlier score", "Leads ", "With an outcome ", "Converted ", "Median days "], bands),
        paragraph(
            f"AUC on the same {auc['leads']:,} held-out leads: {auc['earlier']:.3f} of the earlier scores, "
            f"{auc['new']['value']:.3f} ({auc['new']['low']:.3f} to {auc['new']['high']:.3f}) of this model."
        ),
    )


def _by_month(figures: Figures) -> str:
    months = figures.months
    last = max(1, len(months) - 1)
    return section(
        "Held-out leads by month",
        line_chart(
            "Conversion by month",
            [(float(index), month.rate) for index, month in enumerate(months)],
            x_title="month",
            y_title="converted",
            largest=(float(last), max(0.01, *(month.rate for month in months))),
            x_names=[month.month for month in months],
        )
        if len(months) > 1
        else "",
        table(
            ["Month", "Leads ", "Rate ", "AUC "],
            [
                (
                    month.month,
                    f"{month.leads:,}",
                    f"{month.rate:.1%}",
                    "" if month.auc is None else f"{month.auc:.3f}",
                )
                for month in months
            ],
        ),
    )


def _reasons(figures: Figures) -> str:
    most = max([1e-9, *(share for _, share in figures.contributions)])
    fields = [(field, f"{share:.3f}", share_bar(share / most)) for field, share in figures.contributions]
    examples = [
        (
            example.score,
            f"{example.likelihood:.1%}",
            "yes" if example.converted else "no",
            ", ".join(f"{field} ({share:+.2f})" for field, share in example.reasons),
        )
        for example in figures.examples
    ]
    return section(
        "Reasons",
        paragraph("The mean size of each field's contribution to the log-odds. It is no cause.", "soft"),
        table(["Field", "Mean ", ""], fields, drawn=(2,)),
        "<h3>Examples</h3>",
        table(["Score ", "Likelihood ", "Converted", "Strongest fields"], examples),
    )


def _model(document: dict[str, Any], command: list[str] | None) -> str:
    best = document["parameters"]
    candidates = [
        (
            f"✓ {each['leaves']}" if each == best else each["leaves"],
            each["rows_a_leaf"],
            f"{each['columns']:.0%}",
            f"{each['l2']:g}",
            each["trees"],
            f"{each['auc']:.4f}",
            f"{each['error']:.4f}",
        )
        for each in document["candidates"]
    ]
    left = len(document["not_tried"])
    return section(
        "Model",
        paragraph(
            f"Boosted trees, chosen by cross-validation on {document['search_rows']:,} trained leads. The "
            "chosen ones have the mark ✓.",
            "soft",
        ),
        table(["Leaves ", "Rows a leaf ", "Columns ", "L2 ", "Trees ", "AUC ", "Error "], candidates),
        paragraph(f"The time of the search ended before {left} further candidates.", "warn") if left else "",
        "" if command is None else f"<h3>To repeat it</h3><pre>{escape(shlex.join(command))}</pre>",
    )
