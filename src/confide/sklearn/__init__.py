"""Estimators with scikit-learn's interface, which privatize inside ``fit``.

After ``fit`` the object holds summaries of noisy reports and what was estimated from them, and no
raw value but a response that was declared public. ``random_state=None`` draws from the operating
system's entropy; an integer simulates, repeatably, and is not private: ``spend_`` then says so.

**Every fit spends again.** A grid search or a cross-validation fits many times, each with new
reports of the same rows: a row that is in k of the fits has spent k times epsilon in the end, and
``spend_`` tells of one fit alone. Choose settings on made-up data, or with an integer
``random_state`` on data that need no protection.

Budget and bounds have no default, because they depend on what was promised to people and on the
units of the data; they are never taken from the data. Values beyond their bounds count as the
bounds, and with several features a row beyond them counts in no cell. ``fit`` warns if most values
of a feature, or most responses, lie beyond. That warning is for the holder of the data: it quotes
no value, and no epsilon covers it.
"""

from __future__ import annotations

from confide.errors import extra

extra("sklearn", "sklearn")

from confide.sklearn.estimators import PrivateClassifier, PrivateKDE, PrivateRegressor  # noqa: E402

__all__ = ["PrivateClassifier", "PrivateKDE", "PrivateRegressor"]
