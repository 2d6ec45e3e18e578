"""Textual's Linux driver, made to survive a terminal that closes and bytes that are no text."""

from __future__ import annotations

import sys
from typing import IO, Any

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver


class SturdyFile:
    """Writes as long as there is somebody to read.

    Textual's writer thread dies of the first failed write, and the app then waits for it for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> int:
        """Write, unless the terminal has gone."""
        if not self._gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self._gone = True
        return len(text)

    def flush(self) -> None:
        """Flush, unless the terminal has gone."""
        if not self._gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self._gone = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class SturdyDriver(LinuxDriver):
    """Leaves the app in good order when the terminal goes."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        # Textual draws on stderr; with `2>file` that would draw into the file.
        shown = sys.__stderr__ if sys.__stderr__ is not None and sys.__stderr__.isatty() else sys.__stdout__
        self._file = SturdyFile(shown)  # type: ignore[assignment]

    def _run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            try:
                self.run_input_thread()
                return
            except UnicodeDecodeError:
                continue  # bytes that are no UTF-8: no key we know
            except OSError:
                self._app.call_from_thread(self._app.run_action, "app.leave")
                return
            except BaseException:
                super()._run_input_thread()
                return


def sturdy(driver: type[Driver]) -> type[Driver]:
    """Return the sturdy form of a driver where there is one."""
    return SturdyDriver if driver is LinuxDriver else driver
