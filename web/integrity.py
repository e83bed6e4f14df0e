"""Writes the hashes of a page's files into its index.html: ``make web``.

Browsers then refuse a file that is not the one that was shipped. The hash of the entry script does
not cover what it imports, so the import map has a hash for every other module; it also has those of
the texts, which the page checks when it loads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from confide.collect import static

PAGES = {"page": ("page", "device"), "owner": ("owner", "pictures")}
"""The folders that are served together, by the folder of their index.html."""
HASHED = (".js", ".json")
"""Endings of what the import map lists."""
TAG = re.compile(r'(?P<before>(?:src|href)="\./(?P<name>[^"]+)" integrity=")[^"]*(?=")')
MAP = re.compile(r'(?<=<script type="importmap">).*?(?=</script>)', re.DOTALL)


def stamped(html: str, files: Mapping[str, static.File]) -> str:
    """A page with the hashes of these files, by their path on the server."""
    tagged = {f"/{tag['name']}" for tag in TAG.finditer(html)}
    hashes = {
        f".{path}": file.integrity
        for path, file in sorted(files.items())
        if path.endswith(HASHED) and path not in tagged
    }
    imports = json.dumps({"integrity": hashes}, indent=0)
    html = MAP.sub(lambda _: imports, html)
    return TAG.sub(lambda tag: tag["before"] + files[f"/{tag['name']}"].integrity, html)


def main() -> None:
    """Write the hashes into every page."""
    for folder, served in PAGES.items():
        path = static.root() / folder / "index.html"
        path.write_text(stamped(path.read_text("utf-8"), static.page(*served)), "utf-8")


if __name__ == "__main__":
    main()
