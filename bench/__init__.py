"""Speed as ratios: against a peer or a physical limit measured in the same run."""

import os

# The page says one thread, and BLAS asks for their number when numpy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
