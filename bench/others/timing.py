"""What every peer's script shares: it times its job and tells the result on stdout."""

import json
import time
from importlib.metadata import version


def best(job, rounds=3):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def tell(package, seconds, error=None):
    print(json.dumps({"seconds": seconds, "version": version(package), "error": error}))
