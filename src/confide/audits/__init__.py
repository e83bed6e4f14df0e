"""Checks of privacy claims, for the mechanisms and releases here and for other code.

Each check is a function that returns a `Finding`: what was claimed, what was proved, what was
found, and what the check cannot see. `exact`, `grid` and `index` carry a claim; `goodness`,
`sampled` and `joint` guard the code that really runs, and prove nothing when they pass. The list of
them is in `confide.audits.layers`.
"""

from __future__ import annotations

from confide.audits.attacks import sampled
from confide.audits.findings import ClaimDisplay, Finding
from confide.audits.fits import goodness
from confide.audits.grids import grid
from confide.audits.indices import index
from confide.audits.joints import joint
from confide.audits.losses import exact
from confide.audits.surveys import SurveyAudit, survey

__all__ = [
    "ClaimDisplay",
    "Finding",
    "SurveyAudit",
    "exact",
    "goodness",
    "grid",
    "index",
    "joint",
    "sampled",
    "survey",
]
