"""Runs of small suites on a Ray of this machine, and what is refused before anything is played."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest

from engine.bench.manifest import read_manifest
from engine.bench.on_ray import guard, hold, nodes, ray_address, ray_cluster, work
from engine.bench.records import CellStepped, Ended, Said
from engine.errors import MissingError, StorageError, UsageError
from engine.llm.calls import pace
from tests.arena.ray_nodes import folder_of, planned, runner, workers
from tests.arena.running import ALONE, bench, command, play, rows
from tests.arena.running import runner as local_runner

# Not imported before a test needs it: that takes a second.
pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: jitrl up ray")

HERE = "worked-in"
LONG = ALONE.replace("episodes = 3", "episodes = 12")


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    """Ray on this machine for one cell at a time. Nothing of it is left in the end."""
    with contextlib.ExitStack() as stack:
        # Ray leaves a variable that Python reads at its start, and what has such a variable is not forked for tests.
        stack.enter_context(patch.dict(os.environ))
        stack.enter_context(contextlib.chdir(tmp_path_factory.mktemp(HERE)))
        library = _patiently(lambda: stack.enter_context(ray_cluster.connect_ray("ray", 1)))
        folder = folder_of(library).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert guard.processes_using(folder)
        yield library
    assert not folder.exists()
    assert guard.processes_using(folder) == []


def _patiently(start):
    """Start Ray. On a busy machine it does not always wait long enough for its own processes."""
    for _ in range(5):
        try:
            return start()
        except MissingError as error:
            if "timed out" not in str(error):
                raise
    return start()


def test_rays_workers_import_nothing_of_the_folder_one_works_in(ray):
    def places():
        return [*sys.path, os.getcwd(), os.environ.get("PYTHONPATH", "")]

    told = ray.get(ray.remote(places).remote())
    assert "" not in told[:-2]
    assert [place for place in told if HERE in place] == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of the suite, played by processes of this machine."""
    code, folder = play(LONG, tmp_path_factory.mktemp("whole"))
    assert code == 0
    return (folder / "episodes.jsonl").read_bytes()


def test_a_killed_worker_is_resumed_and_the_rows_are_those_of_the_local_pool(ray, whole, tmp_path):
    plan, folder = planned(LONG, tmp_path)
    told, killed = [], []

    def tell(message):
        told.append(message)
        if isinstance(message, CellStepped) and not killed:
            killed.extend(workers(ray, message.cell))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    assert runner(ray, plan, folder, tmp_path, tell).run() == 0

    assert len(killed) == 1
    said = [message.message for message in told if isinstance(message, Said)]
    assert said == ["its worker died; it is resumed"]
    assert (folder / "episodes.jsonl").read_bytes() == whole != b""
    manifest = read_manifest(folder)
    host = os.uname().nodename
    assert (manifest["on"], set(manifest["nodes"])) == ("ray", {host})
    assert {cell["node"] for cell in manifest["cells"].values()} == {host}


def test_a_run_that_was_stopped_on_ray_goes_on_with_the_local_pool(ray, whole, tmp_path):
    plan, folder = planned(LONG, tmp_path)

    def tell(message):
        if isinstance(message, Ended):
            first.stop()

    first = runner(ray, plan, folder, tmp_path, tell)
    assert first.run() == 130
    assert 1 <= len(rows(folder)) < 12
    assert local_runner(folder, plan.cells, tmp_path, jobs=0).run() == 0
    assert (folder / "episodes.jsonl").read_bytes() == whole
    assert {read_manifest(folder)["cells"][cell.name]["node"] for cell in plan.cells} <= {"", os.uname().nodename}


def test_times_of_model_calls_are_shared_by_the_desk(ray, tmp_path):
    desk = ray.remote(work.Desk).options(num_cpus=0).remote(str(tmp_path / pace.PACE))
    ray.get(desk.move.remote("another model", 0.0, 0.0))  # it has started

    @ray.remote(num_cpus=0)
    def reserve(desk):
        pace.share(lambda name, gap, wait: work._moved(desk, name, gap, wait))
        return pace.Pace(Path("nowhere"), 1.0).reserve("openai/one")

    first = ray.get(reserve.remote(desk))
    ours = pace.Pace(tmp_path / pace.PACE, 1.0).reserve("openai/one")
    third = ray.get(reserve.remote(desk))

    assert first == 0.0
    assert ours == pytest.approx(60.0, abs=10.0), "sessions of the desk's machine keep to the same pace"
    assert third == pytest.approx(120.0, abs=20.0)


def test_a_resource_that_no_node_has_is_refused(ray, tmp_path, monkeypatch):
    plan, _ = planned(LONG, tmp_path)
    monkeypatch.setattr(nodes, "distinct", lambda cells: [{nodes.CORES: 1.0, "quantum": 1.0}])

    with pytest.raises(MissingError, match=r"no node of the Ray cluster has what a cell needs .*quantum"):
        nodes.check_nodes(ray, plan, tmp_path)


# ------------------------------------------------------------------------------- without a cluster


