"""One BLAS thread for problems that are many and small."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(solve: Callable[P, R]) -> Callable[P, R]:
    """Keep a solver's linear algebra on the calling thread.

    A fit makes thousands of small products. To wake another thread for each takes many times as
    long as the product, the more so on a busy machine.
    """

    @wraps(solve)
    def solved(*args: P.args, **kwargs: P.kwargs) -> R:
        with LIMIT:
            return solve(*args, **kwargs)

    return solved


class _Limit:
    """BLAS counts threads for the whole process, so the first solver sets and the last resets."""

    def __init__(self) -> None:
        self.lock, self.inside, self.held = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.held.enter_context(_libraries().limit(limits=1, user_api="blas"))
            self.inside += 1

    def __exit__(self, *what: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.held.close()


LIMIT = _Limit()


@cache
def _libraries() -> ThreadpoolController:
    # To look for them takes as long as many a problem, and solvers use those of numpy only.
    return ThreadpoolController()
