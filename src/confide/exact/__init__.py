"""Exact draws from fair random words, in integers from beginning to end."""

from __future__ import annotations
