"""Vector reports of a partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.errors import InvalidInput

if TYPE_CHECKING:
    from confide.mechanisms.partition import Partition

Small = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class CellReports:
    """Vector reports and the partition that made them.

    Parameters
    ----------
    values
        Integers of shape (respondents, 2, cells): W and Z; (respondents, 1, cells) for labels.
    mechanism
        How they were made.
    simulated
        Whether they were drawn from a seed.
    """

    values: Small
    mechanism: Partition
    simulated: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.simulated, bool):
            raise InvalidInput("simulated=True or False", _validate.shown(self.simulated))
        if getattr(self.mechanism, "name", None) != "partition":
            raise InvalidInput("a Partition", _validate.shown(self.mechanism))
        array = _validate.array(values=self.values)
        if array.dtype.kind not in "iu":
            raise InvalidInput("whole numbers as reports", f"an array of type {array.dtype}")
        tail = (self.mechanism.rows, self.mechanism.cells.size)
        if array.ndim != 3 or array.shape[1:] != tail:
            raise InvalidInput(f"reports of shape {('n', *tail)}", f"shape {array.shape}")
        levels = self.mechanism.levels
        ends = [(-levels, levels)] if tail[0] == 1 else [(0, 1), (-levels, levels)]
        for row, (low, high) in enumerate(ends):
            part = array[:, row]
            if part.size and not (part.min() >= low and part.max() <= high):
                raise InvalidInput(
                    f"reports from {low} to {high}",
                    "others",
                    "They are not reports of this partition.",
                )
        # A copy of its own, so that what was checked stays as it was.
        kept = np.array(array, dtype=np.int8)
        kept.flags.writeable = False
        object.__setattr__(self, "values", kept)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<{len(self)} {kind} reports of {self.mechanism!r}>"
