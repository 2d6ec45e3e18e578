"""Writes a ZIM archive: `python zim_make.py FILE TITLE`, articles as JSON on stdin (path, title, html).

Runs in the sites' environment, for libzim; imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from libzim.writer import Creator, Hint, Item, StringProvider


class Page(Item):  # type: ignore[misc]
    """One article."""

    def __init__(self, page: dict[str, str]) -> None:
        super().__init__()
        self._page = page

    def get_path(self) -> str:
        """Where it lies."""
        return self._page["path"]

    def get_title(self) -> str:
        """For lists and search."""
        return self._page["title"]

    def get_mimetype(self) -> str:
        """HTML, all of them."""
        return "text/html"

    def get_contentprovider(self) -> Any:
        """The text."""
        return StringProvider(self._page["html"])

    def get_hints(self) -> dict[Any, Any]:
        """Articles people may search for."""
        return {Hint.FRONT_ARTICLE: True}


def main(file: str, title: str) -> None:
    """Write the archive."""
    pages = json.load(sys.stdin)
    creator = Creator(file)
    creator.config_indexing(True, "eng")
    creator.set_mainpath(pages[0]["path"])
    with creator:
        for page in pages:
            creator.add_item(Page(page))
        facts = {"Title": title, "Language": "eng", "Creator": "jitrl", "Publisher": "jitrl", "Name": "varland",
                 "Description": "A country that does not exist", "Date": "2025-01-01"}  # fmt: skip
        for name, value in facts.items():
            creator.add_metadata(name, value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
