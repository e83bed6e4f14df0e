"""Array types that signatures share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Waves = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]
