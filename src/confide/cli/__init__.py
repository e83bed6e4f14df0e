"""The command line: verbs that parse, call and print."""

from __future__ import annotations
