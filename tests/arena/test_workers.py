"""Cells whose workers share a memory and take their steps in turn."""

from __future__ import annotations

import json
import shutil
import threading

import pytest

from engine.bench import cell_player, suite
from engine.bench import folder as folders
from engine.bench import plan as plans
from engine.bench.manifest import read_manifest
from engine.bench.records import CellStepped as StepTold
from engine.bench.records import Ended, Failed, Finished
from engine.bench.report import load, markdown
from engine.errors import UsageError
from engine.kinds import EnvironmentContext
from engine.memory import Memory
from engine.records import Decided, EpisodeStarted, SessionStarted
from engine.session import recording
from engine.session.control import Control
from engine.session.recorded import RecordedRun
from engine.session.shared import Turns, play_in_turn
from tests.arena.running import planned

SUITE = """
title = "Workers"
tasks = ["pantry"]
models = ["prior/verbs"]
episodes = 4
steps = 6

[[arms]]
name = "graph"
agent = "jitrl"

[[arms]]
name = "graph, two"
agent = "jitrl"
workers = 2
against = "graph"

[[arms]]
name = "knn, two"
agent = "jitrl"
workers = 2
settings = { estimator = "knn", selection = "sample", beta = 1.0 }
"""


def play(cell, folder, saves, tell=lambda message: None, control=None):
    """Play what is left of a cell in this process; return its rows."""
    ends = []

    def outbox(message):
        tell(message)
        if isinstance(message, Failed):
            raise AssertionError(message.message)
        ends.append(message)

    cell_player.play(cell, folder, saves, outbox, control or Control())
    assert isinstance(ends[-1], Finished) or control is not None
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


class Run:
    """The cells of the suite, played; what each told; and copies of their folders at some moments."""

    def __init__(self, saves):
        self.saves = saves
        self.folder, cells = planned(SUITE, saves)
        self.cells = {cell.arm: cell for cell in cells}
        self.rows, self.told, self.left = {}, {}, []
        for arm, cell in self.cells.items():
            told = self.told[arm] = []
            place = folders.cell_folder(self.folder, cell.name)
            (place.parent).mkdir(parents=True, exist_ok=True)

            def tell(message, told=told, cell=cell, place=place):
                told.append(message)
                if self.kills(cell, told):
                    copy = saves / f"left-{len(self.left)}"
                    shutil.copytree(place, copy)
                    self.left.append((cell, copy))

            self.rows[arm] = play(cell, place, saves, tell)

    @staticmethod
    def kills(cell, told):
        """Whether the folder is to be kept as a kill -9 would leave it now."""
        steps = sum(isinstance(message, StepTold) for message in told)
        message = told[-1]
        if cell.workers == 1:
            return False
        # At the step that ends an episode, before that is committed: it is the other one's turn. And after its end.
        ends = isinstance(message, Ended) and steps == 12 and cell.arm == "graph, two"
        return ends or (isinstance(message, StepTold) and steps == 11)

    def place(self, arm):
        """The folder of a cell."""
        return folders.cell_folder(self.folder, self.cells[arm].name)

    def recordings(self, arm):
        """The events of each session of a cell."""
        return [list(recording.read(file)) for file in sorted(self.place(arm).glob("*/events.jsonl"))]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("saves"))


def test_one_worker_is_the_ordinary_cell(tmp_path):
    _, with_key = planned(SUITE.replace('agent = "jitrl"', 'agent = "jitrl"\nworkers = 1', 1), tmp_path, "one")
    _, without = planned(SUITE, tmp_path, "none")
    assert with_key[0] == without[0]
    assert len(with_key[0].legs) == with_key[0].workers == 1


def test_one_session_that_takes_turns_with_nobody_decides_as_one_that_plays_alone(run, tmp_path):
    cell = run.cells["graph"]
    rows = []

    def play_one(who, control):
        rows.extend(play(cell, tmp_path, run.saves, control=control))
        return True

    assert play_in_turn([0], play_one, Control())
    assert rows == run.rows["graph"]
    assert [row["order"] for row in rows] == [1, 2, 3, 4]


def test_workers_play_as_many_episodes_in_all_and_one_step_each_in_turn(run):
    rows = run.rows["graph, two"]
    assert sorted((row["leg"], row["episode"]) for row in rows) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [row["order"] for row in rows] == [1, 2, 3, 4]
    turns = [message.leg for message in run.told["graph, two"] if isinstance(message, StepTold)]
    assert turns == [0, 1] * 12  # no episode ends before its limit here


def test_rows_are_in_the_order_in_which_memory_has_the_episodes(run):
    for arm in ("graph, two", "knn, two"):
        with Memory(run.place(arm) / "000" / "memory") as memory:
            (name,) = memory.scopes()
            stored = [(episode.session, episode.score) for episode in memory.scope(name).episodes()]
        assert [(f"{row['leg']:03}", row["score"]) for row in run.rows[arm]] == stored


def test_the_draws_of_a_worker_are_those_of_its_episodes_of_the_whole(run):
    """Both workers know nothing in their first episodes, and so do what the same draws make of that."""
    first, second = run.recordings("knn, two")
    draws = [
        [event.decision.update.draw for _, event in events if isinstance(event, Decided) and event.episode == 1]
        for events in (first, second)
    ]
    assert draws[0] != draws[1]
    alone = [event.decision.update.draw for _, event in run.recordings("graph")[0] if isinstance(event, Decided)]
    assert draws[0] == alone[:6]
    assert draws[1] == alone[6:12]


