"""The home screen: one key to watch, and clear words for what cannot be."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import re
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input

from engine.codec import event_to_line
from engine.environments import profile
from engine.errors import StorageError, UsageError
from engine.memory import Memory
from engine.records import EpisodeEnded, SettingsChanged, Stepped
from engine.session import store as sessions
from engine.session.recording import Recorder
from engine.settings import SessionConfig
from jitrl_tui.app import JitrlApp, _watch, home_screen
from jitrl_tui.cli import main
from jitrl_tui.preferences import current
from jitrl_tui.runs import session_summary
from jitrl_tui.runs.home_contents import BenchRow, GameRow, HomeContents, SessionRow, WebRow
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.session_summary import SessionSummary, summary_of
from jitrl_tui.screens.home import HomeScreen
from jitrl_tui.screens.home_actions import StoredHome
from jitrl_tui.screens.home_form import HowForm
from jitrl_tui.screens.home_preview import KnownPane, Preview, _step_lines
from jitrl_tui.screens.home_rows import session_head, session_line, sort_sessions
from jitrl_tui.screens.memory import MemoryScreen
from jitrl_tui.screens.race import RaceScreen
from jitrl_tui.screens.recordings import RecordingScreen
from jitrl_tui.screens.watch import WatchScreen
from tests.memory.lives import make_episode
from tests.tui import stream
from tests.tui.driving import settled, still, until, watch
from tests.tui.screen_text import screen_text

GAMES = [GameRow("pantry", "The Pantry", 10.0, True), GameRow("zork1", "[b]Zork[/b] I", 350.0)]


class Opened:
    """Collects what the home screen asks for, and answers with a recording."""

    def __init__(self, error: Exception | None = None):
        self.configs: list[SessionConfig] = []
        self.sessions: list[sessions.SavedSession] = []
        self.error = error
        self.done: list[tuple] = []

    def known(self, folder=None):
        return []

    def changed(self, *what) -> None:
        if self.error:
            raise self.error
        self.done.append(what)

    def change(self, saved, model: str, profile: str) -> WatchScreen:
        self.changed("change", saved.name, model, profile)
        return self.go_on(saved)

    def delete(self, saved) -> None:
        self.changed("delete", saved.name)

    def rename(self, saved, name: str) -> None:
        self.changed("rename", saved.name, name)

    def recording(self, saved) -> WatchScreen:
        self.changed("look", saved.name)
        return RecordingScreen(saved.folder)

    def bench(self, row: BenchRow) -> WatchScreen:
        self.changed("bench", row.folder.name)
        return RecordingScreen(row.folder)

    def begin(self, config: SessionConfig, *, play: bool = False) -> WatchScreen:
        if self.error:
            raise self.error
        self.configs.append(config)
        self.played = play
        return WatchScreen(ReplaySource(lambda: stream.recorded(stream.run()), delay=0.0), delay=0.0)

    def load(self) -> HomeContents:
        return self.offer() if callable(self.offer) else self.offer

    def scores(self, found: HomeContents) -> HomeContents:
        return found

    complete = scores

    def go_on(self, saved: sessions.SavedSession) -> WatchScreen:
        self.sessions.append(saved)
        return WatchScreen(ReplaySource(lambda: stream.recorded(stream.run()), delay=0.0), delay=0.0)


def app_with(opened: Opened, load=lambda: HomeContents(GAMES)) -> JitrlApp:
    opened.offer = load
    return JitrlApp(lambda: HomeScreen(opened))


def test_one_key_is_enough_to_watch():
    async def go():
        opened = Opened()
        app = app_with(opened)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "Press Enter to watch it learn The Pantry" in screen_text(app))
            assert "[b]Zork[/b] I" in screen_text(app)
            assert "local/smollm2" in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.watching)
            assert opened.configs == [SessionConfig(game="pantry", settings=profile("default"))]
            await until(pilot, lambda: watch(pilot).view.ended)

    asyncio.run(go())


def test_the_form_changes_what_is_played():
    async def go():
        opened = Opened()
        app = app_with(opened)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            await pilot.press("down", "tab", "right", "tab", "right", "tab")
            await pilot.press(*["backspace"] * 20, *"gemini/x", "tab", *["backspace"] * 4, "7", "tab")
            await pilot.press(
                *["backspace"] * 4, *"30", "tab", "backspace", "5", "tab", "right", "escape", "enter"
            )
            await until(pilot, lambda: opened.configs)
            config = opened.configs[0]
            assert (config.game, config.agent, config.model) == ("zork1", "static", "gemini/x")
            assert (config.profile, config.settings) == ("paper", profile("paper", step_limit=30))
            assert (config.episodes, config.settings.step_limit, config.seed) == (7, 30, 5)
            assert config.memory == "own"

    asyncio.run(go())


def test_the_method_is_told_and_what_it_needs_that_the_model_has_not():
    async def go():
        app = app_with(Opened())
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))

            async def form() -> str:
                """Return the words of the form on the right."""
                text = await settled(pilot)
                rows = [re.split("│┃|││|┃│", line)[-1] for line in text.splitlines()]
                return " ".join(" ".join(rows).replace("┃", " ").replace("│", " ").split())

            text = await form()
            assert "plans through memory; learns best with small models" in text
            assert "capable" not in text
            await pilot.press("tab", "right")
            text = await form()
            assert "method · neighbours" in text or "values: nearest neighbours" in text
            assert "the paper's JitRL: neighbours, LLM evaluator and summaries" in text
            assert "Needs a capable model, such as gemini/gemini-2.5-flash." in text
            assert "replaced by rules and said at the start." in text
            assert "memory ‹ shared › goes on with what it knows" in text
            await pilot.press("tab", "right")
            text = await form()
            assert "method · no memory" in text
            assert "capable" not in text
            await pilot.press("left", "tab", *["backspace"] * 20, *"gemini/x")
            assert "capable" not in await form()

    asyncio.run(go())


def test_what_cannot_be_is_said_and_nothing_breaks():
    async def go():
        app = app_with(Opened(StorageError("cannot write to /x: No space left; use --saves DIR")))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            await pilot.press("tab", "tab", "tab", "tab", *["backspace"] * 4, *"many", "enter")
            await until(pilot, lambda: "episodes must be a whole number, not 'many'" in screen_text(app))
            await pilot.press(*["backspace"] * 4, "3", "enter")
            await until(pilot, lambda: "No space left" in screen_text(app))

        def broken():
            raise RuntimeError("boom")

        app = app_with(Opened(), broken)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "Looking for games and sessions failed (RuntimeError: boom)" in screen_text(app))
            await pilot.press("q")
            await until(pilot, lambda: app._exit)

    asyncio.run(go())


def sessions_in(tmp_path: Path) -> list[SessionRow]:
    """Return three sessions, the last one finished."""
    rows = []
    for number, (game, model) in enumerate((("zork1", "gemini/gone"), ("pantry", "prior/verbs"), ("manor", "x/y"))):
        saved = sessions.create(tmp_path, SessionConfig(game=game, model=model, episodes=9), "watch")
        facts = SessionSummary((10.0, 35.0, 21.0), 350.0, True, 1.8e9 + number)
        rows.append(SessionRow(saved, facts, finished=number == 2))
    return rows


def at_home(opened: Opened, offer, go, size=(80, 24)):
    """Run `go(pilot, app)` on a home screen that has its contents."""

    async def run():
        app = app_with(opened, offer)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: "looking for games" not in screen_text(app))
            await go(pilot, app)

    asyncio.run(run())


def test_keys_that_are_typed_faster_than_they_are_taken_keep_their_order():
    async def go(pilot, app):
        field = app.screen.query_one("#model", Input)
        field.focus()
        field.value = "local/smollm2"
        await still(pilot)
        for key in [*["backspace"] * 20, *"pr", "left", "home", *"a", "end", *"ior"]:
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: field.value == "aprior")

    at_home(Opened(), lambda: HomeContents(GAMES), go)


def test_sessions_are_offered_with_score_progress_model_and_time_and_none_is_resumed_unasked(tmp_path):
    opened, rows = Opened(), sessions_in(tmp_path)

    async def go(pilot, app):
        text = await settled(pilot)
        (line,) = [line for line in text.splitlines() if "zork1" in line and "4/9" in line]
        assert "gemini/gone" in line
        assert "21/22.0/35" in line
        assert "manor" not in text  # it is finished
        assert "Press Enter to go on where this session stood." in text
        assert "3 of 9 episodes played, best score 35 of 350" in " ".join(text.split())
        assert not opened.sessions
        await pilot.press("down", "enter")
        await until(pilot, lambda: opened.sessions == [rows[1].saved])
        assert opened.configs == []

    at_home(opened, lambda: HomeContents(GAMES, rows), go)


def test_a_session_is_deleted_after_a_question_renamed_and_goes_on_with_another_model_and_profile(tmp_path):
    opened, rows = Opened(), sessions_in(tmp_path)
    first = rows[0].saved.name

    async def go(pilot, app):
        await pilot.press("delete")
        await until(pilot, lambda: "will be gone for ever; the game's memory keeps what it learnt" in " ".join(
            screen_text(app).replace("│", " ").replace("┃", " ").split()))
        await pilot.press("escape")
        await still(pilot)
        assert opened.done == []
        await pilot.press("x", "enter")
        await until(pilot, lambda: opened.done == [("delete", first)])
        await pilot.press("r")
        await until(pilot, lambda: first in screen_text(app))
        await pilot.press(*["backspace"] * 50, *"mine", "enter")
        await until(pilot, lambda: opened.done[1:] == [("rename", first, "mine")])
        await pilot.press("c")
        await until(pilot, lambda: "A new session plays the 6 episodes that are left" in screen_text(app))
        await pilot.press(*["backspace"] * 20, *"prior/verbs", "tab", "right", "right", "enter")
        await until(pilot, lambda: opened.done[2:] == [("change", first, "prior/verbs", "paper")])

    at_home(opened, lambda: HomeContents(GAMES, rows), go)


def test_recordings_and_benches_are_opened_and_left_for_the_home_screen(tmp_path):
    opened, rows = Opened(), sessions_in(tmp_path)
    recorder = Recorder(rows[2].saved.recording)
    for at, event in stream.recorded(stream.run(1, 2)):
        recorder.write(event, at)
    recorder.close()
    bench = BenchRow(rows[2].saved.folder, "Four agents", 3, 8, 1.8e9, played=True)

    async def go(pilot, app):
        for key, shown, done in (("4", "manor", "look"), ("5", "Four agents", "bench")):
            await pilot.press(key)
            await until(pilot, lambda shown=shown: shown in screen_text(app))
            await pilot.press("end", "enter")
            await until(pilot, lambda: isinstance(app.screen, RecordingScreen))
            assert opened.done[-1] == (done, rows[2].saved.name)
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert "▸ 3/8 cells" in screen_text(app)

    at_home(opened, lambda: HomeContents(GAMES, rows, benches=[bench]), go)


def test_sessions_are_filtered_and_sorted_and_the_marked_one_is_shown_beside_the_list(tmp_path):
    opened, rows = Opened(), sessions_in(tmp_path)
    recorder = Recorder(rows[0].saved.recording)
    for at, event in stream.recorded(stream.run(1, 2)):
        recorder.write(event, at)
    recorder.close()

    def listed(app):
        return [line.split()[1] for line in screen_text(app).splitlines() if " jitrl   " in line.partition("││")[0]]

    async def go(pilot, app):
        await pilot.press("4")
        await until(pilot, lambda: "last/avg/best" in screen_text(app))
        text = screen_text(app)
        assert "3 of 9 episodes played, best score 35 of 350" in text
        assert "> read leaflet" in text  # the last step of the recording
        given = [row.saved.config.game for row in rows]
        column = [line for line in text.splitlines() if any(f"┃ {game} " in line for game in given)]
        assert [next(game for game in given if f"┃ {game} " in line) for line in column] == given
        await pilot.press("s")
        await still(pilot)
        column = [line for line in screen_text(app).splitlines() if any(f"┃ {game} " in line for game in given)]
        assert [next(game for game in given if f"┃ {game} " in line) for line in column] == sorted(given)
        await pilot.press("slash", *"manor")
        await until(pilot, lambda: "zork1 " not in screen_text(app).replace("this", ""))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: "zork1 " in screen_text(app))

    at_home(opened, lambda: HomeContents(GAMES, rows), go, (160, 45))


def test_what_was_played_last_of_the_marked_game_is_shown_where_there_is_room(tmp_path):
    opened, rows = Opened(), sessions_in(tmp_path)
    game = GAMES[0].name
    config = dataclasses.replace(rows[0].saved.config, game=game)
    rows = [dataclasses.replace(rows[0], saved=dataclasses.replace(rows[0].saved, config=config)), *rows[1:]]

    async def go(pilot, app):
        await pilot.press("2")
        await until(pilot, lambda: "what was played last" in screen_text(app))
        text = screen_text(app)
        assert rows[0].saved.name in text
        assert "3 of 9 episodes played, best score 35" in text
        assert "how it is played" in text
        await pilot.resize_terminal(140, 30)  # the form needs the room
        await until(pilot, lambda: "what was played last" not in screen_text(app))
        assert "how it is played" in screen_text(app)

    at_home(opened, lambda: HomeContents(GAMES[:1], rows), go, (140, 45))


def test_web_tasks_are_started_with_the_steps_of_the_web_and_what_is_missing_has_its_command():
    opened = Opened()
    tasks = [WebRow("web:local-3", "Find [b]the[/b] sword"), WebRow("web:local-9", "Buy it", "shop")]
    offer = HomeContents(GAMES, web=tasks, missing=["Not here: shop. Get them with: jitrl web up --install"])

    async def go(pilot, app):
        await pilot.press("3")
        text = await settled(pilot)
        assert "Not here: shop. Get them with: jitrl web up --install" in " ".join(text.split())
        assert "needs shop" in text
        await pilot.press("enter")
        await until(pilot, lambda: opened.configs)
        assert opened.configs == [SessionConfig(game="web:local-3", settings=profile("default", "web"))]

    at_home(opened, lambda: offer, go, (140, 45))


def test_what_was_chosen_last_is_offered_first():
    async def go(pilot, app):
        await pilot.press("down", "tab", "right", "tab", "tab", *["backspace"] * 20, *"prior/verbs", "enter")
        await until(pilot, lambda: app.watching)

    async def again(pilot, app):
        assert "Press Enter to watch it learn [b]Zork[/b] I." in await settled(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: opened.configs)

    opened = Opened()
    at_home(Opened(), lambda: HomeContents(GAMES), go)
    assert current().remembered.values == {"game": "zork1", "session.model": "prior/verbs", "session.profile": "paper"}
    at_home(opened, lambda: HomeContents(GAMES), again)
    assert opened.configs == [
        SessionConfig(game="zork1", model="prior/verbs", profile="paper", settings=profile("paper"))
    ]


def test_a_stored_session_is_found_and_an_unknown_model_leaves_nothing_behind(tmp_path):
    saved = sessions.create(tmp_path, SessionConfig(game="zork1"), "watch")
    recorder = Recorder(saved.recording)
    for at, event in stream.recorded(stream.run(2, 3)[:-4]):
        recorder.write(event, at)
    recorder.close()
    sessions.create(tmp_path, SessionConfig(game="pantry"), "watch")  # without a step
    home = StoredHome(tmp_path, lambda saved: None)
    offer = home.complete(home.load())
    assert [row.saved.name for row in offer.unfinished] == [saved.name]
    assert {row.name for row in offer.games} >= {"pantry", "manor", "feast"}
    assert any(row.name == "web:local-40" for row in offer.web)
    before = sorted(path.name for path in (tmp_path / "sessions").iterdir())
    for begin in (
        lambda: home.begin(SessionConfig(game="pantry", model="local/nothing")),
        lambda: home.begin(SessionConfig(game="nothing", model="prior/verbs")),
        lambda: home.change(saved, "local/nothing", ""),
    ):
        with pytest.raises(UsageError):
            begin()
    assert sorted(path.name for path in (tmp_path / "sessions").iterdir()) == before


def test_a_game_is_played_by_hand_and_memory_is_looked_at_from_here(tmp_path):
    home = StoredHome(tmp_path, lambda saved: _watch(saved, tmp_path))
    app = JitrlApp(lambda: HomeScreen(home), saves=tmp_path)

    async def go():
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: "Press Enter to watch it learn" in screen_text(app))
            assert "p play" in screen_text(app)
            await pilot.press("m")
            await until(pilot, lambda: "Nothing is remembered yet" in screen_text(app))
            form = app.screen.query_one(HowForm)
            form.query_one("#model", Input).value = "prior/verbs"
            await pilot.press("6", "enter")
            await until(pilot, lambda: app.watching is not None and app.watching.view.pending)
            assert app.watching.view.started.episodes == 1
            await pilot.press(*"look", "enter")
            await until(pilot, lambda: app.watching.view.step == 1 and app.watching.view.pending)
            app.watching.source.stop()
            await until(pilot, lambda: app.watching.view.ended)

    asyncio.run(go())
    (saved,) = sessions.saved_sessions(tmp_path)
    assert saved.kind == "play"
    with Memory(tmp_path / "memory") as memory:
        memory.scope("game/test").append_all([make_episode(random.Random(1), "e1")])

    async def look():
        async with JitrlApp(lambda: HomeScreen(home), saves=tmp_path).run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: "Press Enter" in screen_text(pilot.app))
            await pilot.press("8")
            await until(pilot, lambda: "shared memory" in screen_text(pilot.app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, MemoryScreen))
            await until(pilot, lambda: "game/test" in screen_text(pilot.app))
            await pilot.press("q")
            await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen))

    asyncio.run(look())


def test_a_race_is_begun_left_and_gone_on_with_from_here(tmp_path):
    home = StoredHome(tmp_path, lambda saved: _watch(saved, tmp_path))
    app = JitrlApp(lambda: home_screen(tmp_path, None), saves=tmp_path)

    async def go():
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: "Press Enter to watch it learn" in screen_text(app))
            app.screen.query_one(HowForm).query_one("#model", Input).value = "prior/verbs"
            await pilot.press("7")
            await until(pilot, lambda: "Press Enter to race" in screen_text(app))
            assert "shared" not in screen_text(app)  # each racer begins with an empty memory
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, RaceScreen) and "score" in screen_text(app))
            await pilot.press("q", "enter")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            await pilot.press("7")
            await until(pilot, lambda: "pantry: static against jitrl" in screen_text(app))
            await pilot.press("end")
            await until(pilot, lambda: "Press Enter to go on with this race" in screen_text(app))

    asyncio.run(go())
    (row,) = home.complete(home.load()).races
    assert (row.game, row.racers, row.finished) == ("pantry", ["static", "jitrl"], False)


def test_branches_stand_below_the_session_that_they_come_from(tmp_path):
    rows = sessions_in(tmp_path)
    origin = sessions.Origin(rows[2].saved.name, 1, 0)
    rows[0] = dataclasses.replace(rows[0], saved=dataclasses.replace(rows[0].saved, origin=origin))
    names = [row.saved.name for row in rows]
    found = [(row.saved.name, depth) for row, depth in sort_sessions(rows, "changed")]
    assert found == [(names[1], 0), (names[2], 0), (names[0], 1)]
    assert f"└ {rows[0].saved.config.game}" in session_line(rows[0], 100, 1).plain


def test_rows_of_sessions_have_their_scores_as_bars_also_in_a_window_of_80_columns(tmp_path):
    row = sessions_in(tmp_path)[0]
    known = dataclasses.replace(row, facts=SessionSummary((1.0, 0.0, 4.0), 4.0, begun=True))
    assert "▃▁█" in session_line(known, 76).plain
    unread = session_line(dataclasses.replace(row, facts=SessionSummary(begun=True, read=False)), 76).plain
    assert "…/" in unread  # nothing is said of scores that were not read yet


def test_the_scores_of_a_recording_are_found_wherever_a_block_of_it_ends(tmp_path):
    saved = sessions_in(tmp_path)[0].saved
    lines = [event_to_line(event, at) + "\n" for at, event in stream.recorded(stream.run(3, 2))]
    saved.recording.write_text("".join(lines) + '{"event":"EpisodeEnded","score":9')
    wanted = tuple(event.score for _, event in stream.recorded(stream.run(3, 2)) if isinstance(event, EpisodeEnded))
    for size in (7, 1000, 1 << 16):
        session_summary._BLOCK = size
        try:
            assert summary_of(saved.recording).scores == wanted
        finally:
            session_summary._BLOCK = 64 * 1024
    assert summary_of(saved.recording, scores=False) == SessionSummary(
        (), None, True, saved.recording.stat().st_mtime, read=False
    )


@pytest.fixture(scope="module")
def learnt(tmp_path_factory) -> Path:
    """Return a saves folder with a memory of two episodes of the pantry."""
    saves = tmp_path_factory.mktemp("learnt")
    words = ["run", "pantry", "--model", "prior/verbs", "--episodes", "2", "--steps", "30", "--quiet"]
    assert main([*words, "--saves", str(saves)]) == 0
    return saves


def test_what_the_shared_memory_knows_of_a_game_stands_below_the_form_and_its_actions_not_before_one_plays(learnt):
    async def go():
        with Memory(learnt / "memory") as memory:
            (name,) = memory.scopes()
            scope = memory.scope(name)
            scores = [scope.score(place)[0] for place in range(2)]
            best = max((0, 1), key=lambda place: (scores[place], place))
            wanted = [step.action for step in list(scope.episodes())[best].steps]
            numbers = f"2 episodes, {len(scope):,} steps"
        app = JitrlApp(lambda: home_screen(learnt, None))
        async with app.run_test(size=(200, 60)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            await pilot.press("2")
            await until(pilot, lambda: numbers in screen_text(app))
            pane = app.screen.query_one(KnownPane)
            told = " ".join(pane.plain_text().split())
            way = " · ".join(wanted)
            assert f"The best episode, {scores[best]:g} points in {len(wanted)} steps: {way}"[:300] in told
            await pilot.press("6")
            await until(pilot, lambda: numbers in pane.plain_text() and "The best episode" not in pane.plain_text())
            await pilot.press("8")
            await until(pilot, lambda: numbers in app.screen.query_one(Preview).plain_text())
            await pilot.press("2", "down")
            await until(pilot, lambda: "Nothing is remembered yet" in pane.plain_text())

    asyncio.run(go())


def test_wide_rows_of_sessions_have_what_differs_from_the_default(tmp_path):
    row = sessions_in(tmp_path)[0]
    settings = dataclasses.replace(profile("paper"), beta=3.5)
    config = dataclasses.replace(row.saved.config, profile="paper", settings=settings, memory="own")
    other = dataclasses.replace(row, saved=dataclasses.replace(row.saved, config=config))
    usual = dataclasses.replace(row.saved.config, profile="default", settings=profile("default"), memory="shared")
    plain = dataclasses.replace(row, saved=dataclasses.replace(row.saved, config=usual))
    for width in (113, 190):
        assert "settings" in session_head(width, "changed").plain
        assert "paper, beta=3.5" in session_line(other, width).plain
        assert "default" not in session_line(plain, width).plain
        assert len(session_line(other, width).plain) <= width
    assert "paper, beta=3.5, own memory" in session_line(other, 190).plain
    assert "paper" not in session_line(other, 100).plain


def test_the_preview_has_what_a_person_changed_at_its_step(tmp_path):
    file = tmp_path / "recording.jsonl"
    events = stream.run(1, 4)
    steps = [at for at, event in enumerate(events) if isinstance(event, Stepped)]
    events.insert(steps[1] + 1, SettingsChanged(1, 2, {"beta": 3.0}, {"beta": 20.0}))
    file.write_text("".join(event_to_line(event, at) + "\n" for at, event in stream.recorded(events)))
    kinds = [type(one).__name__ for one in session_summary.last_steps(file, 3)]
    assert kinds == ["Stepped", "SettingsChanged", "Stepped", "Stepped"]
    change = session_summary.last_steps(file, 3)[1]
    assert [line.plain for line in _step_lines(change, 60, 2)] == ["! You changed settings here: beta 20 → 3."]


def test_an_answer_that_does_not_fit_the_preview_ends_with_dots(tmp_path):
    step = next(event for event in stream.run(1, 1) if isinstance(event, Stepped))
    text = "word " * 60
    long = dataclasses.replace(step, observation=dataclasses.replace(step.observation, text=text))
    _, *answer = _step_lines(long, 40, 2)
    assert len(answer) == 2
    assert answer[-1].plain.endswith("…")
    assert all(len(line.plain) <= 40 for line in answer)
