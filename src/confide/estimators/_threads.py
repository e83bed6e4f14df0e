"""One BLAS thread for problems that are many and small."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
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
        with _libraries().limit(limits=1, user_api="blas"):
            return solve(*args, **kwargs)

    return solved


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
