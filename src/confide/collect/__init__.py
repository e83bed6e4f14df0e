"""Collecting reports over the network: invitations, the service, and a client.

`Client` is a respondent's device and needs numpy alone. The service needs the extra ``serve``, and
a PostgreSQL store the extra ``postgres``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from confide.errors import EXTRAS, extra

if TYPE_CHECKING:
    from confide.collect.client import Client, Unacknowledged
    from confide.collect.collector import Addresses, Collector
    from confide.collect.exports import export
    from confide.collect.invitations import Signer, key_file
    from confide.collect.people import People, invite
    from confide.collect.stores import opened
    from confide.collect.stores.store import Store, Unavailable
    from confide.collect.verification import Verification, verify
    from confide.collect.wire import Refused

_HOMES = {
    "Addresses": "collector",
    "Client": "client",
    "Collector": "collector",
    "People": "people",
    "Refused": "wire",
    "Signer": "invitations",
    "Store": "stores.store",
    "Unacknowledged": "client",
    "Unavailable": "stores.store",
    "Verification": "verification",
    "export": "exports",
    "invite": "people",
    "key_file": "invitations",
    "opened": "stores",
    "verify": "verification",
}
"""The module of each public name; imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'confide.collect' has no attribute {name!r}")
    if _HOMES[name] == "collector":
        for module in EXTRAS["serve"]:
            extra(module, "serve")
    found = getattr(importlib.import_module(f"confide.collect.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"})


__all__ = [
    "Addresses",
    "Client",
    "Collector",
    "People",
    "Refused",
    "Signer",
    "Store",
    "Unacknowledged",
    "Unavailable",
    "Verification",
    "export",
    "invite",
    "key_file",
    "opened",
    "verify",
]
