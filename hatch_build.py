"""Writes the name of the commit into the packages that are built, and the README as a package index can show it."""

from __future__ import annotations

import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Commit(BuildHookInterface):
    """Adds the file that `engine/commit.py` reads. An editable install asks git."""

    folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file, unless this is a source package that has it."""
        root = Path(self.root)
        found = runpy.run_path(str(root / "engine" / "commit.py"))
        place = f"engine/{found['FILE']}"
        name = found["commit"](root)
        if version == "editable" or not name or (root / place).is_file():
            return
        self.folder = tempfile.TemporaryDirectory()
        written = Path(self.folder.name, found["FILE"])
        written.write_text(f"{name}\n", encoding="utf-8")
        build_data["force_include"][str(written)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was only needed for the build."""
        if self.folder is not None:
            self.folder.cleanup()


class Readme(MetadataHookInterface):
    """Gives the README of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take the README with links that lead somewhere from a package index, too."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository", "")
        metadata["readme"] = {"content-type": "text/markdown", "text": from_elsewhere(text, repository)}


def from_elsewhere(text: str, repository: str) -> str:
    """Return Markdown whose links into the repository are addresses; without its address, what they say.

    Args:
        text: Markdown with links such as `[words](docs/page.md)` and pictures such as `![words](docs/picture.png)`.
        repository: Address of the repository, or "".
    """
    local = r"\[([^\]]*)\]\((?!https?:)([^)]+)\)"
    if not repository:
        return re.sub(rf"!{local}\n*", "", re.sub(rf"(?<!!){local}", r"\1", text))
    base = repository.rstrip("/")
    text = re.sub(rf"!{local}", rf"![\1]({base}/raw/HEAD/\2)", text)
    return re.sub(rf"(?<!!){local}", rf"[\1]({base}/blob/HEAD/\2)", text)
