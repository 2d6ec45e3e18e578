"""What helps a person who plays: hints, notes, history, completion, the map, transcripts."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import os
import re
import signal
import stat
from html.parser import HTMLParser

import pytest
from textual import events

from engine.games.map import map_of
from engine.records import (
    Decided,
    EnvironmentInfo,
    EpisodeEnded,
    EpisodeStarted,
    Observation,
    SessionStarted,
    Stepped,
    TakenBack,
    Valuation,
)
from engine.session import recording
from engine.session import store as sessions
from engine.session.notes import Notes
from engine.session.store import open_memory
from engine.session.transcript import Part, Transcript, TranscriptStep, transcript_text
from engine.settings import SessionConfig, Settings
from jitrl_tui import command_table
from jitrl_tui.app import JitrlApp, _watch
from jitrl_tui.cli import main
from jitrl_tui.panes.map import MapPane
from jitrl_tui.runs import hits, session_files
from jitrl_tui.runs.hits import NOTHING_YET, Hints, best
from jitrl_tui.runs.places import RememberedMap, RunPlaces, exits, map_lines
from jitrl_tui.runs.session_files import MOST, SessionFiles, TypedHistory, history_of
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.screens.help import HelpDialog
from jitrl_tui.widgets.command import CommandLine
from tests import playing
from tests.tui import stream
from tests.tui.driving import replay_app, still, until, watch
from tests.tui.screen_text import screen_text


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 90))


CONFIG = SessionConfig(
    game="pantry", agent="jitrl", model="prior/uniform", settings=Settings(step_limit=9), episodes=2
)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a saves folder with a memory of three episodes of the pantry."""
    saves = tmp_path_factory.mktemp("played")
    arguments = ["run", "pantry", "--model", "prior/uniform", "--episodes", "3", "--steps", "12"]
    assert main([*arguments, "--saves", str(saves)]) == 0
    return saves


def play_app(saves):
    saved = sessions.create(saves, CONFIG, "play")
    return JitrlApp(lambda: _watch(saved, saves), saves=saves), saved


def waiting(pilot, step):
    """Return whether the session waits with the decision for this step."""

    def check():
        view = watch(pilot).view
        return view.activity == "paused" and view.pending and view.step == step

    return check


async def enter(pilot, text):
    await pilot.press(*("space" if c == " " else "slash" if c == "/" else c for c in text), "enter")


def made(**changes):
    decision = next(event.decision for event in stream.run(1, 1) if isinstance(event, Decided))
    return Choice(1, dataclasses.replace(decision, **changes))


# ------------------------------------------------------------------------------------------------ hints


@pytest.mark.parametrize(("action", "first"), [("take brass lantern", "take …"), ("north", "n…, one word")])
def test_the_first_hint_is_how_the_most_probable_action_begins_and_the_second_is_all_of_it(action, first):
    choice = made()
    at = choice.decision.posterior.index(max(choice.decision.posterior))
    candidates = [c if i != at else dataclasses.replace(c, action=action)
                  for i, c in enumerate(choice.decision.candidates)]  # fmt: skip
    choice = made(candidates=tuple(candidates))
    hints = Hints()
    said = [hints.next(choice, pending=True) for _ in range(3)]
    assert said[0].startswith("Hint 1 of 2, from ")
    assert said[0].endswith(f": {first}")
    assert said[1].startswith("Hint 2 of 2, from ")
    assert said[1].endswith(f": {action}")
    assert said[2] == said[1]
    other = dataclasses.replace(choice, episode=2)
    assert hints.next(other, pending=True) == said[0]


# ------------------------------------------------------------------------------------- the agent's view


def test_what_the_agent_would_do_is_shown_when_it_is_asked_for_and_hidden_again(played):
    async def go():
        app, _ = play_app(played)
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, waiting(pilot, 0))
            screen = watch(pilot)
            await still(pilot)
            kinds = [name for name, kind in screen.panes._kinds.items() if kind.advice]
            assert kinds == ["candidates", "why", "memory"]

            def visible():
                return [name for name in kinds if screen.query_one(f"#{name}").display]

            assert not visible()
            assert "F3 agent's view" in screen_text(app)
            alone = app.screen.query_one(MapPane).known().places
            await pilot.press("f3")
            await still(pilot)
            assert visible() == kinds
            await until(pilot, lambda: len(app.screen.query_one(MapPane).known().places) > len(alone))
            assert isinstance(app.focused, CommandLine)
            await pilot.resize_terminal(80, 24)  # one at a time
            await still(pilot)
            assert len(visible()) <= 1
            assert "F3 hide agent" in screen_text(app)
            await pilot.press("f3")
            await still(pilot)
            assert not visible()
            assert isinstance(app.focused, CommandLine)
            await enter(pilot, "/why")  # asked for one of them by name
            await still(pilot)
            assert "why" in visible()

    drive(go())


