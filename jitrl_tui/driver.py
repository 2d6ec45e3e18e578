"""Textual's Linux driver, changed to survive a terminal that closes and input that is not UTF-8."""

from __future__ import annotations

import sys
from typing import IO, Any

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver


class SturdyFile:
    """A file that ignores writes after the terminal has closed.

    Otherwise a failed write ends Textual's writer thread, and the app waits for it forever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> int:
        """Write, unless the terminal has closed."""
        if not self._gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self._gone = True
        return len(text)

    def flush(self) -> None:
        """Flush, unless the terminal has closed."""
        if not self._gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self._gone = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class SturdyDriver(LinuxDriver):
    """Ends the app properly when the terminal closes."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        # Textual draws on stderr. With `2>file`, it would draw into the file.
        shown = sys.__stderr__ if sys.__stderr__ is not None and sys.__stderr__.isatty() else sys.__stdout__
        self._file = SturdyFile(shown)  # type: ignore[assignment]

    def _run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            try:
                self.run_input_thread()
                return
            except UnicodeDecodeError:
                continue  # not UTF-8, so not a known key
            except OSError:
                self._app.call_from_thread(self._app.run_action, "app.leave")
                return
            except BaseException:
                super()._run_input_thread()
                return


def sturdy(driver: type[Driver]) -> type[Driver]:
    """Return `SturdyDriver` in place of Textual's Linux driver, and any other driver unchanged."""
    return SturdyDriver if driver is LinuxDriver else driver
