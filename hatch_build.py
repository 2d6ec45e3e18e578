"""What is made when a package is built: the name of the commit, and the pages of the docs for `jitrl help PAGE`."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    """Adds files to the wheel and the source package. An editable install reads both from the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to add."""
        if version == "editable":
            return
        root = Path(self.root)
        found = runpy.run_path(str(root / "engine" / "commit.py"))
        name = found["commit"](root)
        if name and not (root / "engine" / found["FILE"]).is_file():
            self.folder = tempfile.TemporaryDirectory()
            written = Path(self.folder.name) / found["FILE"]
            written.write_text(f"{name}\n", encoding="utf-8")
            build_data["force_include"][str(written)] = f"engine/{found['FILE']}"
        if self.target_name == "wheel":
            for page in sorted((root / "docs").rglob("*.md")):
                build_data["force_include"][str(page)] = f"jitrl_tui/docs/{page.relative_to(root / 'docs')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was only needed for the build."""
        if hasattr(self, "folder"):
            self.folder.cleanup()
