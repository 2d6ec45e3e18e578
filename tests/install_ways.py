"""Installs jitrl in every way on every Python here, and plays The Pantry in each: `make install-ways`.

The ways: a checkout with `make`, `uv tool install` of the wheel, and `pip install` of the wheel in an environment. It
prints a line for each with the time and the size of the installation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
WAYS = ("make", "uv", "pip")
UNWANTED = ("spacy", "llm", "llama_cpp")
PLAY = ("run", "pantry", "--episodes", "1", "--steps", "3", "--quiet")


def python_of(version: str) -> str | None:
    """Return the path of a Python of this version: on the PATH, or one of pyenv's."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-V"], capture_output=True).returncode == 0:
        return found
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(pyenv[-1]) if pyenv else None


def install(way: str, python: str, wheel: Path, place: Path) -> tuple[Path, Path]:
    """Install in one way; return the command `jitrl` and the folder of the installation."""
    uv = shutil.which("uv") or str(Path(sys.prefix, "bin", "uv"))
    if way == "make":
        run("git", "clone", "--quiet", str(ROOT), str(place))
        run("make", "-C", str(place), ".venv/.installed-play", f"PYTHON={python}")
        return place / ".venv/bin/jitrl", place / ".venv"
    if way == "uv":
        os.environ |= {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
        run(uv, "tool", "install", "--quiet", "--python", python, str(wheel))
        return place / "bin/jitrl", place / "tools"
    run(python, "-m", "venv", str(place))
    run(str(place / "bin/pip"), "install", "--quiet", str(wheel))
    return place / "bin/jitrl", place


def run(*command: str) -> None:
    """Run a command; end with what it printed if it fails."""
    done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main() -> int:
    """Try each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--versions", nargs="*", default=VERSIONS)
    parser.add_argument("--wheel", type=Path, help="instead of the one in dist/")
    args = parser.parse_args()
    wheel = (args.wheel or max((ROOT / "dist").glob("jitrl-*.whl"), key=lambda file: file.stat().st_mtime)).resolve()
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.0f} MB", flush=True)
    for version in args.versions:
        python = python_of(version)
        for way in args.ways if python else ():
            with tempfile.TemporaryDirectory(prefix="jitrl-way-") as folder:
                started = time.monotonic()
                jitrl, place = install(way, python, wheel, Path(folder, "place"))
                took = time.monotonic() - started
                run(str(jitrl), "--saves", str(Path(folder, "saves")), *PLAY)
                there = [name for name in UNWANTED if next(place.rglob(f"site-packages/{name}"), None)]
                size = int(subprocess.check_output(["du", "-sm", str(place)]).split()[0])
                print(f"{way:<5} Python {version}: {took:.0f} s, {size} MB, an episode of Pantry played", flush=True)
                if there:
                    sys.exit(f"{way} on Python {version} installed {', '.join(there)}")
        if python is None:
            print(f"no Python {version} is here")
    return 0


if __name__ == "__main__":
    sys.exit(main())
