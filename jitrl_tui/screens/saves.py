"""Saves of a session: save, load, undo a step, branch, and compare with other sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from engine.errors import JitrlError
from jitrl_tui.screens.dialogs import PickDialog, Row
from jitrl_tui.screens.run_dialogs import OWN, SHARED, BranchDialog
from jitrl_tui.screens.shown_run import Service

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.store import SavedSession
    from engine.settings import Settings


class Saves(Service):
    """What is kept of a session, and what goes on from there."""

    def _keeper(self) -> Keeper | None:
        """Return what saves and branches; None, with a message, for a recording."""
        if self._run.keeper is None:
            self._warn("This is a recording: there is nothing to save or to undo.")
        return self._run.keeper

    def take_back(self) -> None:
        """Undo the last step of this episode."""
        if self._keeper() is None:
            return
        if self._run.over:
            self._warn("The session is over; b goes on from an earlier step.")
        else:
            self._run.present()
            self._run.source.take_back()

    def save(self, name: str = "") -> None:
        """Save under a name; ask for one if there is none."""
        keeper, view = self._keeper(), self._run.view
        if keeper is not None and name:
            self._save(name)
        elif keeper is not None:
            place = view.seen.place if view.seen else ""
            here = f"{place or 'episode'} {view.episode}-{view.step}"
            names = keeper.names()

            def rows(typed: str) -> list[Row]:
                """Return the typed name, then the existing saves."""
                name = typed or here
                found = [one for one in names if typed.casefold() in one.casefold()]
                return [(name, Content(f"  {name}"))] * (name not in names) + [
                    (one, Content(f"  {one}  (replace it)")) for one in found
                ]

            hint = "Enter saves the game as it stands; load it with g."
            self._screen.app.push_screen(PickDialog("save", hint, "a name", rows=rows), self._save)

    def _save(self, name: str | None) -> None:
        keeper = self._keeper()
        if keeper is None or name is None:
            return
        try:
            keeper.keep(name)
        except JitrlError as error:
            self._screen.notify(str(error), severity="error")
        else:
            self._screen.notify(f"Saved as {name}.", timeout=3, markup=False)

    def load(self, name: str | None = "") -> None:
        """Go on from a save; ask which if no name is given."""
        keeper = self._keeper()
        if keeper is None or name is None:
            return
        if name:
            self._follow(lambda keeper: keeper.load(name))
        elif names := keeper.names():
            hint = "This session stays as it is; a new one goes on from the save."
            rows = [(name, Content("  " + name)) for name in names]
            self._screen.app.push_screen(PickDialog("load", hint, "a name", rows=rows), self.load)
        else:
            self._screen.notify("There are no saves yet; s makes one.")

    def branch(self, typed: str = "") -> None:
        """Branch after the step, and with the memory, that are typed; else before the displayed step."""
        step, _, memory = typed.partition(" ")
        if not typed:
            self.branch_with(None)
        elif step.isascii() and step.isdigit() and memory in ("", "shared"):
            self._branch(self._run.view.episode, int(step), SHARED if memory else OWN)
        else:
            self._warn("/branch takes a step, and shared for the shared memory: /branch 3")

    def branch_with(self, settings: Settings | None) -> None:
        """Ask for the memory of a branch, and continue from before the displayed step in a new session.

        Args:
            settings: None for those of this session.
        """
        choice = self._run.choice
        if choice is None or self._keeper() is None:
            return
        episode, step = choice.episode, choice.decision.step
        self._screen.app.push_screen(
            BranchDialog(episode, step), lambda memory: self._branch(episode, step, memory, settings)
        )

    def _branch(self, episode: int, step: int, memory: str | None, settings: Settings | None = None) -> None:
        if memory is not None:
            shared = memory == SHARED
            self._follow(lambda keeper: keeper.branch(episode, step, shared=shared, settings=settings), paused=True)

    def _follow(self, make: Callable[[Keeper], SavedSession], *, paused: bool = False) -> None:
        """End this session properly and continue with another, which waits at its first decision if it is `paused`."""
        keeper, screen = self._keeper(), self._screen
        if keeper is None or screen.ending.message:
            return
        try:
            following = make(keeper)
        except JitrlError as error:
            screen.notify(str(error), severity="error", markup=False)
        else:
            screen.ending.leave(lambda: screen.app.go_on_with(following, paused=paused))

    # ------------------------------------------------------------------------------------- comparing

    def compare(self) -> None:
        """Ask for another session, and show both side by side."""
        from jitrl_tui.screens.compare import others, session_to_compare  # rarely needed

        run, keeper = self._run, self._run.keeper
        at = (keeper.saves, keeper.session.folder) if keeper is not None else run.recorded
        if at is None:
            self._warn("There are no other sessions beside this recording.")
            return
        saves, mine = at
        if found := others(saves, mine if mine.is_dir() else mine.parent):
            self._screen.app.push_screen(
                session_to_compare(found), lambda other: self._compare(mine, Path(other)) if other else None
            )
        else:
            self._warn("There is no other session of this game; b makes a branch.")

    def _compare(self, mine: Path, other: Path) -> None:
        from jitrl_tui.screens.compare import as_recorded, open_comparison

        open_comparison(self._screen.app, (mine, other), (as_recorded(mine), as_recorded(other)))