@pytest.mark.parametrize("arm", ["graph, two", "knn, two"])
def test_a_worker_uses_what_the_others_committed(run, arm):
    others = 0
    for events in run.recordings(arm):
        own = {event.uid for _, event in events if isinstance(event, EpisodeStarted)}
        with Memory(run.place(arm) / "000" / "memory") as memory:
            scope = memory.scope(memory.scopes()[0])
            numbers = {episode.number for episode in scope.episodes() if episode.uid not in own}
        for _, event in events:
            if isinstance(event, Decided):
                others += sum(hit.episode in numbers for hit in event.decision.update.neighbours)
    assert others > 0


def test_a_worker_with_plans_takes_up_only_what_was_committed_before_its_episode_began(run):
    for events in run.recordings("graph, two"):
        known = 0
        for _, event in events:
            if isinstance(event, EpisodeStarted):
                assert event.next_entry == (event.episode - 1) * 12 or event.episode == 2
                known = event.next_entry
            elif isinstance(event, Decided):
                assert all(hit.entry < known or hit.entry == -1 for hit in event.decision.update.neighbours)


def test_an_interrupted_cell_goes_on_as_if_it_had_not_been(run):
    assert len(run.left) == 3
    for cell, folder in run.left:
        assert play(cell, folder, run.saves) == run.rows[cell.arm]


def test_a_stopped_cell_goes_on_as_if_it_had_not_been(run, tmp_path):
    cell, control = run.cells["graph, two"], Control()

    def tell(message):
        if isinstance(message, StepTold) and (message.leg, message.episode, message.step) == (1, 1, 4):
            control.stop()

    left = play(cell, tmp_path, run.saves, tell, control)
    assert left == []
    assert play(cell, tmp_path, run.saves) == run.rows["graph, two"]


def test_a_recorded_worker_decides_the_same_when_it_is_told_again(run):
    """What-if has no other way to know what a plan of a worker rested on than what the others stored, and when."""
    with Memory(run.place("graph, two") / "000" / "memory") as memory:
        scope = memory.scope(memory.scopes()[0])
        for events in run.recordings("graph, two"):
            told = RecordedRun(events, scope)
            again = list(told.again(from_memory=True))
            assert len(again) == 12
            assert all(one.same for one in again)


def test_manifest_recording_and_report_say_which_experiment_it_was(run):
    folders.gather(run.folder, [cell.name for cell in run.cells.values()])
    cells = read_manifest(run.folder)["cells"].values()
    assert {cell["arm"]: (cell["workers"], cell["experience"]) for cell in cells} == {
        "graph": (1, "sequential"),
        "graph, two": (2, "asynchronous, 2 workers, step-locked"),
        "knn, two": (2, "asynchronous, 2 workers, step-locked"),
    }
    started = [events[0][1] for events in run.recordings("graph, two")]
    assert all(isinstance(one, SessionStarted) for one in started)
    assert [(one.workers, one.worker, one.memory) for one in started] == [(2, 1, "own"), (2, 2, "own")]
    text = markdown(load(run.folder))
    assert "Sequential, so that an episode sees all before it: graph." in text
    assert "Asynchronous: 2 workers share each memory" in text
    assert "Compared with graph: graph, two." in text


def test_the_score_by_episode_is_in_the_order_of_commits(run):
    results = load(run.folder)
    (arm,) = (arm for arm in results.arms if arm.name == "graph, two")
    (played,) = results.finished(arm, results.everything).values()
    assert [(row.leg, row.episode) for row in played.rows] == [(r["leg"], r["episode"]) for r in run.rows["graph, two"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("episodes = 4", "episodes = 5"), "episodes: 5 cannot be divided among the 2 workers of graph, two"),
        (("workers = 2\nagainst", "workers = 65\nagainst"), "graph, two: workers: at most 64, not 65"),
        (('two"\nagent = "jitrl"', 'two"\nagent = "static"'), "static stores no episodes"),
        (('against = "graph"', 'against = "grph"'), "against: there is no other arm 'grph'"),
        (("workers = 2", "workers = 0"), "must be a whole number of at least 1, not 0"),
    ],
)
def test_what_workers_cannot_do_is_said_before_anything_is_played(change, message):
    with pytest.raises(UsageError, match=message):
        suite.parse(SUITE.replace(*change), "s", "s.toml")


def test_workers_in_turn_have_no_memory_on_a_server(tmp_path):
    with pytest.raises(UsageError, match="on this machine's disk, not on a server"):
        plans.make_plan(suite.parse(SUITE, "s", "s.toml"), EnvironmentContext(tmp_path), "s.toml", "postgresql://localhost/jitrl")


def test_an_arm_alone_is_compared_with_nobody():
    alone = suite.change_suite(suite.parse(SUITE, "s", "s.toml"), arms=("graph, two",))
    assert [arm.against for arm in alone.arms] == [""]


# ----------------------------------------------------------------------------------------------- turns


def test_turns_begin_with_who_has_taken_the_fewest():
    order, wanted = [], {0: 2, 1: 3, 2: 2}
    turns = Turns([5, 4, 5])

    def session(who):
        turns.open(who, lambda: None)
        for _ in range(wanted[who]):
            turns.wait(who, lambda: None)
            order.append(who)
        turns.leave(who)

    threads = [threading.Thread(target=session, args=(who,)) for who in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert order == [1, 0, 1, 2, 0, 1, 2]


def test_if_one_fails_the_others_stop():
    steps = []

    def play_one(who, control):
        for _ in range(100):
            control.turn()
            steps.append(who)
            if who == 1 and len(steps) > 5:
                raise UsageError("this one fails")
        return True

    with pytest.raises(UsageError, match="this one fails"):
        play_in_turn([0, 0, 0], play_one, Control())
    assert len(steps) < 10
