"""Opens a story in Jericho, and replaces some operations of its interpreter. Runs in the worker process only.

- What a story draws into a low upper window is its status line. It is taken out of the output, so that the output is
  the story's text alone. A higher window shows a quotation or a menu; its text stays.
- `print_unicode` prints every character, not only those of Latin-1 (`engine.games.zmachine.characters`).
- `quit`, `restart`, `save` and `restore` halt the interpreter while a key or an answer is given. Verbs that lead to
  them are known from the grammar (`engine.games.zmachine.commands`); keys are not.

They are made when the library is loaded, as a confined process may not make them. The first two are put into the tables
for stories that Jericho does not know. Jericho reads the status line of others itself.
"""

from __future__ import annotations

import ctypes
from typing import Any

from engine.games.zmachine.characters import Characters

STATUS_LINES = 3
"""Lines that an upper window may have as a status line. Most have one; some add a compass or a second line."""
_SPLIT, _WINDOW, _PRINT_UNICODE, _CHECK_UNICODE = 0x2A, 0x2B, 0x0B, 0x0C
_FOR_PROGRAM = (("op0_opcodes", 0x0A), ("op0_opcodes", 0x07), ("op0_opcodes", 0x05), ("op0_opcodes", 0x06),
                ("ext_opcodes", 0x00), ("ext_opcodes", 0x01))  # fmt: skip
"""quit, restart, save and restore: by table and number."""
_Operation = ctypes.CFUNCTYPE(None)
_READ_AND_PRINT = 3


class Operations:
    """Our operations for one loaded library.

    Args:
        library: Jericho's interpreter as a library.

    Attributes:
        contained: Whether operations for the program rather than the story halt the interpreter now.
    """

    def __init__(self, library: Any) -> None:
        self._lib = library
        self._characters: Characters | None = None
        self._arguments = (ctypes.c_ushort * 8).in_dll(library, "zargs")
        self._printed_to = ctypes.c_void_p.in_dll(library, "screen_buffer_ptr")
        self._height = 0
        self._drawn_from: int | None = None
        self._variable = (ctypes.c_void_p * 0x40).in_dll(library, "var_opcodes")
        self._extended = (ctypes.c_void_p * 0x1D).in_dll(library, "ext_opcodes")
        self._split_window = _Operation(self._variable[_SPLIT] or 0)
        self._set_window = _Operation(self._variable[_WINDOW] or 0)
        self._print_character = library.print_char
        self._store = library.store
        self.contained = False
        self._given_up = ctypes.c_int.in_dll(library, "emulator_halted")
        self._kept = [self._contain(library, table, number) for table, number in _FOR_PROGRAM]
        self._ours = [
            (self._variable, _SPLIT, _Operation(self._split)),
            (self._variable, _WINDOW, _Operation(self._window)),
            (self._extended, _PRINT_UNICODE, _Operation(self._print_unicode)),
            (self._extended, _CHECK_UNICODE, _Operation(self._check_unicode)),
        ]

    def put(self, characters: Characters) -> None:
        """Put the operations into the tables, for a story with these characters."""
        self._characters = characters
        for table, number, operation in self._ours:
            table[number] = ctypes.cast(operation, ctypes.c_void_p).value or 0

    def _contain(self, library: Any, name: str, number: int) -> Any:
        """Put an operation into a table that halts while `contained`, and is the one that was there otherwise."""
        table = (ctypes.c_void_p * (number + 1)).in_dll(library, name)
        original = _Operation(table[number] or 0)

        def run() -> None:
            if self.contained:
                self._given_up.value = 1
            else:
                original()

        ours = _Operation(run)
        table[number] = ctypes.cast(ours, ctypes.c_void_p).value or 0
        return ours

    def begin(self) -> None:
        """A command begins; the output is empty."""
        self._drawn_from = None

    def _split(self) -> None:
        self._height = self._arguments[0]
        self._split_window()

    def _window(self) -> None:
        upper = self._arguments[0] == 1
        self._set_window()  # first writes out what was printed to the other window
        if upper:
            if self._height <= STATUS_LINES:
                self._drawn_from = self._printed_to.value
        elif self._drawn_from is not None:
            if self._drawn_from <= (self._printed_to.value or 0):
                self._printed_to.value = self._drawn_from
            self._drawn_from = None

    def _print_unicode(self) -> None:
        code = self._arguments[0]
        for byte in self._characters.printed(code) if self._characters else b"?":
            self._print_character(byte)

    def _check_unicode(self) -> None:
        code = self._arguments[0]
        self._store(_READ_AND_PRINT if 0x20 <= code < 0x7F or code > 0x9F else 0)


def load_library() -> Any:
    """Return Jericho's interpreter, loaded for one story, with our operations as its attribute `operations`.

    Jericho does this whenever it opens a story, by way of a temporary folder. A confined process cannot do it.
    """
    from jericho import jericho

    library = jericho._load_frotz_lib()
    library.operations = Operations(library)
    return library


def open_quickly(story: str, library: Any) -> Any:
    """Open a story without Jericho's work on command templates, which takes longer than all the rest.

    Jericho does that work whenever a story is opened. Nothing here needs it, but for stories whose grammar
    cannot be read, and those have it done later. A `library` that is given is not loaded again.
    """
    from jericho import jericho

    library = library or load_library()
    generator, loader = jericho.TemplateActionGenerator, jericho._load_frotz_lib
    jericho.TemplateActionGenerator = lambda bindings: None
    jericho._load_frotz_lib = lambda: library
    try:
        return jericho.FrotzEnv(story, seed=1)
    finally:
        jericho.TemplateActionGenerator, jericho._load_frotz_lib = generator, loader


def print_all(env: Any, characters: Characters) -> None:
    """Let a story print every character and no status line, from the next time that it is started."""
    library = env.frotz_lib
    library.operations.put(characters)
    setup = library.setup
    data = characters.data
    library.setup = lambda path, seed, rom, size: setup(path, seed, data, len(data))
