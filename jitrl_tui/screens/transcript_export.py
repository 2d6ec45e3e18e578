"""The window that asks where a transcript goes."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from engine.session.transcript import FORMATS
from jitrl_tui.exporting import THOUGHTS
from jitrl_tui.screens.dialogs import PickDialog

_MEANINGS = {"txt": "plain text", "md": "Markdown", "html": "a page to share", "json": "for programs"}


class ExportDialog(PickDialog):
    """Asks for the file of a transcript, with or without the agent's reasons. `export_as` takes the answer.

    Args:
        stem: The suggested name, without its ending.
    """

    def __init__(self, stem: str) -> None:
        super().__init__("transcript", "What was read and typed, with the notes, as a file.", "another name or folder")
        self._stem = stem

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return a file for each format; a typed name that has an ending is the only one."""
        name = typed or self._stem
        ending = Path(name).suffix.lstrip(".").lower()
        files = {ending: name} if ending in FORMATS else {form: f"{name}.{form}" for form in FORMATS}
        rows = []
        for form, file in files.items():
            told = f"{_MEANINGS[form]}{_there(file)}"
            rows.append((file, Content(f"  {file}  ({told})")))
            if form in ("md", "html"):
                text = f"  {file}  (with the agent's reasons; {told})"
                rows.append((f"{THOUGHTS} {file}", Content(text)))
        return rows


def _there(file: str) -> str:
    try:
        return ", replaces the file" if Path(file).expanduser().is_file() else ""
    except (OSError, RuntimeError):  # a name too long, or the home of nobody
        return ""