# ----------------------------------------------------------------------------------------- our words


def test_a_word_that_is_also_ours_is_asked_about_once_and_the_answer_is_not_told_in_the_command_line(tmp_path):
    async def go():
        app, _ = play_app(tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, waiting(pilot, 0))
            line = app.screen.query_one(CommandLine)
            assert watch(pilot).view.choice.decision.action not in line.placeholder
            await enter(pilot, "Help")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, HelpDialog))
            await pilot.press("escape")
            await enter(pilot, "help")
            await until(pilot, lambda: isinstance(app.screen, HelpDialog))
            await pilot.press("escape")
            assert watch(pilot).view.step == 0
            await enter(pilot, "map")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("escape")  # neither: nothing is sent, and it is asked again
            assert watch(pilot).view.step == 0
            assert watch(pilot).view.pending
            await enter(pilot, "map")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("s")
            await until(pilot, waiting(pilot, 1))
            await enter(pilot, "map")
            await until(pilot, waiting(pilot, 2))
            assert [p.text for p in watch(pilot).view.paragraphs if p.kind == "command"] == ["map", "map"]

    drive(go())


def test_there_is_no_hint_without_a_pending_decision_or_where_nobody_knows_anything():
    hints = Hints()
    assert hints.next(None, pending=False) == NOTHING_YET
    assert hints.next(made(), pending=False) == NOTHING_YET
    even = made(posterior=(1 / 3,) * 3, parts=())
    assert best(even.decision)[1] == ""
    assert "neither the agent nor memory" in hints.next(even, pending=True)


# ---------------------------------------------------------------------------------------------- history


def test_what_is_typed_is_kept_for_the_next_session_of_the_same_game_alone(tmp_path):
    history = history_of(tmp_path, "pantry")
    for line in ("go east", "go east", "", "/note x"):
        history.add(line)
    history.add("fill('e3', 'secret')", keep=False)
    assert history.lines == ["go east", "/note x", "fill('e3', 'secret')"]
    again = history_of(tmp_path, "pantry")
    assert again.lines == ["go east", "/note x"]
    assert history_of(tmp_path, "zork1").lines == []
    (file,) = (tmp_path / "typed").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "secret" not in file.read_text()


def test_a_long_history_is_cut_and_one_that_cannot_be_read_is_empty(tmp_path):
    path = tmp_path / "typed.txt"
    path.write_text("".join(f"line {n}\n" for n in range(3 * MOST)))
    assert TypedHistory(path).lines[-1] == f"line {3 * MOST - 1}"
    assert len(path.read_text().splitlines()) == MOST
    path.write_bytes(b"\xff\n")
    history = TypedHistory(path)
    history.add("x")
    assert history.lines == ["x"]


def test_up_and_down_go_through_the_history_and_what_was_begun_comes_back(tmp_path):
    async def go():
        history_of(tmp_path, "pantry").add("go north")
        app, _ = play_app(tmp_path)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, waiting(pilot, 0))
            line = app.screen.query_one(CommandLine)
            await enter(pilot, "take pork chop")
            await until(pilot, waiting(pilot, 1))
            await pilot.press("t", "a", "up")
            assert line.value == "take pork chop"
            await pilot.press("up")
            assert line.value == "go north"
            await pilot.press("down", "down")
            assert line.value == "ta"
            await pilot.press("ctrl+u", "slash", "h", "i", "tab")
            assert line.value == "/hint"
            await pilot.press("enter")
            await until(pilot, lambda: "Hint 1 of" in screen_text(app) or "no hint" in screen_text(app))
            assert watch(pilot).view.step == 1
        assert history_of(tmp_path, "pantry").lines == ["go north", "take pork chop", "/hint"]

    drive(go())


