"""Confines a process that runs code we do not trust, such as an interpreter that reads any story file.

Four means of Linux are used, each where the kernel has it:

- The environment of the child holds only what Python needs (`clean`), so no keys.
- PR_SET_NO_NEW_PRIVS: no program that it starts can gain privileges.
- Landlock (Linux 5.13): only named files can be opened. From ABI 4 on also no TCP, from ABI 6 on no signals to other
  processes and no abstract Unix sockets.
- A seccomp filter (x86_64 and aarch64): only the system calls that a computation with files needs. There are no
  sockets, processes, programs or threads.

A confined process stays confined, and so does whatever it starts. It keeps the descriptors that it has open. The
module needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_KEPT = frozenset({
    "PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME",
    "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUTF8", "PYTHONNOUSERSITE",
})  # fmt: skip
"""Environment variables that an interpreter of Python may need to start and to find its modules; LC_* as well."""

_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of Landlock's system calls, the same on every architecture."""
_RULE_BENEATH = 1
_FILES_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Accesses to files that each ABI of Landlock can refuse, from that version on."""
_WRITE_FILE, _READ_FILE, _READ_FOLDER, _REMOVE_FILE, _MAKE_FILE = 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 8
_TRUNCATE = 1 << 14
_ON_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE
"""Accesses that a rule for a file may have; all others are for folders."""
_TCP = 0b11
_SCOPED = 0b11

_FILTER_ALL_THREADS = 1
_SECCOMP_FILTER = 1
_ARCHITECTURES = {"x86_64": (0xC000003E, 317), "aarch64": (0xC00000B7, 277)}
"""Machine to its number in a filter, and the number of the system call `seccomp`."""
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
"""Results of a filter: run the call, fail with EPERM, fail with ENOSYS, end the process."""
_NEWEST_CALL = 450
"""Calls with a higher number fail with ENOSYS, so that C libraries fall back to those that they used before."""
_X32 = 0x40000000
_CALLS = {
    # files; which of them can be opened is for Landlock to say
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "open": (2, None), "openat": (257, 56), "close": (3, 57), "lseek": (8, 62),
    "stat": (4, None), "lstat": (6, None), "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getcwd": (79, 17), "getdents64": (217, 61), "fcntl": (72, 25), "dup": (32, 23),
    "fsync": (74, 82), "fdatasync": (75, 83), "ftruncate": (77, 46), "fallocate": (285, 47), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "unlink": (87, None), "unlinkat": (263, 35),
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "brk": (12, 214), "futex": (202, 98), "rseq": (334, 293),
    # a socket that is open already, and waiting
    "sendto": (44, 206), "recvfrom": (45, 207), "shutdown": (48, 210), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72),
    # time, and signals to itself
    "time": (201, None), "gettimeofday": (96, 169), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "getitimer": (36, 102), "setitimer": (38, 103),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    # about itself and the machine
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrusage": (98, 165), "sysinfo": (99, 179), "uname": (63, 160),
    "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""System calls that a confined process may use: their numbers on x86_64 and on aarch64."""


@dataclass(frozen=True)
class Confinement:
    """What is in force for a process.

    Attributes:
        no_new_privileges: Whether programs that it starts can gain no privileges.
        landlock: Landlock's ABI, 0 if the kernel has none.
        seccomp: Whether a filter limits its system calls.
    """

    no_new_privileges: bool
    landlock: int
    seccomp: bool

    @property
    def complete(self) -> bool:
        """Whether all of it is in force."""
        return self.no_new_privileges and self.landlock > 0 and self.seccomp

    def __str__(self) -> str:
        """Name what is in force, and what is not."""
        offline = self.seccomp or self.landlock >= 4
        return ", ".join([
            f"Landlock ABI {self.landlock}" if self.landlock else "no Landlock, so it can open files of yours",
            "seccomp" if self.seccomp else "no seccomp, so it can start programs",
            "no network" if offline else "network not cut off",
            "no new privileges" if self.no_new_privileges else "new privileges possible",
        ])  # fmt: skip


