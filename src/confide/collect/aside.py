"""A process beside the service for what takes long, which lets others go first."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess

from confide.errors import ConfideWarning

PATIENCE = 5
"""How much the process lets others go first."""


def aside() -> ProcessPoolExecutor:
    """One such process, which ends with its parent however that ends."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_settle)


def _settle() -> None:
    """Prepare the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Implausible counts are told in the results.
    warnings.simplefilter("ignore", ConfideWarning)
    if hasattr(os, "nice"):
        os.nice(PATIENCE)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
