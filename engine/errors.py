"""Exceptions with messages for people: what happened, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class JitrlError(Exception):
    """Base class of all errors that are shown to people.

    The message says what happened and where; then, after "; ", what can be done, if something particular can.

    Attributes:
        exit_code: Exit status of a command.
        remedy: What can be done about errors of this class, in a sentence.
    """

    exit_code = 1
    remedy = "Start jitrl again; what was stored is intact."


class UsageError(JitrlError):
    """The request is wrong: an unknown name, a number out of range, a bad setting."""

    exit_code = 2
    remedy = "Correct the request; `jitrl COMMAND --help` lists what can be given."


class MissingError(JitrlError):
    """Something outside this program is missing: a model, a key, the network, a browser, a compiler."""

    exit_code = 3
    remedy = "Install or set what is missing; `jitrl doctor` lists it with the commands."


class GameError(JitrlError):
    """A story, its interpreter, the browser or a local web site cannot be loaded, crashed or hung."""

    remedy = "Begin a new episode or start jitrl again; `jitrl games verify GAME` checks a story."


class BadFile(JitrlError):
    """A file is damaged, of another format, or of a newer version. It is not changed."""

    remedy = "Use a copy of the file; `jitrl memory verify` and `jitrl memory recover` help with memory."


class StorageError(JitrlError):
    """Writing failed (a full disk, missing permissions). What was stored before is intact."""

    remedy = "Free some space or correct the permissions, then go on; `--saves DIR` chooses another folder."


class EstimatorError(JitrlError):
    """The estimator of values failed with what is in memory."""

    remedy = (
        "`jitrl memory forget --undo` puts back what was forgotten last (on the memory screen: U), "
        "`jitrl memory correct SCOPE --entry N --as-stored` takes an edit back."
    )


class ModelError(JitrlError):
    """A language model gave no usable answer.

    Attributes:
        fatal: Whether further calls are useless until a person acts (wrong key, no quota, unknown model).
    """

    remedy = "Try again later or take another model; `jitrl doctor --model NAME` tests one."

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class TooLong(ModelError):
    """The prompt does not fit into the model's context. A shorter one may."""


class FailingAs:
    """Says in one sentence why an operation on files failed: `with FailingAs(StorageError, f"cannot write {path}"):`.

    An `OSError` inside becomes "cannot write saves/x: No space left on device".

    Args:
        kind: The error that is raised in place of it.
        what: What cannot be done, and where.
        then: What becomes of it, or what can be done; after "; ".
    """

    def __init__(self, kind: type[JitrlError], what: str, then: str = "") -> None:
        self._kind = kind
        self._what = what
        self._then = then

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the error of jitrl in place of one of the operating system."""
        if isinstance(error, OSError):
            then = f"; {self._then}" if self._then else ""
            raise self._kind(f"{self._what}: {error.strerror or error}{then}") from None


def cause_and_remedy(message: str, kind: str = "") -> tuple[str, str]:
    """Return what happened and what can be done about it, from the message of an error.

    Args:
        message: The message. What follows the first "; " is what can be done.
        kind: Name of the error's class. If the message says no remedy, that of the class is returned.
    """
    cause, _, remedy = message.partition("; ")
    known = globals().get(kind)
    if not remedy and isinstance(known, type) and issubclass(known, JitrlError):
        remedy = known.remedy
    return cause, remedy


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the most similar known name, as the end of a sentence; "" if none is similar."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=0.5) if len(name) < 100 else []
    return f" (did you mean {found[0]!r}?)" if found else ""
