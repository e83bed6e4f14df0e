"""Estimators with scikit-learn's interface, which privatise inside ``fit``.

After ``fit`` the object holds summaries of noisy reports and what was estimated from them, and no
raw value but a response that was declared public. Bounds are parameters and never taken from the
data. ``random_state=None`` draws from the operating system's entropy; an integer simulates,
repeatably, and is not private: ``spend_`` then says so.
"""

from __future__ import annotations

from confide.errors import extra

extra("sklearn", "sklearn")

from confide.sklearn.density import PrivateKDE  # noqa: E402
from confide.sklearn.supervised import PrivateClassifier, PrivateRegressor  # noqa: E402

__all__ = ["PrivateClassifier", "PrivateKDE", "PrivateRegressor"]
