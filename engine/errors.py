"""What can go wrong, in sentences for people: what happened, where, and what to do."""

from __future__ import annotations


class JitrlError(Exception):
    """Base of every error meant to be shown. `exit_code` is what a command ends with."""

    exit_code = 1


class UsageError(JitrlError):
    """The request itself cannot be right: an unknown name, a number out of range, a bad setting."""

    exit_code = 2


class MissingError(JitrlError):
    """Something outside is missing: a model, a key, the network, a browser, a compiler."""

    exit_code = 3


class GameError(JitrlError):
    """A story cannot be loaded, or its interpreter crashed or hung."""


class BadFile(JitrlError):
    """A file of ours is damaged, foreign, or from a newer version. It is left as it is."""


class StorageError(JitrlError):
    """Writing failed (a full disk, missing rights). What was stored before is intact."""


class ModelError(JitrlError):
    """A language model gave no usable answer.

    Attributes:
        fatal: Going on is pointless until a person acts (wrong key, quota, unknown model).
    """

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class TooLong(ModelError):
    """The prompt does not fit into the model's context. A shorter one may."""
