"""Changes of memory from the screen: the memory pane, the window of a step, what-if, and the memory screen."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import re
import shutil
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from engine.memory import Memory, report
from engine.memory.search import Correction, MemoryFilter
from engine.records import Decided
from engine.session import recording, whatif
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from jitrl_tui import preferences
from jitrl_tui.app import JitrlApp, _watch
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.hit import HitDialog, NumberDialog
from jitrl_tui.screens.levers import STOPS
from jitrl_tui.screens.memory import MemoryScreen
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.screens.whatif import Sliders, WhatIfScreen
from jitrl_tui.screens.whatif_choice import OtherValues
from jitrl_tui.widgets.rows import RowList
from tests.memory.lives import make_episode
from tests.playing import run
from tests.test_levers import KNN, played
from tests.tui.driving import still, until
from tests.tui.screen_text import screen_text

SETTINGS = Settings(step_limit=14, beta=2.0, k=6, r=0.6)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    saves = tmp_path_factory.mktemp("played")
    saved = sessions.create(
        saves, SessionConfig("pantry", model="prior/verbs", episodes=3, settings=SETTINGS), "run"
    )
    run(saved, saves)
    return saves, saved.name


@pytest.fixture
def folder(original, tmp_path):
    """A copy of the session, with its memory, that a test may change."""
    saves, name = original
    shutil.copytree(saves, tmp_path / "saves")
    return tmp_path / "saves" / "sessions" / name


def stored(folder: Path):
    """Return the entries, the corrections and the number of steps of the memory on disk."""
    with Memory(folder.parent.parent / "memory") as memory:
        scope = memory.scope(memory.scopes()[0])
        return {int(e) for e in scope.table(0.5).entry}, dict(scope.corrections())


@asynccontextmanager
async def watching(folder: Path, size=(100, 32), episode=3):
    """Show a decision that several remembered steps are behind, with the focus on the memory pane."""
    source = ReplaySource(lambda: recording.read(folder), delay=0.0, paused=True, path=folder)
    app = JitrlApp(lambda: WatchScreen(source, delay=1.0), saves=folder.parent.parent)
    async with app.run_test(size=size) as pilot:
        screen = app.watching
        await until(pilot, lambda: screen.view.activity == "paused")
        source.seek_step(episode, 0)
        await until(pilot, lambda: screen.view.episode == episode and screen.choice is not None)
        await pilot.press("m")
        await still(pilot)
        yield pilot, screen


async def pressed(pilot, *keys):
    """Press keys, and wait for the work that they begin."""
    for key in (*keys, ""):
        if key:
            await pilot.press(key)
        await pilot.pause()
        end = time.monotonic() + 60
        while any(busy(screen) for screen in pilot.app.screen_stack):
            assert time.monotonic() < end, screen_text(pilot.app)
            await pilot.pause(0.01)
    await pilot.pause(0.05)


def busy(screen) -> bool:
    """Whether decisions are being made again, or memory is being searched or changed."""
    work = screen.memory_trial.work if isinstance(screen, WatchScreen) else getattr(screen, "work", None)
    return bool(work is not None and work.busy) or bool(isinstance(screen, WhatIfScreen) and screen.busy)


async def typed(pilot, text: str, *keys):
    """Replace the text of the field with the focus, and press keys."""
    field = pilot.app.focused
    assert isinstance(field, Input)
    field.value = text
    await pressed(pilot, *keys)


@pytest.mark.parametrize(("retrieval", "weight"), [("jaccard", 0.5), ("hybrid", 0.0)])
def test_where_nothing_is_similar_enough_the_nearest_step_is_shown_with_what_it_lacks(tmp_path, retrieval, weight):
    # In the mode hybrid, r is the least similarity of the states alone, whatever the weight of histories is.
    settings = dataclasses.replace(SETTINGS, estimator="knn", r=1.0, history_weight=0.5, retrieval=retrieval)
    config = SessionConfig("pantry", model="prior/verbs", episodes=2, settings=settings)
    saved = sessions.create(tmp_path, config, "run")
    _, events = run(saved, tmp_path)
    alone = [e for e in events if isinstance(e, Decided) and e.episode == 2 and not e.decision.update.neighbours]
    (first, *_) = alone

    async def go():
        async with watching(tmp_path / "sessions" / saved.name, episode=2) as (pilot, screen):
            screen.source.seek_step(2, first.decision.step)
            await until(pilot, lambda: screen.choice and screen.choice.decision.step == first.decision.step)
            await until(pilot, lambda: screen.choice.nearest is not None)  # by itself, because the recording waits
            await still(pilot)
            assert "Nothing similar (best " in " ".join(screen.query_one(CandidatesPane).plain_text().split())
            return " ".join(screen.query_one(MemoryPane).plain_text().split())

    shown = asyncio.run(go())
    best, needs = map(float, re.search(r"best ([\d.]+), needs ([\d.]+) \(", shown).groups())
    state = first.decision.state
    with Memory(tmp_path / "memory") as memory:
        lived = [(e.number, step) for e in memory.scope(memory.scopes()[0]).episodes() for step in e.steps]
    likes = [
        (1 - weight) * jaccard(state.tokens, one.state.tokens)
        + weight * jaccard(state.history_tokens, one.state.history_tokens)
        for episode, one in lived if episode < 2
    ]  # fmt: skip
    assert (best, needs) == (pytest.approx(max(likes), abs=0.006), 1.0)


def jaccard(one, other) -> float:
    one, other = set(one), set(other)
    return len(one & other) / len(one | other) if one | other else 1.0


def test_candidates_give_empty_rows_to_a_memory_pane_that_scrolls(folder):
    async def go():
        async with watching(folder, size=(140, 38)) as (pilot, screen):
            candidates, memory = screen.query_one(CandidatesPane), screen.query_one(MemoryPane)
            full = screen.panes._layout.rows(screen.panes._kinds["candidates"])
            made = [e for _, e in recording.read(folder) if isinstance(e, Decided) and e.decision.update.neighbours]
            few = min(made, key=lambda e: (len(e.decision.candidates), -len(e.decision.update.neighbours)))
            screen.source.seek_step(few.episode, few.decision.step)
            await until(pilot, lambda: screen.run.choice.decision == few.decision)
            await still(pilot)
            assert memory.virtual_size.height > memory.size.height - 2
            assert candidates.region.height == candidates.virtual_size.height + 2 < full

    asyncio.run(go())


def test_only_a_memory_pane_with_the_focus_has_a_cursor_and_the_influence_of_each_step_stands_in_its_row(folder):
    async def go():
        async with watching(folder) as (pilot, screen):
            pane = screen.query_one(MemoryPane)

            def reversed_rows():
                lines = [pane.line(y) for y in range(pane.size.height)]
                return sum(any(part.style and part.style.reverse for part in line) for line in lines)

            await until(pilot, lambda: reversed_rows() == 1)
            at = (3, screen.choice.decision.step)
            await pressed(pilot, "i")
            with whatif.open_recording(folder, folder.parent.parent) as run_:
                ranked = whatif.influence(run_, at)
            rows = pane.plain_text()
            assert len(ranked) > 2
            for rank in range(1, len(ranked) + 1):
                assert f"#{rank} π" in rows
            await pressed(pilot, "escape")
            assert "#1" not in pane.plain_text()
            await pilot.press("1")
            await until(pilot, lambda: screen.focused is not pane and reversed_rows() == 0)

    asyncio.run(go())


def test_a_step_is_forgotten_on_trial_and_memory_changes_only_when_it_is_kept(folder):
    async def go():
        before = stored(folder)
        async with watching(folder) as (pilot, screen):
            made = screen.choice.decision
            pane = screen.query_one(MemoryPane)
            await pressed(pilot, "j", "down", "k")
            hit = pane.hit
            assert hit == made.update.neighbours[1]
            await pressed(pilot, "delete")
            shown = screen.choice.decision
            assert hit.entry not in [n.entry for n in shown.update.neighbours]
            with whatif.open_recording(folder, folder.parent.parent) as run_:
                same = whatif.trial(
                    run_, (3, made.step), memory_filter=MemoryFilter(without=frozenset({hit.entry}))
                ).now
            assert (shown.posterior, shown.update.valuation) == (same.posterior, same.update.valuation)
            told = " ".join(str(pilot.app.screen.query_one("#banner").content).split())
            assert told.startswith("TRIAL: ")
            assert f"Backspace undoes: forget '{hit.action}'" in told
            moved = max(
                zip(made.candidates, made.posterior, shown.posterior, strict=True), key=lambda row: abs(row[2] - row[1])
            )
            effect = f"'{moved[0].action}' {moved[1]:.0%} → {moved[2]:.0%}"
            assert effect in told or "this choice stays" in told
            assert "forget" in pane.plain_text()
            assert stored(folder) == before
            await pressed(pilot, "delete", "backspace")
            assert screen.choice.decision == shown
            await pressed(pilot, "backspace")
            assert screen.choice.decision == made
            assert "TRIAL" not in screen_text(pilot.app)
            await pressed(pilot, "delete", "escape")
            assert (screen.choice.decision, stored(folder)) == (made, before)
            # The keys that the line at the top names do the same wherever the focus is.
            await pressed(pilot, "delete", "3", "backspace")
            assert (screen.choice.decision, stored(folder)) == (made, before)
            await pressed(pilot, "S")
            assert stored(folder) == before
            await pressed(pilot, "4")
            gone = pane.hit.entry
            await pressed(pilot, "delete", "3", "S")
            assert stored(folder)[0] == before[0] - {gone}

    asyncio.run(go())


def test_a_return_is_edited_and_a_step_pinned(folder):
    async def go():
        async with watching(folder) as (pilot, screen):
            made, hit = screen.choice.decision, screen.query_one(MemoryPane).hit
            await pressed(pilot, "equals_sign")
            assert isinstance(pilot.app.screen, NumberDialog)
            await typed(pilot, "a lot", "enter")
            assert isinstance(pilot.app.screen, NumberDialog)
            await typed(pilot, "25", "enter")
            shown = screen.choice.decision.update.neighbours
            assert {n.entry: n.g for n in shown} == {n.entry: n.g for n in made.update.neighbours} | {hit.entry: 25.0}
            v = sum(n.g for n in shown) / len(shown)
            assert screen.choice.decision.update.valuation.v == pytest.approx(v)
            await pressed(pilot, "p")
            assert "◆" in screen.query_one(MemoryPane).plain_text()
            await pressed(pilot, "S")
            assert stored(folder)[1] == {hit.entry: Correction(g=25.0, pinned=True)}

    asyncio.run(go())


def test_a_step_opens_with_its_episode_and_the_episode_is_replayed(folder):
    async def go():
        async with watching(folder) as (pilot, screen):
            pane = screen.query_one(MemoryPane)
            hit = pane.hit
            # A click on the row of the cursor does what the key `v` does; on another row it moves the cursor.
            row = next(y for y, line in enumerate(pane.plain_text().split("\n")) if f" {hit.action} " in f"{line} ")
            await pilot.click(pane, offset=(4 + pane.gutter.left, row + 1 + pane.gutter.top))
            await still(pilot)
            assert pane.hit != hit
            await pilot.click(pane, offset=(4 + pane.gutter.left, row + pane.gutter.top))
            await still(pilot)
            assert pane.hit == hit
            await pilot.click(pane, offset=(4 + pane.gutter.left, row + pane.gutter.top))
            await until(pilot, lambda: isinstance(pilot.app.screen, HitDialog))
            assert "= edit  p pin  del forget" in screen_text(pilot.app)  # the keys of the pane
            text = screen_text(pilot.app)
            assert f"episode {hit.episode}, step {hit.step + 1}" in text
            assert hit.action in text
            await pressed(pilot, "R")
            await until(pilot, lambda: isinstance(pilot.app.screen, WatchScreen) and pilot.app.screen is not screen)
            replay = pilot.app.screen
            await until(pilot, lambda: replay.view.episode == hit.episode and replay.view.activity == "paused")
            await pressed(pilot, "q")
            await until(pilot, lambda: pilot.app.screen is screen)
            await pressed(pilot, "v", "delete")
            assert screen.memory_trial.trying

    asyncio.run(go())


def test_keys_of_the_memory_pane_are_in_the_palette_and_can_be_others(folder):
    async def go():
        preferences.use(preferences.Preferences(preferences.Config(Path("x"), keys={"memory_pane.open": "f8"})))
        async with watching(folder) as (pilot, screen):
            await pilot.press("v")
            assert pilot.app.screen is screen
            assert " f8 view  " in screen_text(pilot.app)
            await pilot.press("f8")
            await until(pilot, lambda: isinstance(pilot.app.screen, HitDialog))
            await pilot.press("escape", "ctrl+p")
            await until(pilot, lambda: "pause before the next action" in screen_text(pilot.app))
            assert "drop what is tried out" not in screen_text(pilot.app)  # nothing is
            await pilot.press(*"with its episode")
            await until(pilot, lambda: "f8  open the remembered step" in screen_text(pilot.app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, HitDialog))

    asyncio.run(go())


def test_what_if_tells_the_same_as_the_engine_and_goes_to_a_choice(folder):
    async def go():
        async with watching(folder, size=(80, 24)) as (pilot, screen):
            await pilot.press("K")
            await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
            window = pilot.app.screen
            await pressed(pilot)
            assert (window.outcome.differing, window.outcome.unlike) == ((), 0)
            await pressed(pilot, "left", "left", "left")
            beta = window.query_one(Sliders).now.beta
            assert beta < SETTINGS.beta
            with whatif.open_recording(folder, folder.parent.parent) as run_:
                same = whatif.what_if(run_, {"beta": beta})
            assert len(same.differing) == len(window.outcome.differing) > 0
            assert same.sentence in " ".join(screen_text(pilot.app).split())
            assert same.without[1:] in str(window.query_one("#progress", Static).content)
            listed = window.query_one(RowList)
            assert listed.count == len(same.differing) + len(same.moving)
            assert list(map(whatif.shift, same.moving)) == sorted(map(whatif.shift, same.moving), reverse=True)
            await pressed(pilot, "0")
            assert window.outcome.differing == ()
            await pressed(pilot, "down", "enter")
            await typed(pilot, "2000", "enter")
            await until(pilot, lambda: "k must lie between" in screen_text(pilot.app))
            await pressed(pilot, "escape")
            assert window.query_one(Sliders).now.k == SETTINGS.k
            await pressed(pilot, "up", "left", "left", "left", "tab", "enter")
            first = same.differing[0]
            await until(pilot, lambda: pilot.app.screen is screen)
            there = (first.episode, first.recorded.step)
            await until(pilot, lambda: (screen.choice.episode, screen.choice.decision.step) == there)

    asyncio.run(go())


def test_the_memory_screen_filters_sorts_edits_and_undoes(folder):
    async def go():
        async with watching(folder) as (pilot, screen):
            await pressed(pilot, "r")
            window = pilot.app.screen
            assert isinstance(window, MemoryScreen)
            total = len(window.table)
            assert window.query_one(RowList).count == total == len(stored(folder)[0])
            await pressed(pilot, "slash")
            await typed(pilot, "G>0.5 ep:2", "enter")
            kept = [window.table.g[row] for row in window.rows]
            assert kept
            assert min(kept) > 0.5
            assert {int(window.table.episode[row]) for row in window.rows} == {2}
            await pressed(pilot, "slash")
            await typed(pilot, "G>..", "enter")
            await pressed(pilot, "slash")
            await typed(pilot, "take pork", "enter")
            with Memory(folder.parent.parent / "memory") as memory:
                scope = memory.scope(memory.scopes()[0])
                found = {hit.entry for hit in report.search(scope, ["take", "pork"], gamma=0.5)}
            assert {int(window.table.entry[row]) for row in window.rows} == found
            assert 0 < len(found) < total
            await pressed(pilot, "escape", "s", "s", "s")
            assert window.sort == "G"
            g = [float(window.table.g[row]) for row in window.rows]
            assert g == sorted(g, reverse=True)
            await pressed(pilot, "v")
            assert [float(window.table.g[row]) for row in window.rows] == sorted(g)
            await pressed(pilot, "I", "slash")
            await typed(pilot, "hits>2", "enter")
            assert 0 < len(window.rows) < total
            gone = window.entry
            assert not {"undo", "keep"} & set(screen_text(pilot.app).splitlines()[-1].split())
            await pressed(pilot, "delete")
            assert {"undo", "keep"} <= set(screen_text(pilot.app).splitlines()[-1].split())
            edited = window.entry
            await pressed(pilot, "equals_sign")
            await typed(pilot, "3.5", "enter")
            await pressed(pilot, "delete", "backspace")
            before = stored(folder)[0]
            await pressed(pilot, "S")
            assert stored(folder) == (before - {gone}, {edited: Correction(g=3.5)})
            await pressed(pilot, "U")
            assert stored(folder)[0] == before
            await pressed(pilot, "delete", "q")
            await pressed(pilot, "enter")
            await until(pilot, lambda: pilot.app.screen is screen)

    asyncio.run(go())


def test_the_memory_screen_merges_compares_and_exports(folder, tmp_path):
    async def go():
        with Memory(tmp_path / "other") as other:
            import random

            other.scope("game/other").append(make_episode(random.Random(1), "x"))
        async with watching(folder) as (pilot, _):
            await pressed(pilot, "r", "M")
            await typed(pilot, str(tmp_path / "nothing"), "enter")
            await pressed(pilot, "M")
            await typed(pilot, str(tmp_path / "other"), "enter")
            await pressed(pilot, "X")
            await typed(pilot, str(tmp_path / "out.jsonl"), "enter")
            written = (tmp_path / "out.jsonl").read_text()
            await pressed(pilot, "M")
            await typed(pilot, str(tmp_path / "other"), "enter")
            (tmp_path / "mine").write_text("mine")
            await pressed(pilot, "X")
            await typed(pilot, str(tmp_path / "mine"), "enter")
            assert (tmp_path / "mine").read_text() == "mine"
            await pressed(pilot, "D")
            await typed(pilot, str(tmp_path / "out.jsonl"), "enter")
            assert "3 episodes alike" in screen_text(pilot.app)
            await pressed(pilot, "escape", "left_square_bracket")
            assert "game/other" in screen_text(pilot.app)
        with Memory(folder.parent.parent / "memory") as memory:
            assert "game/other" in memory.scopes()
        assert written.count("\n") == 4

    asyncio.run(go())


def test_one_key_takes_out_what_was_merged_last_and_says_so(folder, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.scope("game/other").append(make_episode(random.Random(1), "x"))

    def sizes() -> dict[str, int]:
        with Memory(folder.parent.parent / "memory") as memory:
            return {name: len(memory.scope(name)) for name in memory.scopes() if len(memory.scope(name))}

    before = sizes()

    async def go():
        async with watching(folder) as (pilot, screen):
            choice = screen.choice.decision
            await pressed(pilot, "r", "M")
            await typed(pilot, str(tmp_path / "other"), "enter")
            assert any("Backspace takes them out again" in told.message for told in pilot.app._notifications)
            merged = sizes()
            assert merged.keys() - before.keys() == {"game/other"}
            await pressed(pilot, "backspace")
            assert sizes() == before
            await pressed(pilot, "backspace")  # there is nothing more to undo
            assert sizes() == before
            await pressed(pilot, "U")
            assert sizes() == merged
            await pressed(pilot, "escape")
            assert screen.choice.decision == choice

    asyncio.run(go())


def test_a_large_memory_is_listed_at_once(tmp_path):
    rng = random.Random(2)
    with Memory(tmp_path / "memory") as memory:
        scope = memory.scope("game/test")
        one = [make_episode(rng, f"e{n}", steps=500) for n in range(4)]
        scope.append_all(
            dataclasses.replace(episode, uid=f"{episode.uid}-{n}") for n in range(2) for episode in one
        )
        app = JitrlApp(lambda: MemoryScreen(memory, "", tmp_path), saves=tmp_path)

        async def go():
            async with app.run_test(size=(140, 45)) as pilot:
                await still(pilot)
                window = app.screen
                made = []
                row = window.query_one(RowList)._make
                window.query_one(RowList)._make = lambda at, width: made.append(at) or row(at, width)
                await pressed(pilot, "s", "s", "s", "end")
                assert len(window.rows) == 4_000
                assert len(made) < 1000  # only rows in sight are made

        asyncio.run(go())


def test_another_memory_is_chosen_from_a_list_and_compared(folder):
    saves = folder.parent.parent
    with Memory(saves / "sessions" / folder.name / "memory") as own:
        own.scope("game/test").append_all([make_episode(random.Random(3), "e1")])
    manifest = folder / "session.json"
    manifest.write_text(manifest.read_text().replace('"shared"', '"own"'))

    async def go():
        with Memory(saves / "memory") as memory:
            app = JitrlApp(lambda: MemoryScreen(memory, "", saves), saves=saves)
            async with app.run_test(size=(140, 45)) as pilot:
                await still(pilot)
                window = app.screen
                window.changes.compare()
                await until(pilot, lambda: "kB" in screen_text(app))
                assert f"{folder.name} (pantry)" in screen_text(app)
                assert "shared memory" not in screen_text(app)  # it is the one on the screen
                await pilot.press("enter")
                await until(pilot, lambda: "mean of the points that followed" in screen_text(app))

    asyncio.run(go())


def test_what_is_kept_while_a_session_waits_is_used_for_the_decision_that_waits(tmp_path):
    config = SessionConfig("pantry", model="prior/verbs", episodes=3, settings=SETTINGS)
    saved = sessions.create(tmp_path, config, "watch")
    app = JitrlApp(lambda: _watch(saved, tmp_path), saves=tmp_path)

    async def go():
        async with app.run_test(size=(140, 45)) as pilot:
            screen = app.watching
            await until(pilot, lambda: screen.view.choice is not None)
            screen.source.pause()
            screen.source.fast_forward(1)
            view = screen.view
            await until(pilot, lambda: view.episode == 3 and view.activity == "paused" and view.pending)
            await pressed(pilot, "m")
            made, hit = screen.choice.decision, screen.query_one(MemoryPane).hit
            assert hit is not None
            await pressed(pilot, "delete")
            tried = screen.choice.decision
            assert tried != made
            await pressed(pilot, "S")
            await until(pilot, lambda: "You changed memory" in screen.view.choice.decision.why)
            now = screen.choice.decision
            assert (now.posterior, now.action) == (tried.posterior, tried.action)
            screen.source.stop()
            await until(pilot, lambda: screen.view.ended is not None)

    asyncio.run(go())
    with whatif.open_recording(saved.folder, tmp_path) as again:
        assert again.episodes


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Return a saves folder, and a session in it whose beta was changed to 0.5, with its events."""
    saves = tmp_path_factory.mktemp("changed")
    return saves, *played(saves, KNN, {"beta": 0.5})


