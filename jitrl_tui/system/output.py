"""What may reach a terminal: text without the characters that a terminal obeys, reorders or hides.

Stories, pages, models, servers, recordings and file names say what they like. `guard` stands between all commands and
stdout and stderr, `jitrl_tui.driver` between all widgets and the screen, so that nothing else has to think of it.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO
from unicodedata import category

_ESCAPED = "jitrl-escaped"
_JOINERS = "\u200c\u200d"
"""Zero-width joiner and non-joiner: Persian, the scripts of India and many emoji need them, and neither moves text."""
_INSTEAD = {"Cc": "", "Cf": "", "Cn": "", "Cs": "\ufffd", "Zl": " ", "Zp": " "}
"""By category, what stands in prose for an unsafe character."""


def unsafe(text: str, kept: str = "") -> set[str]:
    """Return the characters of `text` that are not to reach a terminal.

    These are the Unicode categories Cc (controls), Cf (format: directions, tags, what is invisible; not the joiners),
    Cs (surrogates), Zl and Zp (line and paragraph separators), and what is not assigned among the tags. All else stays:
    private use, and letters and emoji that are newer than this Python's tables.

    Args:
        kept: Characters that are allowed all the same, such as line ends.
    """
    return {c for c in set(text) if not c.isprintable() and c not in kept and _is_unsafe(c)}


def _is_unsafe(character: str) -> bool:
    kind = category(character)
    if kind == "Cn":
        return "\U000e0000" <= character <= "\U000e0fff"
    return kind in _INSTEAD and character not in _JOINERS


def clean(text: str) -> str:
    """Return prose as it is shown: line ends stay, tabs become spaces, what is unsafe is left out or replaced."""
    if text.replace("\n", " ").isprintable():  # nearly all text, and quickly seen
        return text
    if "\t" in text:
        text = text.expandtabs(4)
    found = unsafe(text, "\n")
    return text.translate({ord(c): _INSTEAD[category(c)] for c in found}) if found else text


def one_line(text: str) -> str:
    """Return `clean` text on one line."""
    return text if text.isprintable() else clean(text).replace("\n", " ")


def escaped(text: str) -> str:
    r"""Return `text` with each unsafe character as JSON writes it, such as `\u001b`; line ends and tabs stay.

    Text in JSON means the same before and after.
    """
    if text.replace("\n", " ").isprintable():
        return text
    found = unsafe(text, "\n\t")
    return text.translate({ord(c): _in_json(c) for c in found}) if found else text


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Write what cannot be encoded as JSON does; a handler of errors of `codecs`."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_in_json, error.object[error.start : error.end])), error.end


class SafeStream:
    """A text stream that writes `escaped` text to another one, and is like it in all else.

    Attributes:
        beneath: The other one.
        lost: Whether its terminal has closed.
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        self.lost = False

    def write(self, text: str) -> int:
        """Write."""
        self.draw(escaped(text))
        return len(text)

    def draw(self, text: str) -> None:
        """Write text with escape sequences. If the terminal has closed, this and all that follows goes nowhere."""
        try:
            self.beneath.write(text)
        except OSError as error:
            self._closed(error)

    def flush(self) -> None:
        """Flush."""
        try:
            self.beneath.flush()
        except OSError as error:
            self._closed(error)

    def _closed(self, error: OSError) -> None:
        if error.errno != errno.EIO:
            raise error
        self.lost = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.beneath.fileno())
        os.close(nowhere)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def guard() -> None:
    """Make stdout and stderr safe for the rest of this process, tracebacks included.

    A character that the encoding of a stream does not have is replaced: on a terminal by "?", so that columns stay in
    line, else as in `escaped`, so that JSON stays the same. What is no text on stdin is replaced, too; a closed one
    has no lines.
    """
    codecs.register_error(_ESCAPED, _escape)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if stream is sys.stdin or stream.isatty() else _ESCAPED)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, SafeStream):
            setattr(sys, name, SafeStream(stream))


def beneath(stream: TextIO | SafeStream) -> TextIO:
    """Return the stream that takes escape sequences, for what draws on a terminal itself."""
    return stream.beneath if isinstance(stream, SafeStream) else stream


def rewrite(line: str) -> None:
    """Write a line over the one that stands on stderr, which is a terminal; "" clears it."""
    stream = sys.stderr if isinstance(sys.stderr, SafeStream) else SafeStream(sys.stderr)
    stream.draw(f"\r\x1b[K{one_line(line)}")
    stream.flush()


_silent = False


def silence(quiet: bool) -> None:
    """Say whether `note` prints in this process."""
    global _silent
    _silent = quiet


def note(text: str) -> None:
    """Print a hint or what was done on stderr, unless `--quiet` was given. Warnings and errors are no notes."""
    if not _silent:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
