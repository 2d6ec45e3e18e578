"""Says where a page of the documentation is, for messages: on its site, or as a file that is installed with jitrl."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE / "docs", HERE.parent / "docs")
"""Of an installed package, and of a checkout."""


def page(name: str) -> str:
    """Return the address of a page on the site that the package names as its documentation, else its file.

    Args:
        name: Its path in `docs` without `.md`, such as `scale` or `results/web`.
    """
    try:
        named = dict(entry.split(", ", 1) for entry in metadata("jitrl").get_all("Project-URL") or ())
    except PackageNotFoundError:
        named = {}
    if site := named.get("Documentation"):
        return f"{site.rstrip('/')}/{name}.html"
    found = next((folder for folder in FOLDERS if (folder / f"{name}.md").is_file()), FOLDERS[-1])
    return str(found / f"{name}.md")
