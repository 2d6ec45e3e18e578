"""The characters of a story: between Unicode, the Z-machine's codes (ZSCII), and the bytes of Jericho's interpreter.

Jericho's interpreter takes and prints Latin-1. ZSCII has 97 codes (155 to 251) for characters outside ASCII. Which ones
they are says a standard table, or a table in the story file (Z-Machine Standards Document 1.1, 3.8.5). Characters of
such a table that Latin-1 lacks would be printed as "?". So the interpreter is given the story with other characters in
the table, ones of Latin-1 that the story does not use. They are replaced in what it prints and in what it is told.
"""

from __future__ import annotations

import functools
import re
import unicodedata

STANDARD = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"
"""The characters of ZSCII 155 and following, where a story has no table of its own."""
LONGEST = 190
"""Characters of a command. The interpreter has room for 198 bytes, and cuts longer ones in the middle."""
_FIRST = 155
_CAPITALS = [code for code in range(0xC0, 0xDF) if code != 0xD7]
"""The interpreter makes other bytes of these where they are typed."""
_FREE = [0xA4, *(code for code in range(0xA1, 0x100) if code not in _CAPITALS and code != 0xA4)]
_SPELT = {
    "œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-",
}  # fmt: skip
"""What is typed for a character that a story does not take, besides letters without their accents."""
_LIGATURES = re.compile(
    rb"\x14\xc6[\x70-\x77\xf0-\xf7]|[\x00\x04\x08-\x7c]\xa6[\x1b\x9b][\x80-\xbf]"
    rb"|[\x05\x25\x45\x65\x85\xa5\xc5\xe5][\x18\x98][\xdc\xdd]",
    re.DOTALL,
)
"""How ZSCII 220 and 221 look in packed text, at each of the three places of a word.

They are the ligatures of o and e in the standard table. The interpreter prints both as "?", and there is no table to
change. In a story that has them, a "?" directly before a letter is one of them: after a question comes a space.
"""
_LOST = re.compile(r"\?(?=[^\W\d_])")


def as_typed(text: str) -> str:
    """Return a line as a person can type it: spaces as such, no control or other unprintable characters."""
    shown = (c for c in unicodedata.normalize("NFC", text) if c.isprintable() or c.isspace())
    return " ".join("".join(shown).split())


def table_of(data: bytes) -> tuple[int, str]:
    """Return where a story file's own table begins, 0 if it has none, and the characters of ZSCII 155 and following."""
    extension = _word(data, 0x36) if data[0] >= 5 else 0
    table = _word(data, extension + 6) if extension and _word(data, extension) >= 3 else 0
    count = min(data[table], 97) if 64 <= table < len(data) else 0
    if not count or table + 1 + 2 * count > len(data):
        return 0, STANDARD
    return table, "".join(_character(_word(data, table + 1 + 2 * number)) for number in range(count))


class Characters:
    """The characters of one story.

    Args:
        data: The story file.

    Attributes:
        escape: The byte before four hexadecimal digits, by which a character is printed that no table has; 0 if none is
            free.
    """

    def __init__(self, data: bytes) -> None:
        at, self._table = table_of(data)
        own = {ord(c) for c in self._table if ord(c) < 0x100}
        free = [code for code in _FREE if code not in own]
        capital = [code for code in _CAPITALS if code not in own]
        self._bytes = {chr(code): code for code in range(0x20, 0x7F)} | {chr(code): code for code in own}
        foreign = [c for c in dict.fromkeys(self._table) if ord(c) > 0xFF] if at else []
        self.escape = free.pop(0) if free else 0
        for c in sorted(foreign, key=lambda c: c != c.lower()):  # small letters are typed, so they come first
            pool = capital or free if c != c.lower() else free or capital
            if pool:
                self._bytes[c] = pool.pop(0)
        self._packed = b"" if at else data
        self._shown = {code: c for c, code in self._bytes.items() if ord(c) != code}
        escaped = re.escape(chr(self.escape))
        self._escaped = re.compile(f"{escaped}([0-9A-F]{{4}})") if self.escape else None
        self.data = self._changed(data, at) if self._shown else data
        """The story file as the interpreter is given it."""

    def encode(self, text: str) -> bytes:
        """Return a typed line as the interpreter takes it.

        What the story has no code for is spelt in letters that it has, without accents if need be; else it is "?".
        """
        if text.isascii():
            return text.encode()
        return b"".join(self._byte(c) for c in unicodedata.normalize("NFC", text))[:LONGEST]

    def decode(self, printed: bytes) -> str:
        """Return what the interpreter printed."""
        text = printed.decode("latin-1")
        if _LOST.search(text) and self._ligatures:
            text = _LOST.sub(_ligature, text)
        if text.isascii():
            return text
        if self._escaped is not None and chr(self.escape) in text:
            text = self._escaped.sub(lambda found: _character(int(found.group(1), 16)), text)
        return text.translate(self._shown) if self._shown else text

    @functools.cached_property
    def _ligatures(self) -> bool:
        """Whether the story has ligatures. Few texts ask for it, and looking at a whole file takes long."""
        return _LIGATURES.search(self._packed) is not None

    def printed(self, code: int) -> bytes:
        """Return the bytes by which the interpreter prints a Unicode character that is in no text of the file."""
        byte = self._bytes.get(chr(code))
        if byte is not None:
            return bytes([byte])
        if code < 0x100 and code not in self._shown and code != self.escape:
            return bytes([code])
        return b"%c%04X" % (self.escape, code) if self.escape else b"?"

    def _byte(self, c: str) -> bytes:
        small = c.lower()
        byte = self._bytes.get(c if ord(c) < 0x80 else small)
        if byte is not None:
            return bytes([byte])
        plain = _SPELT.get(small) or "".join(p for p in unicodedata.normalize("NFKD", small) if p.isascii())
        return plain.encode("ascii", "replace") or b"?"

    def _changed(self, data: bytes, at: int) -> bytes:
        changed = bytearray(data)
        for number, c in enumerate(self._table):
            start = at + 1 + 2 * number
            changed[start : start + 2] = self._bytes.get(c, ord("?")).to_bytes(2, "big")
        return bytes(changed)


def _character(code: int) -> str:
    """Return a character by its code; half of a pair of codes, which is none, as the sign for that."""
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _ligature(found: re.Match[str]) -> str:
    """Return which ligature a "?" directly before a letter was."""
    before, after = found.string[: found.start()][-1:], found.string[found.end()]
    return "Œ" if after.isupper() or (not before.isalpha() and _begins(found)) else "œ"


def _begins(found: re.Match[str]) -> bool:
    """Whether a sentence begins here."""
    return found.string[: found.start()].rstrip(" \"«(¡¿")[-1:] in ("", "\n", ".", "!", "?", ":")


def _word(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1] if at + 1 < len(data) else 0


def zscii(code: int, table: str) -> str:
    """Return the character of a ZSCII code; `table` as of `table_of`."""
    if code < _FIRST:
        return chr(code)
    return table[code - _FIRST] if code - _FIRST < len(table) else "?"


def code_of(c: str, table: str) -> int:
    """Return the ZSCII code of a character, that of "?" if it has none."""
    if c.isascii():
        return ord(c)
    at = table.find(c)
    return _FIRST + at if at >= 0 else ord("?")
