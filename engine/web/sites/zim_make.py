"""Writes a ZIM archive: `python zim_make.py FILE TITLE`, with articles as JSON on stdin (path, title, html).

It runs in the sites' environment, which has libzim, and imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from libzim.writer import Creator, Hint, Item, StringProvider


class ZimArticle(Item):  # type: ignore[misc]
    """One article."""

    def __init__(self, page: dict[str, str]) -> None:
        super().__init__()
        self._page = page

    def get_path(self) -> str:
        """Return the path in the archive."""
        return self._page["path"]

    def get_title(self) -> str:
        """Return the title for lists and search."""
        return self._page["title"]

    def get_mimetype(self) -> str:
        """Return the type, which is HTML for all articles."""
        return "text/html"

    def get_contentprovider(self) -> Any:
        """Return the article's HTML."""
        return StringProvider(self._page["html"])

    def get_hints(self) -> dict[Any, Any]:
        """Return the hint that the article can be searched for."""
        return {Hint.FRONT_ARTICLE: True}


def main(file: str, title: str) -> None:
    """Write the archive."""
    pages = json.load(sys.stdin)
    creator = Creator(file)
    creator.config_indexing(True, "eng")
    creator.set_mainpath(pages[0]["path"])
    with creator:
        for page in pages:
            creator.add_item(ZimArticle(page))
        facts = {"Title": title, "Language": "eng", "Creator": "jitrl", "Publisher": "jitrl", "Name": "varland",
                 "Description": "A country that does not exist", "Date": "2025-01-01"}  # fmt: skip
        for name, value in facts.items():
            creator.add_metadata(name, value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
