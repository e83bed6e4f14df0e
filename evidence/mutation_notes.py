"""Changes that no test can notice, by their keys, each with the reason."""

from __future__ import annotations

NOTES: dict[str, str] = {
    "5395a53517ee": "The name under which a thread keeps its own set: any will do.",
    "3eb5effb4ced": "Only the exponent of the unit is used to round.",
    "111f0a9f9b5f": "The line before has cut everything but NaN, which fails both comparisons.",
    "519f8915d1e4": "The wording of an error.",
    "23bdbab79ea4": "Any number far above every epsilon will do.",
    "390ded04219b": "How many cells are worked on at once: the result is the same.",
    "6ea434aa5df8": "How many cells are worked on at once: the result is the same.",
    "b4b868c0b0d8": "So many cells are refused that the quotient is never below 1.",
}
