"""Actions on a whole run: undo a step, save, load, branch, leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from jitrl_tui import slash_commands
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.run_base import KEPT, RunningScreen
from jitrl_tui.screens.run_dialogs import OWN, SHARED, BranchDialog
from jitrl_tui.source import Source
from jitrl_tui.view import Choice, RunView

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.store import SavedSession
    from engine.settings import Settings
    from engine.web.browser.pages import PageStore


class KeepingScreen(RunningScreen):
    """A screen for one run, with actions to save it, to compare it and to leave it.

    Attributes:
        recorded: The saves folder and the recording of the run, None if there are no other sessions beside it.
        stored_pages: Stored pages; None if there are none.
        person_plays: Whether a person plays.
    """

    source: Source
    view: RunView
    keeper: Keeper | None = None
    recorded: tuple[Path, Path] | None = None
    stored_pages: PageStore | None = None
    person_plays = False
    waits_for = "finishing the last thought; q again leaves at once"

    @property
    def choice(self) -> Choice | None:
        """The displayed choice."""
        raise NotImplementedError

    def present(self) -> None:
        """Show the present again."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------- keeping

    def command(self, text: str) -> None:
        """Run a typed command, given without its slash."""
        word, _, rest = text.partition(" ")
        one, rest = slash_commands.command(word), rest.strip()
        if one is not None and one.given and rest:
            getattr(self, f"{one.given}_typed")(rest)
        elif one is not None and one.action:
            action, _, argument = one.action.partition(":")
            getattr(self, f"action_{action}")(*filter(None, [argument]))
        else:
            self.notify(f"There is no command /{word}; /help lists them.", severity="warning")

    def action_help(self) -> None:
        """Show the help."""
        raise NotImplementedError

    def action_take_back(self) -> None:
        """Undo the last step of this episode."""
        if self._kept() and self.view.activity != "ended":
            self.present()
            self.source.take_back()
        elif self.keeper is not None:
            self.notify("The session is over; b goes on from an earlier step.", severity="warning")

    def action_save(self) -> None:
        """Ask for a name and save."""
        keeper = self._kept()
        if keeper is not None:
            place = self.view.seen.place if self.view.seen else ""
            here = f"{place or 'episode'} {self.view.episode}-{self.view.step}"
            self.app.push_screen(dialogs.SaveDialog(keeper.names(), here), self.keep_typed)

    def keep_typed(self, name: str | None) -> None:
        """Save under a name."""
        keeper = self._kept()
        if keeper is None or name is None:
            return
        try:
            keeper.keep(name)
        except JitrlError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify(f"Saved as {name}.", timeout=3, markup=False)

    def action_load(self) -> None:
        """Ask which save to continue from."""
        keeper = self._kept()
        if keeper is None:
            return
        names = keeper.names()
        if names:
            self.app.push_screen(dialogs.LoadDialog(names), self.load_typed)
        else:
            self.notify("There are no saves yet; s makes one.")

    def load_typed(self, name: str | None) -> None:
        """Go on from a save."""
        if name is not None:
            self._follow(lambda keeper: keeper.load(name))

    def action_branch(self) -> None:
        """Ask for the memory of a branch, and continue from before the displayed step in a new session."""
        self.branch_with(None)

    def branch_with(self, settings: Settings | None) -> None:
        """Do the same with other settings; None for those of this session."""
        choice = self.choice
        if choice is None or self._kept() is None:
            return
        episode, step = choice.episode, choice.decision.step
        self.app.push_screen(
            BranchDialog(episode, step), lambda memory: self._branch(episode, step, memory, settings)
        )

    def _branch(self, episode: int, step: int, memory: str | None, settings: Settings | None = None) -> None:
        if memory is not None:
            shared = memory == SHARED
            self._follow(lambda keeper: keeper.branch(episode, step, shared=shared, settings=settings), paused=True)

    def branch_typed(self, text: str) -> None:
        """Branch after the step, and with the memory, that are typed."""
        step, _, memory = text.partition(" ")
        if step.isascii() and step.isdigit() and memory in ("", "shared"):
            self._branch(self.view.episode, int(step), SHARED if memory else OWN)
        else:
            self.notify("/branch takes a step, and shared for the shared memory: /branch 3", severity="warning")

    def _follow(self, make: Callable[[Keeper], SavedSession], *, paused: bool = False) -> None:
        """End this session properly and continue with another, which waits at its first decision if it is `paused`."""
        keeper = self._kept()
        if keeper is None or self.leaving:
            return
        try:
            following = make(keeper)
        except JitrlError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.leave(lambda: self.app.go_on_with(following, paused=paused))

    def _kept(self) -> Keeper | None:
        if self.keeper is None:
            self.notify("This is a recording: there is nothing to save or to undo.", severity="warning")
        return self.keeper

    # ------------------------------------------------------------------------------------- comparing

    def action_compare(self) -> None:
        """Ask for another session, and show both side by side."""
        from jitrl_tui.screens.compare import CompareDialog, others  # rarely needed

        if self.keeper is not None:
            self.recorded = self.keeper.saves, self.keeper.session.folder
        if self.recorded is None:
            self.notify("There are no other sessions beside this recording.", severity="warning")
            return
        saves, mine = self.recorded
        found = others(saves, mine if mine.is_dir() else mine.parent)
        if found:
            self.app.push_screen(CompareDialog(found), lambda other: other and self._compare(mine, Path(other)))
        else:
            self.notify("There is no other session of this game; b makes a branch.", severity="warning")

    def _compare(self, mine: Path, other: Path) -> None:
        from jitrl_tui.screens.compare import as_recorded, open_comparison

        open_comparison(self.app, (mine, other), (as_recorded(mine), as_recorded(other)))

    # --------------------------------------------------------------------------------------- leaving

    def action_leave(self) -> None:
        """Leave, after a question if the session goes on. The second call while it ends leaves at once."""
        self.ask_to_leave(f"The session stops here. {KEPT}", "leave", self.app.leave_now)

    def action_home(self) -> None:
        """Show the home screen, after a question if the session goes on."""
        if self.app.has_home and not self.leaving:
            self.ask_to_leave(f"The session stops here. {KEPT}", "choose another game", self.app.go_home, "h")

    def goes_on(self) -> bool:
        """Return whether the session is being played here."""
        return super().goes_on() and self.view.activity != "ended"

    def action_leave_at_once(self) -> None:
        """End the session, then the app, without a question."""
        self.leave_properly()
