"""From a CSV of past leads to a bundle, cell by cell as in a notebook (`# %%` marks the cells).

From the project's folder, after `npm run build`, these commands install what this file imports, make a table,
run this file and check the bundle:

    pip install ./scripts/export -r scripts/export/examples/requirements.txt
    node dist/scripts/demo/write-leads.js --seed 3 --count 4000 --now 2026-11-20T00:00:00Z --out leads.csv
    python scripts/export/examples/train_and_export.py leads.csv 2026-11-20T00:00:00Z my-bundle
    npx leadscore model check my-bundle
"""

# %% The input file, the time of scoring, and the folder of the bundle
from __future__ import annotations

import sys

import lightgbm
import numpy as np
import pandas as pd

from leadscore_export import Boolean, Category, Date, Featurizer, Multi, Number, export_bundle, infer_features

leads_file, now, bundle = sys.argv[1:4]

# %% The table: a row is a lead as it was at `now`, and its outcome. Nothing else may have become known later.
# Empty cells stay empty texts, because pandas would take the category "None" for a missing value.
leads = pd.read_csv(leads_file, keep_default_na=False)
converted = leads.pop("converted").to_numpy()
print(f"{len(leads):,} leads, {converted.mean():.1%} of them converted")

# %% A proposal of features to review: the likely type of each field, and the fields that become no feature
proposal = infer_features(leads, missing_tokens=["unknown", "?", "not disclosed"], now=now)
for feature in proposal.features:
    print(feature)
for field, reason in proposal.skipped.items():
    print(f"skipped: {field}: {reason}")
print(f"probably missing: {proposal.missing_tokens or 'none'}, {proposal.sentinels or 'none'}")

# %% The features, written by a person who knows the fields. A proposal cannot know that "Web" is "Website",
# that seniority has an order, or that "None" is a solution. It knows no other names of fields, and no shares.
featurizer = Featurizer(
    [
        Category(
            "Lead Source",
            [
                "Website",
                "Organic Search",
                "Paid Search",
                "Webinar",
                "Referral",
                "Partner",
                "Trade Show",
                "Cold Outreach",
            ],
            aliases=["source", "Original Source"],
            category_aliases={
                "Web": "Website",
                "Web Form": "Website",
                "SEO": "Organic Search",
                "SEM": "Paid Search",
            },
            other_column=True,
            missing_column=True,
        ),
        Category(
            "Seniority",
            ["Individual Contributor", "Manager", "Director", "VP", "C-Level"],
            encoding="ordinal",
            label="Job seniority",
            category_aliases={"IC": "Individual Contributor", "Dir.": "Director", "Vice President": "VP"},
            other_value=-1,
            impute=1,
            missing_column=True,
        ),
        Category("Current Solution", ["None", "Spreadsheet", "Competitor", "In-house"], other_column=True),
        Multi(
            "Products of Interest",
            ["Analytics", "Lead Routing", "CRM Sync", "Email Automation", "Forecasting"],
        ),
        Number("Number of Employees", label="Employees", aliases=["headcount"]),
        Number("Annual Revenue", aliases=["revenue"]),
        Number("Website Visits (30d)", label="Website visits in 30 days"),
        Number("Email Click Rate", unit="fraction", aliases=["CTR"]),
        Boolean("Demo Requested", label="Asked for a demo", impute=0, missing_column=True),
        Date("Created Date", label="Lead age", date_order="mdy", impute=45),
        Date("Last Activity Date", label="Days since last activity", date_order="mdy"),
    ],
    missing_tokens=["unknown", "?", "not disclosed"],
)

# %% The rows, as the service will make them. A fifth of the leads is held out
rows = featurizer.rows(leads, now).astype(np.float32)
order = np.random.default_rng(11).permutation(len(rows))
held_out, training = order[: len(rows) // 5], order[len(rows) // 5 :]

# %% The model
model = lightgbm.LGBMClassifier(
    n_estimators=120,
    learning_rate=0.05,
    num_leaves=12,
    min_child_samples=40,
    random_state=1,
    n_jobs=1,
    verbose=-1,
)
model.fit(rows[training], converted[training])

# %% The bundle
report = export_bundle(
    model,
    featurizer,
    bundle,
    name="Lead conversion",
    version="2026.11.0",
    X=rows[training],
    y=converted[training],
    holdout=(rows[held_out], converted[held_out]),
    golden_records=leads.iloc[held_out],
    now=now,
    trained_at=now,
    horizon_days=90,
    recency="Last Activity Date",
)
print(report)
