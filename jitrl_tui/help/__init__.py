"""The pages of help."""

from __future__ import annotations

from importlib.resources import files


def page(name: str) -> str:
    """Return a page's Markdown."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def pane_page(name: str) -> str:
    """Return the page of a pane of this project, "" if it has none."""
    file = files(__name__).joinpath(f"pane_{name}.md")
    return file.read_text(encoding="utf-8") if file.is_file() else ""
