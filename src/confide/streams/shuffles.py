"""Finished batches put together: every row at a random place of the whole output.

Each row was dealt to a bucket of its own drawing, and all buckets were equally likely. The rows of
a bucket are put in a uniformly random order here, and the buckets follow each other. So every
order of all rows is equally likely, whatever the batches were, and memory holds a few buckets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from confide.exact.entropy import SystemEntropy
from confide.exact.inversion import permutation
from confide.files import arrow
from confide.streams.batches import Job
from confide.streams.parts import Parts


def tables(job: Job, parts: Parts, processes: int) -> Iterator[Any]:
    """The rows of all finished batches, shuffled unless their order is to be kept."""
    files = [path for _, path in sorted(parts.finished().items())]
    pa = arrow.arrow()

    def bucket(at: int) -> Any:
        rows = pa.Table.from_batches([parts.piece(path, at, job.schema) for path in files])
        order = permutation(SystemEntropy(), rows.num_rows)
        return rows.combine_chunks().take(pa.array(order)).cast(job.written)

    if job.keep_order:
        for path in files:
            yield pa.Table.from_batches([parts.piece(path, 0, job.schema)]).cast(job.written)
        return
    # Numpy and Arrow let threads run at once.
    with ThreadPoolExecutor(processes) as pool:
        ahead: deque[Future[Any]] = deque()
        try:
            for at in range(parts.buckets):
                ahead.append(pool.submit(bucket, at))
                if len(ahead) > processes:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
