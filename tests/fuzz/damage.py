"""What can happen to a file or to a document, at random."""

from __future__ import annotations

import copy
import random
from typing import Any

# Values that somebody might find, or put, where another was meant.
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308,
    -1e308, 5e-324, 1e-9, "", "nan", "refuse", "laplace", "joint", "counts", "x" * 5000, "\0",
    "\ud800", "a\nb", [], [[]], [1], [None], ["x", "x"], [[1], [1, 2]], {}, {"a": 1}, {"": None},
)  # fmt: skip
TOKENS = (
    b"nan", b"inf", b"-1", b"1e999", b"null", b"\0", b"\xff", b'"', b"'", b"[", b"]", b"{", b"}",
    b",", b"\n", b"\r", b"\n\n", b";", b"=", b"#", b"9" * 400, b"[" * 2000, b"\xef\xbb\xbf",
    "٣".encode(), b"\xed\xa0\x80", b"PAR1", b"PK\x03\x04", b"SQLite format 3\0",
)  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, repeated or put in."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(result) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 64, 512))
        kind = rng.randrange(7)
        if kind == 0 and at < len(result):
            result[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            result[at : at + length] = rng.randbytes(len(result[at : at + length]))
        elif kind == 2:
            del result[at : at + length]
        elif kind == 3:
            result[at:at] = rng.choice(TOKENS)
        elif kind == 4:
            result[at:at] = result[at : at + length]
        elif kind == 5:
            other = rng.randrange(len(result) + 1)
            result[at : at + length] = result[other : other + length]
        elif rng.random() < 0.3:
            del result[at:]
    return bytes(result)


def exchanged(document: Any, rng: random.Random) -> Any:
    """A document in which one key or value, at any depth, is another."""
    result = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not isinstance(result, (dict, list)) or not result:
            return rng.choice(HOSTILE)
        node = result
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = rng.choice(keys)
            inner = node[key]
            if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.2:
                break
            node = inner
        kind = rng.randrange(5)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node, dict):
            node[rng.choice(("n", "x", "", "epsilon", "counts", "low"))] = rng.choice(HOSTILE)
        elif kind == 1:
            node.append(rng.choice(HOSTILE))
        elif kind == 2 and type(inner) in (int, float) and abs(inner) < 2**64:
            node[key] = rng.choice((inner + 1, -inner, inner * 1000, inner * 0.5, str(inner)))
        else:
            node[key] = copy.deepcopy(rng.choice(HOSTILE))
    return result