def test_completion_has_valid_actions_first_then_our_commands():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(100, 30)):
            line = CommandLine("other", TypedHistory())
            line._history.add("open sesame")
            await app.screen.mount(line)
            line.suggest_actions(made().decision)
            found = []
            for _ in range(len(stream.ACTIONS) + len(command_table.words()) + 1):
                line.action_complete(1)
                found.append(line.value)
            assert found == [*stream.ACTIONS, *command_table.words(), "open sesame"]

    drive(go())


# ------------------------------------------------------------------------------------------------ notes


def test_notes_are_taken_shown_and_written_with_the_transcript(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def go():
        app, saved = play_app(tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, waiting(pilot, 0))
            await enter(pilot, "/note chop is food")
            await until(pilot, lambda: Notes(saved.folder).all())
            await enter(pilot, "take pork chop")
            await until(pilot, waiting(pilot, 1))
            await pilot.press("f2", "N")
            await until(pilot, lambda: "chop is food" in screen_text(app))
            await pilot.press("a", "q", "enter")
            await until(pilot, lambda: len(Notes(saved.folder).all()) == 2)
            await still(pilot)
            assert app.is_running
            target = tmp_path / "o.md"
            await pilot.press("T")
            await until(pilot, lambda: "another name or folder" in screen_text(app))
            await pilot.press("o", "full_stop", "m", "d", "enter")
            await until(pilot, target.is_file)
            text = target.read_text()
            assert text.index("chop is food") < text.index("take pork chop**") < text.index("**Note:** aq")
            assert [(note.episode, note.step) for note in Notes(saved.folder).all()] == [(1, 0), (1, 1)]

    drive(go())


def test_a_note_survives_a_kill(tmp_path):
    pid = os.fork()
    if pid == 0:
        Notes(tmp_path).add("still here", 1, 2)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert [note.text for note in Notes(tmp_path).all()] == ["still here"]


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("form", ["txt", "md", "html"])
def test_a_transcript_has_the_reasons_only_if_they_are_asked_for(played, tmp_path, form):
    (session,) = [one for one in sessions.saved_sessions(played) if one.kind == "run"]
    reasons = {event.decision.why for _, event in recording.read(session.recording) if isinstance(event, Decided)}
    for wanted in (False, True):
        words = ["--thoughts"] if wanted else []
        target = tmp_path / f"{len(words)}.{form}"
        assert main(["sessions", "export", session.name, "-o", str(target), *words, "--saves", str(played)]) == 0
        text = target.read_text(encoding="utf-8")
        text = Page(text).text if form == "html" else text.replace("\\", "")
        assert {reason in text for reason in reasons} == {wanted}
    typed = session_files.export_as(session.recording, f"--thoughts {tmp_path / 'typed'}.{form}")
    assert typed.read_text() == target.read_text()


def test_what_a_story_says_is_no_markup_on_the_page():
    hostile = "<script>alert(1)</script> <img src=x onerror=y> &amp;"
    step = TranscriptStep(1, hostile, "human", hostile, hostile, "", 1.0, 1.0)
    made = Transcript(hostile, title=hostile, episodes=[Part(1, hostile, [step])])
    page = Page(transcript_text(made, "html", thoughts=True))
    assert page.tags == {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p"}
    assert page.text.count(hostile) == 7


def test_the_command_writes_transcripts_and_refuses_what_is_none(played, tmp_path, capsys):
    (name,) = [session.name for session in sessions.saved_sessions(played) if session.kind == "run"]
    place = ["--saves", str(played)]
    assert main(["sessions", "export", name, *place]) == 0
    assert capsys.readouterr().out.count("\nEpisode ") == 6
    assert main(["sessions", "export", name, "-o", str(tmp_path / "a.json"), *place]) == 0
    assert (tmp_path / "a.json").read_text().startswith('{\n "format": 1')
    assert main(["sessions", "export", name, "-o", str(tmp_path / "a.pdf"), *place]) == 2
    assert main(["sessions", "export", "nothing", *place]) == 2
    for words in (["export"], [name, "other"]):
        with pytest.raises(SystemExit, match="2"):
            main(["sessions", *words, *place])


# -------------------------------------------------------------------------------------------------- map


def counted(found) -> int:
    """Return the remembered steps of all places of a map."""
    return sum(place.count for place in found.places.values())


def walk(*rooms, points=(), added=1):
    """Yield the events of an episode that goes east through rooms, with the points of each step if it ends."""
    yield EpisodeStarted(1, 1, Observation("", place=rooms[0]))
    for step, room in enumerate(rooms[1:]):
        yield Stepped(1, step, "go east", Observation("", place=room, score=sum(points[: step + 1])), 0.0)
    if points:
        count = len(rooms) - 1
        yield EpisodeEnded(1, sum(points), None, count, True, False, "", (), (), added, added, 0, 0.0, 0.0, 0)


def test_places_of_a_run_have_ways_and_the_mean_of_the_points_that_followed():
    places = RunPlaces()
    for event in [*walk("A", "B", "C", points=(2.0, 1.0)), *walk("A", "B", points=(1.0,))]:
        places.fold(event)
    assert places.map.ways == {"A": {"go east": "B"}, "B": {"go east": "C"}}
    assert [places.map.places[name].value for name in "ABC"] == [2.0, 1.0, None]
    for event in walk("A", "B", points=(99.0,), added=0):  # not remembered: an agent without memory
        places.fold(event)
    assert places.map.places["A"].value == 2.0


def test_a_step_that_is_taken_back_counts_no_more():
    places = RunPlaces()
    *events, end = walk("A", "B", "C", points=(5.0, 0.0))
    for event in [*events, TakenBack(1, "go east", 1, Observation("", place="B")), end]:
        places.fold(event)
    assert places.here == "B"
    assert [places.map.places[name].count for name in "ABC"] == [1, 0, 0]


def test_the_map_of_memory_has_the_points_that_followed_the_steps_of_each_place(played):
    saved = sessions.create(played, CONFIG, "watch")
    from engine.environments import scope_rules
    from engine.memory import Memory

    with Memory(played / "memory", rules=scope_rules) as memory:
        (scope,) = memory.scopes()
        remembered = list(memory.scope(scope).episodes())
    about = EnvironmentInfo("pantry", "The Pantry", scope, 14.0)
    started = SessionStarted("s", about, "jitrl", "m", 1, "default", 1, 40, {})
    found = RememberedMap(played, saved).read(started, frozenset())
    kitchen = [
        sum(later.env_reward for later in episode.steps[at:])
        for episode in remembered
        for at, step in enumerate(episode.steps)
        if step.state.place == "Kitchen"
    ]
    # What was stored after the session began, and its own episodes, are not of before it.
    first = len(remembered[0].steps)
    assert counted(RememberedMap(played, saved).read(dataclasses.replace(started, next_entry=first), set())) == first
    own = RememberedMap(played, saved).read(started, {remembered[0].uid})
    assert counted(own) == counted(found) - first
    assert found.places["Kitchen"].count == len(kitchen) > 0
    assert found.places["Kitchen"].value == pytest.approx(sum(kitchen) / len(kitchen))
    assert found.ways == map_of(remembered).ways


def test_the_header_and_the_map_count_the_same_steps_and_episodes_have_their_number_in_memory(played):
    saved = sessions.create(played, dataclasses.replace(CONFIG, seed=5), "watch")
    files = SessionFiles.of(saved, played)
    view, checked = RunView(), 0
    _, events = playing.run(saved, played)
    for event in events:
        view.fold(event)
        if isinstance(event, Decided):
            known = files.remembered.read(view.started, view.places.uids)
            known.merge(view.places.map)
            assert counted(known) == view.memory_entries == hits_remembered(view)
            checked += 1
        if isinstance(event, EpisodeStarted):
            assert f"Episode {event.episode} of 2 (no. {event.remembered_as} in memory)" in view.paragraphs[-2].text
    assert checked == 18
    with open_memory(played, saved) as memory:
        stored = {one.uid: one.number for one in memory.scope(view.started.environment.scope).episodes()}
    assert {e.uid: e.remembered_as for e in events if isinstance(e, EpisodeStarted)}.items() <= stored.items()
    # A replay shows the same map.
    recorded = SessionFiles.recorded(saved.folder).remembered.read(view.started, view.places.uids)
    recorded.merge(view.places.map)
    assert counted(recorded) == view.memory_entries


def hits_remembered(view: RunView) -> int:
    """Return the number of steps that the memory pane and plain lines say."""
    choice = dataclasses.replace(view.choice, decision=dataclasses.replace(view.choice.decision, parts=(
        dataclasses.replace(view.choice.decision.update, neighbours=(), valuation=Valuation(0.0, (), (), ())),)))
    return int(re.search(r"([\d,]+) steps? (?:was|were) remembered", hits.why_nothing(choice, 0))[1].replace(",", ""))


def test_the_drawing_marks_this_place_tells_values_and_fits_every_width():
    pane = MapPane("map")
    first = walk("Hall", "Kitchen", "A very long name of a room", points=(-6.5, 4.5))
    for event in [*first, *walk("Hall", "Kitchen")]:
        pane._places.fold(event)
    for width in (40, 56, 90, 150):
        lines = [line.plain for line in pane.build(width, 20)]
        assert max(map(len, lines)) <= width
        text = "\n".join(lines)
        assert "[Kitchen]" in text
        assert "+4.5 ×1" in text
    assert "\N{MINUS SIGN}2.0 ×1" in text
    assert "Hall" in text
    assert "· " not in text.split("\n")[0]


def test_exits_that_were_never_taken_are_marked():
    places = RunPlaces()
    for event in walk("Hall", "Kitchen"):
        places.fold(event)
    decision = made(valid_actions=("go north", "go east", "open door")).decision
    assert exits(places.map, "Hall", decision) == "Hall: go east → Kitchen, go north → ?."
    assert map_lines(places.map, "Hall", decision)[0].startswith("You are here. Hall: go east → Kitchen")


def test_the_map_pane_shows_what_memory_knew_before_and_follows_the_walk(played):
    async def go():
        app, _ = play_app(played)
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, waiting(pilot, 0))
            await enter(pilot, "/map")
            await until(pilot, lambda: "[Kitchen]" in screen_text(app) and "×" in screen_text(app))
            await pilot.press("escape")
            await enter(pilot, "go east")
            await until(pilot, waiting(pilot, 1))
            await until(pilot, lambda: "[Bathroom]" in screen_text(app))

    drive(go())


def test_a_replay_seeks_with_its_map():
    view = RunView()
    for event in [*walk("A", "B")]:
        view.fold(event)
    twin = view.copy()
    for event in walk("A", "C"):
        view.fold(event)
    assert "C" not in twin.places.map.places
    assert twin.places.here == "B"



def test_every_command_of_the_table_that_asks_something_answers_in_plain_lines(tmp_path, monkeypatch, capsys):
    acting = ("quit", "load", "branch", "forward", "auto", "step", "go", "undo", "speed")
    asking = [command.usage for command in command_table.TYPED if command.name not in acting]
    lines = [usage.replace("TEXT", "x").replace("FILE", str(tmp_path / "x.txt")) for usage in asking]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, "/exit"]) + "\n"))
    assert main(["play", "pantry", "--plain", "--model", "prior/uniform", "--saves", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "There is no command" not in text
    assert "Error" not in text
    assert (tmp_path / "x.txt").is_file()
    assert "You are here. Kitchen: " in text
    assert "Note, episode 1, step 0: x" in text


@pytest.mark.parametrize("key", ["pageup", "pagedown"])
def test_the_page_keys_of_an_empty_list_do_nothing(key):
    from textual.app import App

    from jitrl_tui.widgets.options import Options

    class Empty(App[None]):
        def compose(self):
            yield Options()

    async def go():
        app = Empty()
        async with app.run_test() as pilot:
            app.query_one(Options).focus()
            await pilot.press(key)
            assert app.is_running

    drive(go())


def test_a_round_of_clumsy_input_loses_no_step_and_asks_for_none():
    from tests.bench import clumsy

    said = []
    assert clumsy.run(said.append, inputs=40, seed=7) == (1, 0), said


def test_pasted_lines_are_entered_one_after_the_other_and_the_last_part_waits(tmp_path):
    async def go():
        app, _ = play_app(tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, waiting(pilot, 0))
            line = app.screen.query_one(CommandLine)
            line.focus()
            await still(pilot)
            line.value, line.cursor_position = "go ", 3
            line.post_message(events.Paste("north\r\n\r\nlook\rgo s"))
            await until(pilot, waiting(pilot, 2))
            given = [p.text for p in watch(pilot).view.paragraphs if p.kind == "command"]
            assert ([*given], line.value) == (["go north", "look"], "go s")

    drive(go())
