"""What to settle before a partition is asked about: the number of cells and the bound of y."""

from __future__ import annotations

import math
from collections.abc import Sequence

from confide import _validate
from confide.accounting import checked_epsilon
from confide.cells import Cells
from confide.mechanisms.partition import MAX_CELLS

DEFAULTS = ("ours", "paper")


def suggest_cells(
    n: int,
    *,
    epsilon: float,
    low: Sequence[float],
    high: Sequence[float],
    classify: bool = False,
    defaults: str = "ours",
) -> Cells:
    """Cells for n respondents: n_eff**(1/(2(d+1))) along each of d axes.

    Parameters
    ----------
    n
        Number of respondents expected.
    epsilon
        Budget of a report.
    low, high
        Public corners of the box.
    classify
        Whether labels are asked for: they carry an eighth of the noise.
    defaults
        ``"ours"`` takes n_eff = n/(1 + 32/epsilon**2), the respondents without noise that would
        tell as much, with 4 in place of 32 for labels; ``"paper"`` takes n_eff = n, whatever the
        noise.

    Examples
    --------
    >>> suggest_cells(1_000_000, epsilon=1.0, low=[0, 0], high=[1, 1]).shape
    (6, 6)
    """
    n, epsilon = _validate.integer(1, n=n), checked_epsilon(epsilon)
    own = _validate.one_of(DEFAULTS, defaults=defaults) == "ours"
    noise = (4 if classify else 32) / epsilon**2
    effective = n / (1 + noise) if own else float(n)
    d = len(low)
    count = max(1, round(effective ** (1 / (2 * (d + 1)))))
    most = int(MAX_CELLS ** (1 / max(d, 1)) + 1e-9)
    return Cells(low=tuple(low), high=tuple(high), shape=(min(count, most),) * d)


def truncation(n: int, *, scale: float) -> float:
    """A bound for responses that have none, growing with n: scale sqrt(2 ln n).

    Theorem 2 of Berrett, Györfi and Walk asks that the bound M grows without end while
    ``(ln n)**3 max(1, (M/epsilon)**2) / (n c**2 h**(2 d))`` goes to 0. With their h and c that is
    ``(ln n)**4 M**2 / n**(1/(d+1))``, and this M meets it. Noise grows in proportion to M, so a
    slow growth is wanted; a Gaussian response of this scale stays inside for all n respondents.

    Parameters
    ----------
    n
        Number of respondents.
    scale
        A public guess of the standard deviation of the response, in its units.

    Examples
    --------
    >>> round(truncation(10_000, scale=1.0), 2)
    4.29
    """
    n = _validate.integer(2, n=n)
    return _validate.positive(scale=scale) * math.sqrt(2 * math.log(n))
