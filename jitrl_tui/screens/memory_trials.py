"""Changes of memory on trial: what a person tries out with the steps behind a choice, and what becomes of it.

A trial changes nothing. The shown choice is made again as if memory had been changed, without the model, and all panes
show it. Only when the person keeps the changes, they are stored, and a running session decides again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.notifications import SeverityLevel

from engine.errors import JitrlError
from engine.memory.search import EVERYTHING, Correction, MemoryFilter
from engine.records import Neighbour
from jitrl_tui.panes.memory import NO_NOTES, MemoryNotes, MemoryPane
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, signed
from jitrl_tui.screens.nearest import NearestStep
from jitrl_tui.screens.recorded import Recorded
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface
from jitrl_tui.system.background import STORING, Background, Progress
from jitrl_tui.system.output import one_line

if TYPE_CHECKING:
    from engine.session.recorded import DecisionAgain, RecordedRun
    from engine.session.whatif import Influence
    from jitrl_tui.screens.whatif import GoOn

_SEEN = 0.005
"""Smallest change of a probability that is told: half a percent."""
_TRIAL_KEYS = "Backspace undoes, S keeps, Esc drops"
PINNED = "A pinned step is a neighbour of every state it is similar enough to, besides the k most similar."
PLANS_PIN = "Plans go through all that is remembered, so a pin changes nothing for them."


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """One change that is tried out.

    Attributes:
        hit: The remembered step.
        what: "forget" or "correct".
        correction: The new correction of the step.
        sentence: What it does.
    """

    hit: Neighbour
    what: str
    correction: Correction
    sentence: str


class MemoryTrial(Service):
    """The trial of a watch screen."""

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        super().__init__(run, screen)
        self._edits: list[Edit] = []
        self._at: tuple[int, int] | None = None
        self._now: Choice | None = None
        self._influence: dict[int, str] = {}
        self.recorded = Recorded(run, lambda sentence: self._say(sentence, severity="error"))
        self.work = Background(screen)
        """The work in the background."""
        self.nearest = NearestStep(run, screen, self.recorded, self.work)

    # -------------------------------------------------------------------------------------- showing

    @property
    def trying(self) -> bool:
        """Whether changes are tried out, influence is shown, or work is going on."""
        return bool(self._edits or self._influence) or self.work.busy

    @property
    def edited(self) -> bool:
        """Whether changes are tried out."""
        return bool(self._edits)

    def shown(self, choice: Choice | None) -> Choice | None:
        """Return the choice to show: the trial in place of the one that it is of, and what comes nearest to it."""
        return self.nearest.shown(self._tried(choice))

    def _tried(self, choice: Choice | None) -> Choice | None:
        if choice is None or (self._at != _place(choice) and not self.work.storing):
            if self._edits:
                self._say("The trial was dropped, because another choice is on show. Memory is unchanged.")
            if self._at is not None:
                self._forget_trial()
            return choice
        return self._now if self._now is not None and self._at == _place(choice) else choice

    @property
    def banner(self) -> str:
        """A line about the trial, "" without one."""
        work = self.work
        if work.busy and work.progress_text:
            head = "TRIAL, memory is unchanged. " if self._edits and not work.storing else ""
            return f"{head}{work.progress_text}"
        if self._edits:
            last, number = self._edits[-1].sentence.partition(" ")[2], len(self._edits)
            keeps = f"S keeps all {number}" if number > 1 else "S keeps it"
            return f"TRIAL: {self._effect()}. Backspace undoes: {last}. {keeps}, Esc drops"
        return ""

    def _effect(self) -> str:
        """Return what the trial does to the choice, in a few words."""
        made = self._run.choice
        if self._now is None or made is None:
            return "the choice could not be made again"
        was, now = made.decision, self._now.decision
        before = {one.action: p for one, p in zip(was.candidates, was.posterior, strict=True)}
        moved = [(one.action, before.get(one.action, 0.0), p)
                 for one, p in zip(now.candidates, now.posterior, strict=True)]  # fmt: skip
        action, old, new = max(moved, key=lambda one: abs(one[2] - one[1]), default=("", 0.0, 0.0))
        chances = f"'{one_line(action)}' {old:.0%} → {new:.0%}"
        if was.action != now.action:
            return f"'{one_line(now.action)}' in place of '{one_line(was.action)}', {chances}"
        return chances if abs(new - old) >= _SEEN else "this choice stays, with the same probabilities"

    def notes(self) -> MemoryNotes:
        """Return what the memory pane shows besides its rows."""
        edits = tuple(edit.sentence for edit in self._edits)
        if edits:
            edits = (f"Tried out ({_TRIAL_KEYS}):", *edits)
        return MemoryNotes(edits, self._pinned(), self._influence) if edits or self._influence else NO_NOTES

    def _pinned(self) -> frozenset[int]:
        return frozenset(entry for entry, one in self.memory_filter.corrections.items() if one.pinned)

    @property
    def memory_filter(self) -> MemoryFilter:
        """Memory as it would be."""
        gone = frozenset(edit.hit.entry for edit in self._edits if edit.what == "forget")
        corrections = {edit.hit.entry: edit.correction for edit in self._edits if edit.what == "correct"}
        return MemoryFilter(without=gone, corrections=corrections)

    # --------------------------------------------------------------------------------------- asking

    def asked(self, event: MemoryPane.Asked) -> None:
        """Do what a key in the memory pane asks for."""
        what, hit = event.what, event.hit
        if self.work.storing:
            self._say(STORING)
        elif what == "drop":
            self.drop()
        elif what == "influence":
            self._rank()
        elif hit is None:
            self._say("There is no remembered step here.")
        elif hit.entry < 0:
            self._say("This step is not in memory yet: it is of the running episode.")
        elif what == "open":
            self._look_at(hit)
        else:
            self.change(what, hit)

    def change(self, what: str, hit: Neighbour) -> None:
        """Try out a change of a remembered step: "forget", "edit" or "pin"."""
        scope = self.recorded.scope()
        if scope is None:
            return
        if scope.located(hit.entry) is None:
            self._say("This step is no longer in memory.")
            return
        known = self.memory_filter.corrections.get(hit.entry) or scope.corrections().get(hit.entry, Correction())
        name = f"'{hit.action}' (episode {hit.episode}, step {hit.step + 1})"
        if what == "forget":
            self._add(Edit(hit, "forget", known, f"− forget {name}"))
        elif what == "pin":
            made = dataclasses.replace(known, pinned=not known.pinned)
            self._add(Edit(hit, "correct", made, f"◆ {'pin' if made.pinned else 'unpin'} {name}"))
            self._say(PLANS_PIN if hit.ahead >= 0 else PINNED)
        elif what == "edit":
            self._ask_number(hit, known, name)

    def _ask_number(self, hit: Neighbour, known: Correction, name: str) -> None:
        from jitrl_tui.screens.hit import HINTS, NumberDialog, with_number

        plan = ("gain", "points", "points", hit.gain)
        field, what, title, before = plan if hit.ahead >= 0 else ("g", "G", "return", hit.g)

        def given(value: float | None) -> None:
            if value is not None:
                made = with_number(known, field, value)
                self._add(Edit(hit, "correct", made, f"= {what} {signed(before)} → {signed(value)} of {name}"))

        self._screen.app.push_screen(NumberDialog(f"edit the {title} of {name}", HINTS[field], before), given)

    def _add(self, edit: Edit) -> None:
        choice = self._run.choice
        if choice is None or self.work.storing:
            return
        self._run.hold()
        if not self._edits:
            self._at = _place(choice)
        self._edits.append(edit)
        self._again()

    def drop(self) -> None:
        """Drop the trial and cancel the work."""
        self._forget_trial()
        self._screen.redraw()

    def _may(self) -> bool:
        """Return whether there are changes that can be undone or kept; if not, say so."""
        if self.work.storing or not self._edits:
            self._say(STORING if self.work.storing else "No change of memory is being tried out.")
            return False
        return True

    def _forget_trial(self) -> None:
        self.work.cancel()
        if not self.work.storing:
            self._edits, self._at, self._now, self._influence = [], None, None, {}

    # ------------------------------------------------------------------------------------- deciding

    def _again(self) -> None:
        """Make the choice again as if memory were changed."""
        choice, at, memory_filter = self._run.choice, self._at, self.memory_filter
        self._influence, self._now = {}, None
        if not self._edits or choice is None or at is None:
            self.drop()
            return

        def work(progress: Progress) -> DecisionAgain | None:
            from engine.session import whatif

            run = self.recorded.open().run()
            return whatif.trial(run, at, memory_filter=memory_filter, check=_counted(progress, _until(run, at)))

        def finished(again: DecisionAgain | None) -> None:
            if again is not None:
                self._now = dataclasses.replace(choice, decision=again.now)
            self._screen.redraw()

        self._begin(work, finished, "Deciding again")

    def _rank(self) -> None:
        """Rank the remembered steps by what they do to the choice; where there are none, find the nearest one."""
        choice = self._run.choice
        if choice is None or choice.decision.update is None:
            self._say("Nothing that is remembered bears on this choice.")
            return
        at = _place(choice)
        if hits.could_be_near(choice, self._run.view.memory_entries):
            self.nearest.find(self._tried(choice), self.memory_filter if self._edits else EVERYTHING, self._say)
            return
        memory_filter = self.memory_filter if self._edits else EVERYTHING
        entries = {one.entry for one in choice.decision.update.neighbours if one.entry >= 0}

        def work(progress: Progress) -> list[Influence]:
            from engine.session import whatif

            run = self.recorded.open().run()
            check = _counted(progress, _until(run, at) * (1 + len(entries)))
            return whatif.influence(run, at, memory_filter=memory_filter, check=check)

        def finished(found: list[Influence]) -> None:
            self._at = at
            self._influence = {one.entry: _without(one, rank) for rank, one in enumerate(found, 1)}
            if not found:
                self._say("No single remembered step is behind this choice.")
            elif not found[0].decides:
                self._say(
                    "No single remembered step decides here: without any one of them the choice is the same."
                )
            self._screen.redraw()

        self._begin(work, finished, "Deciding without each remembered step")

    def look_near(self) -> None:
        """Find what comes nearest to the displayed state, if it has no neighbours and the display rests."""
        choice = self._tried(self._run.choice)
        if self.nearest.rests(choice):
            self.nearest.find(choice, self.memory_filter if self._edits else EVERYTHING)

    def undo(self) -> None:
        """Take the last change out of the trial."""
        if self._may():
            self._edits.pop()
            self._again()

    def keep(self) -> None:
        """Store the changes. A running session decides again from them."""
        memory_filter, shown = self.memory_filter, self._run
        if not self._may():
            return

        def work(progress: Progress) -> str:
            from engine.session import whatif

            opened = self.recorded.open()
            run = opened.run()
            assert run.scope is not None
            assert opened.memory is not None
            return whatif.keep(run.scope, opened.memory, memory_filter, session=run.started.session)

        def finished(sentence: str) -> None:
            self._forget_trial()
            self.nearest.forget()
            if (scope := self.recorded.scope()) is not None:
                shown.view.memory_entries = len(scope)
            if shown.plays:
                shown.source.reread()
            self._say(f"{sentence} Memory is changed.")
            self._screen.redraw()

        self._begin(work, finished, "Changing memory", must_end=True)

    def _begin(
        self, work: Callable[[Progress], object], finished: Callable[..., None], what: str, *, must_end: bool = False
    ) -> None:
        def failed(sentence: str) -> None:
            self._say(sentence, severity="error")
            self._screen.redraw()

        if self.recorded.opened() is None:
            self._forget_trial()
            return
        self.work.begin(work, finished, failed, what=what, unit="decisions", must_end=must_end)
        self._screen.redraw()

    # -------------------------------------------------------------------------------------- looking

    def _look_at(self, hit: Neighbour) -> None:
        """Open the window of a remembered step."""
        from jitrl_tui.screens.hit import HitDialog, about_step

        scope = self.recorded.scope()
        if scope is None:
            return
        try:
            found = about_step(scope, hit.entry, *self._discount())
        except JitrlError as error:
            self._say(str(error), severity="error")
            return
        if found is None:
            self._say("This step is no longer in memory.")
            return
        recording = self.recorded.of_session(found.episode.session)
        uid = found.episode.uid
        self._screen.app.push_screen(
            HitDialog(found, replayable=recording is not None),
            lambda what: self._chosen(what, hit, recording, uid),
        )

    def _chosen(self, what: str | None, hit: Neighbour, recording: Path | None, uid: str) -> None:
        if what == "replay" and recording is not None:
            self._screen.app.replay(recording, uid)
        elif what is not None:
            self.change(what, hit)

    def what_if(self, go_to: Callable[[int, int], None], go_on: Callable[[GoOn], None]) -> None:
        """Open the what-if window on the displayed choice.

        Args:
            go_to: Shows a step by its episode and step, if the person goes to one.
            go_on: Goes on with other settings, if the person wants that.
        """
        choice, opened = self._run.choice, self.recorded.opened()
        if opened is None:
            return
        if choice is None:
            self._say("There is no decision yet.")
            return

        def work(progress: Progress) -> RecordedRun:
            return opened.run()

        def answered(answer: tuple[int, int] | GoOn | None) -> None:
            if isinstance(answer, tuple):
                go_to(*answer)
            elif answer is not None:
                go_on(answer)

        def finished(run: RecordedRun) -> None:
            from jitrl_tui.screens.whatif import WhatIfScreen

            self._screen.redraw()
            window = WhatIfScreen(opened, run, _place(choice), runs=self._run.plays)
            self._screen.app.push_screen(window, answered)

        self._run.hold()
        self._begin(work, finished, "Reading the recording")

    def open_memory(self) -> None:
        """Open the memory screen on the memory of the run."""
        from jitrl_tui.screens.memory import MemoryScreen

        scope, opened, where = self.recorded.scope(), self.recorded.opened(), self._run.place
        if scope is None or opened is None or opened.memory is None or where is None:
            return
        gamma, zero_rewards = self._discount()

        def changed() -> None:
            self.drop()
            self.nearest.forget()
            if self._run.plays:
                self._run.source.reread()

        self._screen.app.push_screen(
            MemoryScreen(
                opened.memory, scope.name, where[1], gamma=gamma, zero_rewards=zero_rewards, changed=changed
            )
        )

    def _discount(self) -> tuple[float, str]:
        """Return the discount of the displayed choice, and how it counts later rewards of 0."""
        settings = self._run.choice.settings if self._run.choice is not None else {}
        return float(settings.get("gamma", 0.5)), str(settings.get("zero_rewards", "zero"))

    def close(self) -> None:
        """Cancel the work and close the memory."""
        self.work.close()
        self.recorded.close()

    def _say(self, sentence: str, severity: SeverityLevel = "information") -> None:
        self._screen.app.notify(sentence, severity=severity, timeout=5)


def _place(choice: Choice) -> tuple[int, int]:
    return choice.episode, choice.decision.step


def _until(run: RecordedRun, at: tuple[int, int]) -> int:
    """Return how many decisions have to be made again for one: all before it if the estimator follows a plan."""
    if not run.plans:
        return 1
    made = 0
    for past in run.episodes:
        for take in past.takes:
            decided = [one.decided for one in take.steps] + [take.decided]
            last = past.started.episode == at[0] and take is past.takes[-1]
            made += sum(one is not None and not (last and one.step > at[1]) for one in decided)
        if past.started.episode >= at[0]:
            break
    return made


def _counted(progress: Progress, total: int) -> Callable[[], None]:
    """Return a function that counts its calls; there are about `total`."""
    done = 0

    def check() -> None:
        nonlocal done
        progress(done, max(done, total))
        done += 1

    return check


def _without(one: Influence, rank: int) -> str:
    """Return how a choice would be without a step: changes of the policy, V and Q, and the action if it is another."""
    then = f" → {one.instead}" if one.decides else ""
    return f"#{rank} π {signed(-100 * one.p, 0)}{then} V̂ {signed(-one.v)} Q̂ {signed(-one.q)}"