def clean(variables: Mapping[str, str], further: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment for a child process: what Python needs, and variables with the `further` names."""
    names = _KEPT.union(further)
    return {name: value for name, value in variables.items() if name in names or name.startswith("LC_")}


def no_new_privileges() -> bool:
    """Keep this process and all that it starts from gaining privileges; return whether that is in force."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_SET_NO_NEW_PRIVS, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0)))) == 0


def lower(kind: int, most: int) -> bool:
    """Lower a limit of `resource` for this process, for good; one that is lower already stays.

    Returns:
        Whether that is in force. macOS refuses to limit the memory.
    """
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(kind, (most, most))
    except (OSError, ValueError):
        return False
    return True


def confine(read: Iterable[str], write: Iterable[str] = ()) -> Confinement:
    """Confine this process for good, as far as the kernel can.

    Args:
        read: Files that can be read, and folders with all that is in them.
        write: Folders in which files can be made, read, written, renamed and removed.

    Returns:
        What is in force. What the kernel does not have is left out, without an error.
    """
    if not no_new_privileges():  # without it, the kernel refuses both others
        return Confinement(False, 0, False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    landlock = _landlock(libc, read, write)
    return Confinement(True, landlock, _seccomp(libc))


def _landlock(libc: ctypes.CDLL, read: Iterable[str], write: Iterable[str]) -> int:
    """Limit files and the network with Landlock; return the ABI that is in force, 0 for none."""
    abi = int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    if abi < 1:
        return 0
    files = next(rights for since, rights in reversed(_FILES_BY_ABI.items()) if abi >= since)
    handled = struct.pack("=Q", files)
    handled += struct.pack("=Q", _TCP) if abi >= 4 else b""
    handled += struct.pack("=Q", _SCOPED) if abi >= 6 else b""
    ruleset = int(libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0))
    if ruleset < 0:
        return 0
    try:
        reading = _READ_FILE | _READ_FOLDER
        writing = reading | _WRITE_FILE | _MAKE_FILE | _REMOVE_FILE | _TRUNCATE
        for paths, rights in ((read, reading), (write, writing)):
            for path in paths:
                _permit(libc, ruleset, path, rights & files)
        return abi if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _permit(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a file or a folder. A path that is not there gets none, and cannot be opened later either."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights = rights if os.path.isdir(path) else rights & _ON_FILES
            libc.syscall(_ADD_RULE, ruleset, _RULE_BENEATH, struct.pack("=Qi", rights, place), 0)
        finally:
            os.close(place)


def _seccomp(libc: ctypes.CDLL) -> bool:
    """Limit system calls to `_CALLS`, in all threads; return whether that is in force."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES or sys.maxsize < 2**32:
        return False
    number = _ARCHITECTURES[machine][1]
    program = _program(machine)
    # struct sock_fprog: how many instructions, and where they are
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    return int(libc.syscall(number, _SECCOMP_FILTER, _FILTER_ALL_THREADS, head)) == 0


def _program(machine: str) -> bytes:
    """Return the filter for a machine: instructions of classic BPF on the architecture and number of a call."""
    column = list(_ARCHITECTURES).index(machine)
    allowed = sorted(number for numbers in _CALLS.values() if (number := numbers[column]) is not None)
    load, equal, greater, at_least, result = 0x20, 0x15, 0x25, 0x35, 0x06
    count = len(allowed)

    def instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("=HBBI", code, then, otherwise, value)

    return b"".join([
        instruction(load, 4),  # the architecture
        instruction(equal, _ARCHITECTURES[machine][0], 1, 0),
        instruction(result, _KILL),
        instruction(load, 0),  # the number of the call
        instruction(at_least, _X32, count + 1, 0),
        *(instruction(equal, number, count - at + 1, 0) for at, number in enumerate(allowed)),
        instruction(greater, _NEWEST_CALL, 2, 0),
        instruction(result, _REFUSE),
        instruction(result, _ALLOW),
        instruction(result, _UNKNOWN),
    ])  # fmt: skip
