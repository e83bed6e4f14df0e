"""A process of low priority beside the service, for work that takes long."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess

from confide.errors import ConfideWarning

PATIENCE = 5
"""How much the process lets others go first."""


def aside() -> ProcessPoolExecutor:
    """One such process, which ends with its parent however that ends."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_settle)


def end(pool: Executor, number: Future[int]) -> None:
    """Stop such a process without waiting for its work.

    Parameters
    ----------
    pool
        The process.
    number
        Its number, from ``pool.submit(os.getpid)``.
    """
    pool.shutdown(wait=False, cancel_futures=True)
    number.add_done_callback(_terminate)


def _terminate(number: Future[int]) -> None:
    if not number.cancelled() and number.exception() is None:
        # Of a process that has ended already, the number may be another's by now.
        for child in multiprocessing.active_children():
            if child.pid == number.result():
                child.terminate()


def _settle() -> None:
    """Prepare the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Implausible counts are reported in the results.
    warnings.simplefilter("ignore", ConfideWarning)
    if hasattr(os, "nice"):
        os.nice(PATIENCE)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
