"""The pages of help."""

from __future__ import annotations

from importlib.resources import files


def page(name: str) -> str:
    """Return a page's Markdown."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
