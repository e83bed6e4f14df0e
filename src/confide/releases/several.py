"""Several releases of the same data, and synthetic rows of a released density."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.errors import BudgetExhausted, InvalidInput
from confide.files.paths import counted
from confide.ledger.budget import Ledger
from confide.ledger.costs import MICRO, Cost, charged
from confide.releases.cross_table import CrossTable, rows_of
from confide.releases.query import Query
from confide.releases.release import Progress, Recipe, Release


def quantiles(query: Query, shares: Sequence[float]) -> list[Query]:
    """A query for each of several quantiles, with equal parts of the epsilon of the given one.

    Together they cost no more than the given query does, however many there are. Parts are whole
    millionths, as a ledger counts, which would round each of them up.

    Parameters
    ----------
    query
        A query for a quantile, with the epsilon of all of them together.
    shares
        Shares below the quantiles, each once.

    Examples
    --------
    >>> from confide import Lattice
    >>> one = Query("quantile", Lattice(low=0, high=9), epsilon=1.0, q=0.5)
    >>> [(each.q, each.epsilon) for each in quantiles(one, [0.25, 0.75])]
    [(0.25, 0.5), (0.75, 0.5)]
    """
    for share in shares:
        if shares.count(share) > 1:
            raise InvalidInput("each quantile once", f"q = {share:g} twice")
    part = float(Fraction(repr(query.epsilon)) * 10**MICRO // len(shares)) / 10**MICRO
    return [replace(query, q=share, epsilon=part) for share in shares]


def release_all(
    recipes: Mapping[str, Recipe],
    values: Any,
    ledger: Ledger | None = None,
    *,
    group: tuple[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Release]:
    """Release several recipes of the same values, if the ledger can pay for all that are new.

    Parameters
    ----------
    recipes
        What to release, by the key in the ledger.
    values
        As for `Recipe.release`.
    ledger
        The budget to charge. Without one nothing is recorded.
    group
        As for `Recipe.release`. Groups cost the largest of them, which the ledger alone can tell:
        it may then refuse a release after others were charged.
    progress
        Told the share of the work of each release that is done.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Lattice, Ledger
    >>> from confide.releases import Query
    >>> axis = Lattice(low=0, high=10)
    >>> recipes = {what: Query(what, axis, epsilon=0.5) for what in ("mean", "sum")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/pay.ledger", epsilon=1.0)
    ...     found = release_all(recipes, [3.0] * 1000, ledger)
    ...     sorted(found), ledger.left
    (['mean', 'sum'], Spend(epsilon=0))
    """
    if ledger is None:
        return {key: one.release(values, progress=progress) for key, one in recipes.items()}
    stored = {entry.key for entry in ledger.entries()}
    new = [charged(one.spend).epsilon for key, one in recipes.items() if key not in stored]
    left = Cost.of(ledger.left, math.floor).epsilon
    if len(recipes) > 1 and group is None and sum(new) > left:
        raise BudgetExhausted(
            f"epsilon = {sum(new) / 10**MICRO:g} left for {counted(len(new), 'release')}",
            f"{left / 10**MICRO:.6f} in {ledger.path}",
            "Nothing was charged. Ask for fewer, or with a smaller epsilon.",
        )
    # What the ledger has comes first: it is checked before anything is charged.
    order = sorted(recipes, key=lambda key: key not in stored)
    made = {
        key: recipes[key].release(values, ledger, key, group=group, progress=progress)
        for key in order
    }
    return {key: made[key] for key in recipes}


def release_groups(
    recipe: Recipe,
    values: Any,
    by: Any,
    *,
    groups: Sequence[str | int],
    attribute: str,
    ledger: Ledger | None = None,
    key: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Release | None]:
    """One release for each value of a public attribute, all together for the price of one.

    Parameters
    ----------
    recipe
        What to release of each group.
    values
        As for `Recipe.release`: one for each record, or columns by name.
    by
        The group of each record. A record of any other group than those stated, or of none, is
        refused before anything is charged.
    groups
        All groups that there can be, words or whole numbers, from public knowledge and never from
        the data: a misspelt word in one record would be published as a group of its own.
    attribute
        What the groups are by, such as ``"region"``.
    ledger
        The budget to charge, once for all groups. Without one nothing is recorded.
    key
        A name in the ledger; each group's release is there under ``key/group``.
    progress
        Told the share of the work of each release that is done.

    Returns
    -------
    dict
        A release for each of the stated groups, in their order, and None for a group without
        records: there is nothing to protect and no number to tell, and nothing is charged for it.

    Notes
    -----
    Formal guarantee: every record is in one group, and its value changes the release of that group
    alone, so that all releases together cost what one does (parallel composition). This protects a
    record's value given its group: who is in which group is taken to be public, and the number of
    records of each group is published exactly, as ``n``, and so is that there are none. If it is a
    secret who is in which group, make the group a column of a `CrossTable` instead. Who could
    change group would cost twice as much.

    Examples
    --------
    >>> from confide import Lattice
    >>> pay = Query("mean", Lattice(low=0, high=9), epsilon=1.0)
    >>> regions = ["n", "s", "w"]
    >>> made = release_groups(
    ...     pay, [1.0, 2.0, 8.0], ["n", "n", "s"], groups=regions, attribute="region"
    ... )
    >>> list(made), made["n"].spec["n"], made["w"]
    (['n', 's', 'w'], 2, None)
    """
    if not isinstance(attribute, str) or not attribute:
        raise InvalidInput("the name of a public attribute", _checks.shown(attribute))
    names = _names(groups)
    parts = _parts(values, _places(by, names), list(names.values()))
    keys = {name: f"{key}/{name}" for name in parts}
    if ledger is not None:
        if not isinstance(key, str) or not key:
            raise InvalidInput("a key for the ledger", _checks.shown(key))
        stored = {entry.key for entry in ledger.entries()}
        cost = charged(recipe.spend).epsilon
        left = Cost.of(ledger.left, math.floor).epsilon
        # With so much left no order of charges can fail: together they cost one of them at most.
        if cost > left and not stored.issuperset(keys.values()):
            raise BudgetExhausted(
                f"epsilon = {cost / 10**MICRO:g} left for {counted(len(parts), 'group')}",
                f"{left / 10**MICRO:.6f} in {ledger.path}",
                "Nothing was charged. Take a smaller epsilon.",
            )
    # All are admitted before any is drawn: a group that is refused leaves nothing half done.
    for part in parts.values():
        recipe.admitted(part)
    made = {
        name: recipe.release(
            part,
            ledger,
            None if ledger is None else keys[name],
            group=None if ledger is None else (attribute, name),
            progress=progress,
        )
        for name, part in parts.items()
    }
    return {name: made.get(name) for name in names.values()}


def _names(groups: Any) -> dict[str | int, str]:
    """The names of stated groups, which are words or whole numbers, each once."""
    given = list(groups) if isinstance(groups, (list, tuple)) else []
    kinds = all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in given)
    if not given or not kinds or "" in given:
        raise InvalidInput(
            "all groups that there can be, a list of words or whole numbers",
            _checks.shown(groups) if isinstance(groups, str) else _checks.kind(groups),
            "State them from public knowledge, never from the data.",
        )
    names = {each: str(each) for each in given}
    if len(set(names.values())) < len(given):
        raise InvalidInput("each group once", "one twice")
    return names


def _places(by: Any, names: Mapping[str | int, str]) -> npt.NDArray[np.int64]:
    """Which of the stated groups each record is in, by number."""
    number: dict[Any, int] = {group: at for at, group in enumerate(names)}
    given = _checks.array(by=by)
    if given.ndim != 1:
        raise InvalidInput("a group for each record", f"shape {given.shape}")
    plain = (str, int, float)
    found = [
        number.get(each, -1) if isinstance(each, plain) and not isinstance(each, bool) else -1
        for each in given.tolist()
    ]
    if -1 in found:
        others = found.count(-1)
        raise InvalidInput(
            f"groups among {_checks.shown(list(names))}",
            f"another in row {found.index(-1) + 1}"
            + (f" and in {others - 1:,} more" if others > 1 else ""),
            "Nothing was charged. Mend the rows, or state a group of its own for them, such as "
            "'unknown'.",
        )
    return np.array(found, dtype=np.int64)


def _parts(values: Any, places: npt.NDArray[np.int64], names: Sequence[str]) -> dict[str, Any]:
    """The values of each group that has any."""
    columns = values if isinstance(values, Mapping) else {"": values}
    arrays = {name: _checks.array(values=each) for name, each in columns.items()}
    for each in arrays.values():
        if each.ndim == 0 or len(each) != len(places):
            raise InvalidInput("a group for each record", f"{len(places)} for others")
    if not len(places):
        raise InvalidInput("at least one record", "none")
    found: dict[str, Any] = {}
    for at, name in enumerate(names):
        inside = places == at
        if not inside.any():
            continue
        own = {column: each[inside] for column, each in arrays.items()}
        found[name] = own if isinstance(values, Mapping) else own[""]
    return found


def synthesize(
    release: Release,
    n: int,
    *,
    columns: Sequence[str],
    integers: Sequence[str] = (),
    seed: int | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Synthetic rows of what was released, within its bounds; they cost no further privacy.

    Parameters
    ----------
    release
        A release of a density or of a cross table.
    n
        How many rows.
    columns
        Names of a density's columns; a cross table has its own.
    integers
        Columns to round to whole numbers.
    seed
        For rows that can be drawn again.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Histogram
    >>> made = Histogram(Lattice(low=0, high=9), epsilon=1.0).release([1.0, 7.0] * 100)
    >>> rows = synthesize(made, 5, columns=["age"], integers=["age"])
    >>> rows["age"].dtype, rows["age"].size
    (dtype('int64'), 5)
    """
    n = _checks.integer(1, n=n)
    if release.spec.get("release") == CrossTable.name:
        return rows_of(release, n, integers=integers, seed=seed)
    if release.curve is None:
        raise InvalidInput("the release of a density or of a table", "an answer")
    for name in integers:
        _checks.one_of(tuple(columns), integers=name)
    drawn = release.curve.sample(n, seed=seed).reshape(n, len(columns))
    rows: dict[str, npt.NDArray[Any]] = {name: drawn[:, at] for at, name in enumerate(columns)}
    bounds = release.spec.get("columns")
    if bounds is None:
        return rows
    for at, (name, ends) in enumerate(zip(columns, bounds, strict=True)):
        # Cells of whole numbers reach half a unit beyond the bounds.
        low, high = ends["low"], ends["high"]
        rows[name] = np.clip(drawn[:, at], low, high)
        if name in integers:
            rounded = np.clip(np.rint(drawn[:, at]), math.ceil(low), math.floor(high))
            rows[name] = rounded.astype(np.int64)
    return rows
