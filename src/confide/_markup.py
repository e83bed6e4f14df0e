"""HTML that escapes everything except HTML made here."""

from __future__ import annotations

import html
from collections.abc import Iterable

VOID = frozenset({"line", "path", "rect", "meta", "br", "hr"})
"""Elements without anything inside."""


class Html(str):
    """Text that is HTML. All other text is escaped where it is put inside of an element."""

    __slots__ = ()


def plain(text: str) -> Html:
    """Untrusted text as plain text; invisible characters are spelled out.

    Letters that turn the direction of the text around would let a label rewrite what stands beside
    it, and are spelt out with the others.
    """
    seen = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    return Html(html.escape(seen, quote=True))


def el(tag: str, *inner: str, **keys: str | float | None) -> Html:
    """An element.

    Parameters
    ----------
    tag
        Its name.
    *inner
        What is inside: elements, and text that is escaped.
    **keys
        Its attributes; None leaves one out, and an underscore at the end of a name is cut off.

    Examples
    --------
    >>> el("p", "a < b", el("b", "!"), class_="note")
    '<p class="note">a &lt; b<b>!</b></p>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{plain(str(value))}"'
        for key, value in keys.items()
        if value is not None
    )
    if tag in VOID and not inner:
        return Html(f"<{tag}{told}/>" if tag in ("line", "path", "rect") else f"<{tag}{told}>")
    return Html(f"<{tag}{told}>{join(inner)}</{tag}>")


def join(parts: Iterable[str]) -> Html:
    """Elements and text one after the other."""
    return Html("".join(part if isinstance(part, Html) else plain(part) for part in parts))
