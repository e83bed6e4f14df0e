"""Changes that no test can notice, by their keys, each with the reason."""

from __future__ import annotations

NOTES: dict[str, str] = {}
