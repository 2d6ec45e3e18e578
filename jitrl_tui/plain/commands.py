"""The typed commands of the plain mode: those that ask something, and those that keep something."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine import worked
from jitrl_tui import command_table
from jitrl_tui.plain.event_lines import EventLines, candidate_lines
from jitrl_tui.runs import hits, steer_texts
from jitrl_tui.runs.hits import Hints
from jitrl_tui.runs.places import map_lines
from jitrl_tui.runs.session_files import SessionFiles, export_as
from jitrl_tui.runs.view import Choice

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.session.store import SavedSession
    from engine.web.browser.pages import PageStore

PAGE_WIDTH = 100
"""Width of a drawn page in cells."""
NO_FILES = "Nothing is kept on disk here."
HELP = "Type a command for the game, or nothing to let the agent do what it proposes. Commands of jitrl:"
HELP_WATCHING = (
    "Enter pauses, and takes one step where it is paused. A command for the game overrules the agent. "
    "Commands of jitrl:"
)


class PlainCommands:
    """What a typed command answers. None of these carries out a step.

    Args:
        telling: The view, and where lines go.
        play: A person plays.
        keeper: Saves and branches; None where there is nothing to save.
        pages: Where what pages looked like is kept; None where there are none.
        files: What lies beside the session on disk; None if there is nothing.

    Attributes:
        then: The session to go on with after this one.
    """

    def __init__(
        self,
        telling: EventLines,
        *,
        play: bool,
        keeper: Keeper | None = None,
        pages: PageStore | None = None,
        files: SessionFiles | None = None,
    ) -> None:
        self.then: SavedSession | None = None
        self._telling, self._play = telling, play
        self._keeper, self._pages, self._files = keeper, pages, files
        self._hints = Hints()
        self.commands: dict[str, Callable[[str], None]] = {
            "help": self._help, "page": self._page, "hint": self._hint, "map": self._map, "score": self._score,
            "note": self._note, "notes": self._note, "export": self._export,
            "save": self._save, "saves": self._saves, "load": self._load, "branch": self._branch,
            "why": self._why, "options": self._options, "memory": self._memory, "actions": self._actions,
        }  # fmt: skip
        """What is answered, by the names of the typed commands; each takes what follows its name."""

    def _help(self, _: str) -> None:
        first = HELP if self._play else HELP_WATCHING
        self._telling.say("\n".join([first, *command_table.help_lines(lines=True)]))

    def _hint(self, _: str) -> None:
        view = self._telling.view
        self._telling.say(self._hints.next(view.choice, view.pending))

    def _score(self, _: str) -> None:
        self._telling.say(self._telling.score())

    # ----------------------------------------------------------------------------------------- keeping

    def _note(self, text: str) -> None:
        """Keep a note; without a text, tell all."""
        view, say = self._telling.view, self._telling.say
        if self._files is None:
            say(NO_FILES)
        elif text:
            self._files.notes.add(text, view.episode, view.step)
            say("Noted. /notes tells the notes.")
        else:
            notes = self._files.notes.all()
            for note in notes:
                say(f"Note, episode {note.episode}, step {note.step}: {note.text}")
            if not notes:
                say("There are no notes yet; /note TEXT makes one.")

    def _export(self, name: str) -> None:
        if self._files is None:
            self._telling.say(NO_FILES)
        elif not name:
            self._telling.say("Say to which file, for instance: /export pantry.md")
        else:
            self._telling.say(f"Wrote {export_as(self._files.recording, name)}.")

    def _kept(self) -> Keeper | None:
        """Return what saves and branches; None, with a sentence, where there is nothing to save."""
        if self._keeper is None:
            self._telling.say("Here is nothing to save.")
        return self._keeper

    def _save(self, name: str) -> None:
        if keeper := self._kept():
            keeper.keep(name)
            self._telling.say(f"Saved as {name}. /load {name} goes on from here.")

    def _saves(self, _: str) -> None:
        if keeper := self._kept():
            self._telling.say(", ".join(keeper.names()) or "There are no saves; /save NAME makes one.")

    def _load(self, name: str) -> None:
        if keeper := self._kept():
            self.then = keeper.load(name)

    def _branch(self, typed: str) -> None:
        step, _, memory = typed.partition(" ")
        if keeper := self._kept():
            if step.isascii() and step.isdigit() and memory in ("", "shared"):
                self.then = keeper.branch(self._telling.view.episode, int(step), shared=bool(memory))
            else:
                self._telling.say("Say after which step, for instance: /branch 3")

    # ------------------------------------------------------------------------------ the latest decision

    def _choice(self) -> Choice | None:
        """Return the latest choice; None, with a sentence, before the first."""
        if self._telling.view.choice is None:
            self._telling.say("There is no decision yet.")
        return self._telling.view.choice

    def _why(self, _: str) -> None:
        if choice := self._choice():
            self._telling.say(f"Why: {choice.decision.why}")
            if equation := worked.update(choice.decision):
                self._telling.say(equation)
            self._telling.say_more(choice)

    def _options(self, _: str) -> None:
        for line in candidate_lines(choice) if (choice := self._choice()) else ():
            self._telling.say(line)

    def _memory(self, _: str) -> None:
        for line in hits.basis_lines(choice, self._telling.view.memory_entries) if (choice := self._choice()) else ():
            self._telling.say(line)

    def _actions(self, _: str) -> None:
        if choice := self._choice():
            self._telling.say(steer_texts.all_actions(choice.decision))

    # -------------------------------------------------------------------------------- places and pages

    def _map(self, _: str) -> None:
        view = self._telling.view
        known = view.places.map.copy()
        remembered = self._files.remembered if self._files is not None else None
        if remembered is not None and view.started is not None:
            before = remembered.read(view.started, view.places.uids)
            before.merge(known)
            known = before
        decision = view.choice.decision if view.choice is not None and view.pending else None
        for line in map_lines(known, view.places.here, decision):
            self._telling.say(line)

    def _page(self, _: str) -> None:
        """Tell the page as it is now, drawn in text."""
        shown = self._telling.view.page_at(None)
        page = self._pages.page(shown) if shown is not None and self._pages is not None else None
        if shown is None or page is None:
            self._telling.say("There is no page to show.")
            return
        from engine.web.drawing.wireframe import draw

        self._telling.say(draw(page, PAGE_WIDTH, 40, (shown.width, shown.height)).text)