def test_cells_of_web_pages_need_a_browser_and_local_models_need_a_slot(tmp_path):
    plan, _ = planned(LONG, tmp_path)
    game = plan.cells[0]
    web = dataclasses.replace(game, legs=(dataclasses.replace(game.legs[0], task="web:local-1"),))
    model = dataclasses.replace(game, model="local/smollm2")

    assert set(nodes.needs(game)) == {"CPU", "memory"}
    assert nodes.needs(web)["browser"] == 1
    assert nodes.needs(model)["local_model"] == 1
    assert nodes.missing_needs([{"Resources": {"CPU": 4.0, "memory": 9e9}}], nodes.distinct([game])) == ""
    assert "browser" in nodes.missing_needs([{"Resources": {"CPU": 4.0, "memory": 9e9}}], nodes.distinct([game, web]))


STORIES = {"zork1": "aa"}


def answer(**changes):
    """Return what a node answers that has the same as this machine, with changes."""
    mine = {"versions": {"python": "3.11.7", "numpy": "2.3"}, "code": {"games": "12", "web": "34"}}
    same = {**mine, "host": "n1", "probe": "text", "locked": True, "stories": STORIES, "cannot": ""}
    return {**same, **changes}, mine


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"versions": {"python": "3.12.1", "numpy": "2.3"}}, UsageError, "n1 has python 3.12.1, and this machine"),
        ({"versions": {"python": "3.11.7"}}, UsageError, "numpy none"),
        ({"code": {"games": "12", "web": "99"}}, UsageError, "another version of jitrl .engine/web differs"),
        ({"probe": ""}, StorageError, "n1 does not see the saves folder /shared"),
        ({"probe": "old"}, StorageError, "n1 does not see the saves folder /shared"),
        ({"locked": False}, StorageError, "a lock of this machine in /shared is not seen by the node n1"),
        ({"cannot": "zork1: there is no game"}, MissingError, "n1 cannot play zork1: there is no game"),
        ({"stories": {"zork1": "bb"}}, UsageError, "another version of the story of zork1"),
    ],
)
def test_a_node_with_something_else_is_refused(changes, error, said):
    same, mine = answer()
    nodes._compare(same, mine, STORIES, "text", Path("/shared"))
    other, _ = answer(**changes)

    with pytest.raises(error, match=said):
        nodes._compare(other, mine, STORIES, "text", Path("/shared"))


def test_the_look_at_a_node_sees_the_folder_the_lock_and_the_stories(tmp_path):
    with nodes._probe(tmp_path) as (probe, text):
        seen = work.look(str(probe), str(tmp_path), None, ["pantry", "no-such"], ["no-such"])
        assert (seen["probe"], seen["locked"]) == (text, True)
    gone = work.look(str(probe), str(tmp_path), None, ["pantry"], ["pantry"])

    assert set(seen["stories"]) == {"pantry"}
    assert "no-such" in seen["cannot"]
    assert (gone["probe"], gone["locked"], gone["cannot"]) == ("", False, "")
    assert list((tmp_path / "bench").iterdir()) == []


def test_a_worker_that_was_superseded_stops_and_the_new_one_waits_for_it(tmp_path):
    hold.assign(tmp_path, "old")
    waited, begun, leave = threading.Event(), threading.Event(), threading.Event()

    def old():
        with hold.hold_cell(tmp_path, "old", lambda: False, lambda: None) as free:
            assert free
            begun.set()
            leave.wait(60)

    thread = threading.Thread(target=old)
    thread.start()
    assert begun.wait(60)
    hold.assign(tmp_path, "new")
    assert not hold.is_assigned(tmp_path, "old")
    with (
        pytest.raises(StorageError, match="another worker has been playing"),
        hold.hold_cell(tmp_path, "new", lambda: False, waited.set, wait_s=0.0),
    ):
        pass
    assert waited.is_set()
    with hold.hold_cell(tmp_path, "new", lambda: True, waited.set) as free:
        assert not free, "it was asked to stop while it waited"
    leave.set()
    with hold.hold_cell(tmp_path, "new", lambda: False, waited.set) as free:
        assert free
    with pytest.raises(hold.Superseded), hold.hold_cell(tmp_path, "old", lambda: False, waited.set):
        pass
    thread.join()


@pytest.mark.parametrize(
    ("on", "address"),
    [
        ("ray", "own"), ("ray:auto", "auto"), ("ray://head:7000", "head:7000"), ("ray://10.0.0.1", "10.0.0.1:6379"),
        ("ray://[fd00::1]:6379", "[fd00::1]:6379"),
    ],
)  # fmt: skip
def test_an_address_names_a_cluster(on, address):
    assert ray_address(on) == address


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("slurm", "--on takes local, ray, ray:auto or ray://HOST:PORT, not 'slurm'"),
        ("ray:/head", "--on takes"),
        ("ray://", "--on takes"),
        ("ray://user:secret@head", "--on takes"),
        ("ray://head:99999", "--on takes"),
        ("ray://head:10001", "10001 is that of Ray Client"),
    ],
)
def test_a_wrong_address_is_refused(on, said):
    with pytest.raises(UsageError, match=said):
        ray_address(on)


def test_without_ray_a_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingError, match="jitrl up ray"), ray_cluster.connect_ray("ray", 1):
        pass


@pytest.mark.parametrize(
    ("how", "on", "code", "said"),
    [(bench, "slurm", 2, "--on takes local"), (command, "ray://127.0.0.1:1", 3, "cannot join the Ray cluster at")],
)
def test_the_command_refuses_a_place_that_is_not_there_before_anything_is_written(how, on, code, said, tmp_path):
    done = how("quick", "--on", on, "--quiet", saves=tmp_path)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("bench/*"))
