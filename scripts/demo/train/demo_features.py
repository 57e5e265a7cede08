"""The `features` of the demo model's manifest, column by column."""

from __future__ import annotations

from typing import Any

from leadscore_export.featurizer.feature_types import column_count

MISSING_TOKENS = ["unknown", "?", "not disclosed"]
RECENCY = {"field": "Last Activity Date", "max_age_days": 90, "future_tolerance_days": 1}

_SOURCES = [
    "Website", "Organic Search", "Paid Search", "Webinar", "Referral", "Partner", "Trade Show",
    "Cold Outreach",
]
_SOURCE_ALIASES = {
    "Web": "Website", "Web Form": "Website", "Organic": "Organic Search", "SEO": "Organic Search",
    "Google Ads": "Paid Search", "SEM": "Paid Search", "PPC": "Paid Search", "Referred": "Referral",
    "Word of Mouth": "Referral", "Tradeshow": "Trade Show", "Event": "Trade Show",
}
_INDUSTRIES = [
    "Software", "Financial Services", "Manufacturing", "Healthcare", "Retail", "Logistics", "Education",
    "Public Sector",
]
_INDUSTRY_ALIASES = {
    "SaaS": "Software", "Information Technology": "Software", "Banking": "Financial Services",
    "Finance": "Financial Services", "Health Care": "Healthcare", "Medical": "Healthcare",
}
_COUNTRIES = [
    "United States", "United Kingdom", "Germany", "France", "Netherlands", "Canada", "Australia", "India",
]
_COUNTRY_ALIASES = {
    "USA": "United States", "US": "United States", "U.S.": "United States",
    "United States of America": "United States", "UK": "United Kingdom", "Great Britain": "United Kingdom",
    "Deutschland": "Germany", "DE": "Germany", "The Netherlands": "Netherlands", "Holland": "Netherlands",
}
_SENIORITIES = ["Individual Contributor", "Manager", "Director", "VP", "C-Level"]
_SENIORITY_ALIASES = {
    "IC": "Individual Contributor", "Staff": "Individual Contributor", "Head of": "Director",
    "Dir.": "Director", "Vice President": "VP", "V.P.": "VP", "C-Suite": "C-Level", "CEO": "C-Level",
    "Owner": "C-Level",
}
_SOLUTIONS = ["None", "Spreadsheet", "Competitor", "In-house"]
_SOLUTION_ALIASES = {"Excel": "Spreadsheet", "Spreadsheets": "Spreadsheet", "Rival": "Competitor"}
_PRODUCTS = ["Analytics", "Lead Routing", "CRM Sync", "Email Automation", "Forecasting", "Data Enrichment"]


def _onehot(field: str, label: str, categories: list[str], **more: Any) -> dict[str, Any]:
    return {
        "field": field, "label": label, "type": "category", "encoding": "onehot",
        "categories": categories, **more,
    }


def demo_features() -> tuple[list[dict[str, Any]], int]:
    """The features with columns assigned in order, and the number of columns.

    `other_column` and `missing_column` are True below and are replaced by column numbers here.
    """
    features: list[dict[str, Any]] = [
        _onehot("Lead Source", "Lead source", _SOURCES, category_aliases=_SOURCE_ALIASES,
                aliases=["source", "Original Source"], other_column=True, missing_column=True),
        _onehot("Industry", "Industry", _INDUSTRIES, category_aliases=_INDUSTRY_ALIASES, aliases=["sector"],
                other_column=True, missing_column=True),
        _onehot("Country", "Country", _COUNTRIES, category_aliases=_COUNTRY_ALIASES,
                aliases=["country or region", "Billing Country"], other_column=True, missing_column=True),
        {"field": "Seniority", "label": "Job seniority", "type": "category", "encoding": "ordinal",
         "categories": _SENIORITIES, "category_aliases": _SENIORITY_ALIASES, "aliases": ["job level"],
         "other_value": -1, "impute": 1, "missing_column": True},
        _onehot("Current Solution", "Current solution", _SOLUTIONS, category_aliases=_SOLUTION_ALIASES,
                other_column=True, missing_column=True),
        {"field": "Products of Interest", "label": "Products of interest", "type": "multi",
         "categories": _PRODUCTS, "separator": ";", "aliases": ["products"]},
        {"field": "Number of Employees", "label": "Employees", "type": "number",
         "aliases": ["employees", "headcount", "Company Size"]},
        {"field": "Annual Revenue", "label": "Annual revenue", "type": "number", "missing_column": True,
         "aliases": ["revenue", "Yearly Revenue"]},
        {"field": "Created Date", "label": "Lead age", "type": "date", "date_order": "mdy", "impute": 45,
         "aliases": ["create date", "Created At"]},
        {"field": "Last Activity Date", "label": "Days since last activity", "type": "date",
         "date_order": "mdy", "missing_column": True, "aliases": ["last activity", "Last Touch"]},
        {"field": "Website Visits (30d)", "label": "Website visits in 30 days", "type": "number",
         "aliases": ["website visits", "visits"]},
        {"field": "Pages Per Visit", "label": "Pages per visit", "type": "number", "impute": 0,
         "aliases": ["page views per visit"]},
        {"field": "Email Opens", "label": "E-mails opened", "type": "number", "impute": 0,
         "missing_column": True, "aliases": ["opens"]},
        {"field": "Email Click Rate", "label": "E-mail click rate", "type": "number", "unit": "fraction",
         "aliases": ["click rate", "CTR"]},
        {"field": "Email Opt Out", "label": "Opted out of e-mail", "type": "boolean",
         "aliases": ["unsubscribed", "Has Opted Out Of Email"]},
        {"field": "Demo Requested", "label": "Asked for a demo", "type": "boolean", "impute": 0,
         "missing_column": True, "aliases": ["requested demo"]},
    ]
    width = 0
    for feature in features:
        count = column_count(feature)
        feature["columns"] = list(range(width, width + count))
        width += count
        for extra in ("other_column", "missing_column"):
            if extra in feature:
                feature[extra] = width
                width += 1
    return features, width