def test_the_sliders_begin_at_the_settings_in_force(changed):
    _, saved, _ = changed

    async def go():
        async with watching(saved.folder) as (pilot, _):
            await pressed(pilot, "K")
            await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
            await pressed(pilot)
            sliders, window = pilot.app.screen.query_one(Sliders), pilot.app.screen
            assert (sliders.now.beta, sliders.changes, window.outcome.differing) == (0.5, {}, ())
            await pressed(pilot, *["right"] * 5)
            assert sliders.changes == {"beta": KNN.beta}  # what the session began with
            assert set(window.outcome.changed) == {"beta"}

    asyncio.run(go())


def test_what_if_shows_the_choice_with_each_value_of_the_chosen_setting(changed):
    saves, saved, _ = changed

    async def go():
        async with watching(saved.folder, size=(140, 45)) as (pilot, screen):
            at = (screen.choice.episode, screen.choice.decision.step)
            await pressed(pilot, "K")
            await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
            for name, keys in (("beta", ()), ("alpha", ("down", "down", "down"))):
                await pressed(pilot, *keys)
                sliders = pilot.app.screen.query_one(Sliders)
                assert sliders.name_at == name
                head, *rows = pilot.app.screen.query_one(OtherValues).plain_text().splitlines()
                assert STOPS[name][0] in head
                stops = sliders.stops(name)
                assert len(rows) == len(stops)
                with whatif.open_recording(saved.folder, saves) as run_:
                    for value, row in zip(stops, rows, strict=True):
                        now = whatif.trial(run_, at, changes={name: value}).now
                        assert row.removeprefix("▸").split()[0] == f"{value:g}"
                        assert f"{now.action} " in row
                        assert f"{now.posterior[now.chosen]:.0%}" in row
                assert [row.startswith("▸") for row in rows].index(True) == stops.index(getattr(sliders.now, name))

    asyncio.run(go())


def test_what_memory_did_without_changing_a_choice_counts_as_a_tie(changed):
    saves, saved, events = changed
    made = [e.decision for e in events if isinstance(e, Decided)]
    other = [d for d in made if d.update.without_memory not in ("", d.action)]
    with whatif.open_recording(saved.folder, saves) as run_:
        outcome = whatif.what_if(run_)
    assert outcome.without_memory + outcome.ties == len(other)
    assert (f"in {outcome.ties} more" in outcome.without) == bool(outcome.ties)
