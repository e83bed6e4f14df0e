"""The files of the pages, exactly as they are shipped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import final

from confide.errors import InvalidInput

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""What is served, by the ending of its name."""
INLINE = re.compile(rb"<script type=\"importmap\">(.*?)</script>", re.DOTALL)


@final
@dataclass(frozen=True)
class File:
    """One file of a page."""

    data: bytes
    kind: str

    @property
    def integrity(self) -> str:
        """Its hash, as browsers write it."""
        return _hashed(self.data)


def root() -> Path:
    """The folder of all pages: in the installed package, or in a checkout beside its source."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "web", here.parents[3] / "web"):
        if (folder / "device" / "device.js").is_file():
            return folder
    raise InvalidInput(
        "the files of the pages beside the package", "none", "Install confide again."
    )


@cache
def page(*folders: str) -> Mapping[str, File]:
    """All files of some folders below the root, by their path on the server.

    ``index.html`` is the page itself, at ``/``.
    """
    found = {}
    for folder in folders:
        for path in sorted((root() / folder).rglob("*")):
            inside = path.relative_to(root() / folder)
            if path.suffix in KINDS and not ({"test", "node_modules"} & set(inside.parts)):
                if path.name in ("package.json", "package-lock.json", "tsconfig.json"):
                    continue
                name = "" if inside.name == "index.html" else inside.as_posix()
                found[f"/{name}"] = File(path.read_bytes(), KINDS[path.suffix])
    return found


def import_map_hash(html: bytes) -> str | None:
    """The hash of the one inline script of a page, its import map; None where it has none."""
    inline = INLINE.search(html)
    return None if inline is None else _hashed(inline[1])


def _hashed(data: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


def headers(inline: str | None) -> dict[str, str]:
    """Headers of every response: no outside content, no caching, no referrer."""
    scripts = "'self'" + (f" '{inline}'" if inline else "")
    policy = {
        "default-src": "'none'",
        "script-src": scripts,
        "style-src": "'self'",
        "img-src": "'self' blob: data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return {
        "content-security-policy": "; ".join(f"{key} {value}" for key, value in policy.items()),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }
