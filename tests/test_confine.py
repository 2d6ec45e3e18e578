"""Confined processes: what they can no longer do. Each test confines a Python process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engine import confine

ROOT = Path(__file__).resolve().parents[1]

PRELUDE = """
import ctypes, json, os, socket, subprocess, sys, threading
from pathlib import Path
from engine import confine
given = json.loads(sys.argv[1])
open_socket = socket.socket()
"""
CONFINE = "confined = confine.confine([os.path.dirname(os.__file__), given['story']], [given['cache']])\n"
TRIES = """
def tried(action):
    try:
        return repr(action())
    except Exception as error:
        return type(error).__name__
def wrote(path):
    path.write_text("x")
    return path.read_text()
kept, cache = Path(given["secret"]), Path(given["cache"])
results = {
    "the story": lambda: Path(given["story"]).read_text(),
    "a file of the cache": lambda: wrote(cache / "new") and os.rename(cache / "new", cache / "old"),
    "a module": lambda: __import__("encodings.cp1252") and "imported",
    "secret": kept.read_text,
    "folder": lambda: os.listdir(kept.parent),
    "system": lambda: open("/etc/passwd").read(),
    "environment of the parent": lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(),
    "own environment": lambda: open("/proc/self/environ", "rb").read(),
    "write": lambda: wrote(kept.parent / "written"),
    "overwrite": lambda: wrote(kept),
    "delete": kept.unlink,
    "move out": lambda: os.rename(cache / "old", kept.parent / "moved"),
    "hard link": lambda: os.link(kept, cache / "link"),
    "symbolic link": lambda: (os.symlink(kept, cache / "alias"), (cache / "alias").read_text()),
    "socket": socket.socket,
    "unix socket": lambda: socket.socket(socket.AF_UNIX),
    "connect": lambda: open_socket.connect(("127.0.0.1", given["port"])),
    "listen": lambda: open_socket.listen(),
    "fork": lambda: os.fork() or os._exit(0),
    "exec": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "program": lambda: subprocess.run(["/bin/true"]),
    "thread": lambda: threading.Thread(target=int).start(),
    "signal": lambda: os.kill(os.getppid(), 0),
}
refused = {name: tried(action) for name, action in results.items()}
print(json.dumps({"tried": refused, "said": str(confined), "landlock": confined.landlock, "seccomp": confined.seccomp}))
"""
GOOD = {"the story": "'once upon a time'", "a file of the cache": "None", "a module": "'imported'"}
BY_LANDLOCK = {
    "secret", "folder", "system", "environment of the parent", "own environment", "write", "overwrite", "delete",
    "move out", "exec", "program",
}  # fmt: skip
BY_SECCOMP = {
    "hard link", "symbolic link", "socket", "unix socket", "connect", "listen", "fork", "exec", "program", "thread",
    "signal",
}  # fmt: skip
REFUSALS = {"PermissionError", "RuntimeError"}
"""The second one is what Python makes of a thread that does not start."""


@pytest.fixture
def places(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("sk-secret")
    (tmp_path / "story").write_text("once upon a time")
    (tmp_path / "cache").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield {
            "secret": str(tmp_path / "home" / "secret"), "story": str(tmp_path / "story"),
            "cache": str(tmp_path / "cache"), "port": server.getsockname()[1], "server": server,
        }  # fmt: skip


def run(places, before: str = "", code: str = TRIES) -> dict:
    given = {name: value for name, value in places.items() if name != "server"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRELUDE + before + CONFINE + code, json.dumps(given)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_without_confinement_all_of_it_works(places):
    # What the other tests find refused is possible here, so they would notice.
    nothing = "confine.confine = lambda read, write: confine.Confinement(False, 0, False)\n"
    harmless = TRIES.replace('"exec": lambda: os.execv', '"exec": lambda: os.fork() or os.execv')
    tried = run(places, nothing, harmless)["tried"]
    assert not {name for name in BY_LANDLOCK | BY_SECCOMP if tried[name] in REFUSALS}
    assert places["server"].accept()


def test_a_confined_process_reads_the_story_keeps_its_cache_and_reaches_nothing_else(places):
    found = run(places)
    if not (found["landlock"] and found["seccomp"]):
        pytest.skip(f"this kernel cannot confine a process fully: {found['said']}")
    tried = found["tried"]
    assert {name: tried[name] for name in GOOD} == GOOD
    others = {name: result for name, result in tried.items() if name not in GOOD}
    assert {name for name, result in others.items() if result not in REFUSALS} == set()
    assert Path(places["secret"]).read_text() == "sk-secret"
    assert [path.name for path in Path(places["secret"]).parent.iterdir()] == ["secret"]
    with pytest.raises(TimeoutError):
        places["server"].accept()


def test_landlock_alone_keeps_files_and_tcp_from_a_process(places):
    found = run(places, "confine._seccomp = lambda libc: False\n")
    if not found["landlock"]:
        pytest.skip("this kernel has no Landlock")
    tried = found["tried"]
    assert {name: tried[name] for name in GOOD} == GOOD
    assert {name for name in BY_LANDLOCK if tried[name] not in REFUSALS} == set()
    assert "no seccomp, so it can start programs" in found["said"]
    if found["landlock"] < 4:
        pytest.skip(f"Landlock ABI {found['landlock']} of this kernel does not limit the network")
    assert tried["connect"] == "PermissionError"
    assert "no network" in found["said"]


def test_seccomp_alone_keeps_the_network_programs_and_signals_from_a_process(places):
    found = run(places, "confine._landlock = lambda *_: 0\n")
    if not found["seccomp"]:
        pytest.skip("this machine has no seccomp filters, or is neither x86_64 nor aarch64")
    assert {name for name in BY_SECCOMP if found["tried"][name] not in REFUSALS} == set()
    assert found["said"].startswith("no Landlock, so it can open files of yours, seccomp, no network")


def test_a_kernel_without_either_changes_nothing_and_it_is_said(places):
    # Numbers of system calls that no kernel has.
    found = run(places, "confine._CREATE_RULESET = 100_000\nconfine._ARCHITECTURES = {}\n", """
print(json.dumps({"said": str(confined), "read": open(given["secret"]).read()}))""")  # fmt: skip
    assert found["read"] == "sk-secret"
    assert found["said"] == (
        "no Landlock, so it can open files of yours, no seccomp, so it can start programs, network not cut off, "
        "no new privileges"
    )


def test_unknown_new_system_calls_look_missing_and_known_ones_forbidden(places):
    found = run(places, "", """
libc = ctypes.CDLL(None, use_errno=True)
numbers = {}
for name, number in (("new", 460), ("io_uring_setup", 425), ("clone3", 435)):
    numbers[name] = (libc.syscall(number, 0, 0, 0), ctypes.get_errno())
print(json.dumps({"numbers": numbers, "seccomp": confined.seccomp}))""")  # fmt: skip
    if not found["seccomp"]:
        pytest.skip("this machine has no seccomp filters, or is neither x86_64 nor aarch64")
    assert found["numbers"] == {"new": [-1, 38], "io_uring_setup": [-1, 1], "clone3": [-1, 1]}


@pytest.mark.parametrize(("machine", "read"), [("x86_64", 0), ("aarch64", 63)])
def test_filters_of_both_machines_allow_reading_and_nothing_that_is_not_listed(machine, read):
    program = confine._program(machine)
    architecture = confine._ARCHITECTURES[machine][0]
    column = list(confine._ARCHITECTURES).index(machine)
    listed = {numbers[column] for numbers in confine._CALLS.values()} - {None}
    allowed = {call for call in range(600) if evaluate(program, architecture, call) == confine._ALLOW}
    assert read in allowed
    assert allowed == listed
    assert evaluate(program, architecture ^ 1, read) == confine._KILL
    assert evaluate(program, architecture, read | 0x40000000) == confine._REFUSE


def evaluate(program: bytes, architecture: int, call: int) -> int:
    """Run a filter as a kernel does, on the number of a call and the architecture."""
    import struct

    data = {0: call, 4: architecture}
    instructions = list(struct.iter_unpack("=HBBI", program))
    at, value = 0, 0
    while True:
        code, then, otherwise, constant = instructions[at]
        at += 1
        if code == 0x06:
            return constant
        if code == 0x20:
            value = data[constant]
            continue
        holds = {0x15: value == constant, 0x25: value > constant, 0x35: value >= constant}[code]
        at += then if holds else otherwise


def test_an_environment_that_is_cleaned_has_no_keys():
    given = {
        "OPENAI_API_KEY": "sk-1", "AWS_SESSION_TOKEN": "t", "HTTPS_PROXY": "http://me:pw@proxy", "HOME": "/home/me",
        "LC_TIME": "de_DE.UTF-8", "PYTHONPATH": "/lib", "ALFWORLD_DATA": "/data", "LD_PRELOAD": "/x.so",
    }  # fmt: skip
    kept = {name: given[name] for name in ("HOME", "LC_TIME", "PYTHONPATH")}
    assert confine.clean(given) == kept
    assert confine.clean(given, ("ALFWORLD_DATA",)) == {**kept, "ALFWORLD_DATA": "/data"}
