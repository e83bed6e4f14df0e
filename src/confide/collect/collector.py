"""Runs a survey: the two services, the writer thread, and the deadline."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import final

from confide.collect import owners, respondents, serving, wire
from confide.collect.invitations import Signer, checked_url
from confide.collect.live import Live
from confide.collect.moving import Moving
from confide.collect.stores import opened
from confide.collect.stores.store import Store, Unavailable
from confide.collect.writer import Writer
from confide.errors import InvalidInput
from confide.questions import Questionnaire

LOG = logging.getLogger("confide")
LOOK = 1.0
"""Seconds between two looks at the clock and at the store, which another process may change."""


@final
@dataclass(frozen=True)
class Addresses:
    """The addresses of a running collector.

    Parameters
    ----------
    page
        The page for respondents, on this machine.
    dashboard
        The owner's dashboard with its secret; empty where there is none.

    Examples
    --------
    >>> Addresses("http://127.0.0.1:8300/", "").page
    'http://127.0.0.1:8300/'
    """

    page: str
    dashboard: str


@final
@dataclass(frozen=True)
class Collector:
    """A survey, a store, and where to serve them.

    Parameters
    ----------
    survey
        What is asked.
    store
        A file, or ``postgresql://...``.
    key
        The key that signs invitations; None for a survey that takes anybody.
    cap
        Limit of answers in a survey without invitations.
    host, port
        Where respondents are served; port 0 takes a free one.
    owner_port
        Where the owner is served, on this machine only; None for nowhere.
    owner_name
        Another name of the owner's service, where a proxy stands in front of it.
    url
        The public address of the page, where a proxy with TLS stands in front of it.

    Examples
    --------
    >>> import queue, tempfile, threading
    >>> from pathlib import Path
    >>> from confide import Survey
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> folder, stop, found = tempfile.TemporaryDirectory(), threading.Event(), queue.SimpleQueue()
    >>> collector = Collector(
    ...     survey, f"{folder.name}/answers.db", None, cap=10, port=0, owner_port=None)
    >>> running = threading.Thread(target=collector.run, kwargs={"ready": found.put, "stop": stop})
    >>> running.start()
    >>> page = found.get(timeout=60).page
    >>> from urllib.request import urlopen
    >>> urlopen(page).status
    200
    >>> stop.set()
    >>> running.join()
    >>> folder.cleanup()
    """

    survey: Questionnaire
    # The address of a database may have a password in it.
    store: str = field(repr=False)
    key: bytes | None = field(repr=False)
    cap: int | None = field(default=None, kw_only=True)
    host: str = field(default="127.0.0.1", kw_only=True)
    port: int = field(default=8300, kw_only=True)
    owner_port: int | None = field(default=8301, kw_only=True)
    owner_name: str | None = field(default=None, kw_only=True)
    url: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.url is not None:
            checked_url(self.url)
        if not _loopback(self.host) and not (self.url or "").startswith("https://"):
            raise InvalidInput(
                "an address on this machine, such as --host 127.0.0.1",
                f"--host {self.host}",
                "Others reach it unencrypted there. If a proxy with TLS stands in front, say so "
                "with --url https://...",
            )
        wire.check_survey(self.survey)
        if (self.key is None) == (self.cap is None):
            raise InvalidInput("either a key for invitations or a cap on answers", "both or none")
        if self.cap is not None and self.survey.asking is not None:
            raise InvalidInput(
                "a survey that asks everybody all questions, where anybody may answer",
                "one that asks some people for a pair"
                if self.survey.relations is not None
                else f"one that asks each person {self.survey.ask} of {len(self.survey.questions)}",
                "Which questions a person is asked is in an invitation: invite people, or take "
                f"{'[relations]' if self.survey.relations else 'ask'} out of the survey.",
            )
        if self.cap is not None and (self.survey.phases or self.survey.rounds) is not None:
            raise InvalidInput(
                "a survey without [phases] and [rounds], where anybody may answer",
                "one with them",
                "In which phase or round a person answers is drawn beforehand: invite people.",
            )

    def run(
        self,
        *,
        ready: Callable[[Addresses], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Serve until SIGTERM, SIGINT or ``stop``; what was acknowledged is on disk."""
        stop = stop or threading.Event()
        with contextlib.ExitStack() as stack:
            writing = stack.enter_context(self._opened(create=self.cap is not None))
            watch = _Watch(stack.enter_context(self._opened()), self.survey)
            writer = Writer(writing)
            stack.callback(writer.stop)
            stack.callback(watch.end)
            watch.start()
            signer = None if self.key is None else Signer(self.key, self.survey)
            reader = wire.Reader(self.survey, signer, watch.second)
            desk = respondents.Desk(reader, writer, watch.closed)
            services = [serving.Service(respondents.app(desk), self.host, self.port)]
            secret = owners.new_secret()
            if self.owner_port is not None:
                live = Live(self.survey, stack.enter_context(self._opened()))
                names = owners.hosts(self.owner_port, self.owner_name)
                office = owners.app(live, secret=secret, hosts=names)
                services.append(serving.Service(office, "127.0.0.1", self.owner_port))

            def told(found: Sequence[str]) -> None:
                page, *others = found
                if ready is not None:
                    ready(Addresses(page, f"{others[0]}#{secret}" if others else ""))

            serving.serve(services, ready=told, stop=stop)

    @contextlib.contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[Store]:
        store = opened(self.store, self.survey, create=create, cap=self.cap)
        try:
            yield store
        finally:
            store.shut()


@final
class _Watch:
    """Starts the second phase and ends the survey at their dates, or after another process did."""

    def __init__(self, store: Store, survey: Questionnaire) -> None:
        self._store, self._closes = store, survey.closes
        self._moving = Moving(store, survey)
        self._closed, self._end = threading.Event(), threading.Event()
        if store.status().closed:
            self._closed.set()
        self._thread = threading.Thread(target=self._run, name="confide watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Look no longer."""
        self._end.set()
        self._thread.join()
        self._moving.end()

    def second(self) -> Questionnaire | None:
        """The survey of the second phase, once it has begun."""
        return self._moving.second()

    def closed(self) -> bool:
        """Whether the survey has ended."""
        return self._closed.is_set() or self._due()

    def _due(self) -> bool:
        return self._closes is not None and datetime.now(UTC) >= self._closes

    def _run(self) -> None:
        trouble = ""
        while True:
            try:
                status = self._store.status()
                if status.closed:
                    self._closed.set()
                if self.closed():
                    # The process that ended it may have failed to wipe it because of a reader.
                    self._store.close()
                    self._closed.set()
                    return
                self._moving.look(status)
            except Unavailable:
                pass  # uploads are told, and it is tried again
            except Exception as error:
                # The deadline must always run, and a message may quote a report.
                if trouble != type(error).__name__:
                    trouble = type(error).__name__
                    LOG.error("Looking at the store failed: %s.", trouble)
            if self._end.wait(LOOK):
                return


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
