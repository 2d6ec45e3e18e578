"""Exceptions with messages for people: what happened, where, and what to do."""

from __future__ import annotations


class JitrlError(Exception):
    """Base class of all errors that are shown to people. `exit_code` is the exit status of a command."""

    exit_code = 1


class UsageError(JitrlError):
    """The request is wrong: an unknown name, a number out of range, a bad setting."""

    exit_code = 2


class MissingError(JitrlError):
    """Something outside this program is missing: a model, a key, the network, a browser, a compiler."""

    exit_code = 3


class GameError(JitrlError):
    """A story, its interpreter, the browser or a local web site cannot be loaded, crashed or hung."""


class BadFile(JitrlError):
    """A file is damaged, of another format, or of a newer version. It is not changed."""


class StorageError(JitrlError):
    """Writing failed (a full disk, missing permissions). What was stored before is intact."""


class ModelError(JitrlError):
    """A language model gave no usable answer.

    Attributes:
        fatal: Whether further calls are useless until a person acts (wrong key, no quota, unknown model).
    """

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class TooLong(ModelError):
    """The prompt does not fit into the model's context. A shorter one may."""
