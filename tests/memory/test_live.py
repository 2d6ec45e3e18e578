"""Sessions and runs that are followed and steered through the database of their memory, without their folders."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from engine import trust
from engine.bench import folder as folders
from engine.bench.follower import FollowedRun, RelayedRun
from engine.bench.progress import RunLimits
from engine.bench.records import Began, CellStepped, Ended, Finished
from engine.bench.run_events import RunBegan, RunOver, RunWriter
from engine.errors import BadFile, StorageError, UsageError
from engine.records import SessionEnded, SessionStarted, Steered
from engine.records import Stepped as StepTaken
from engine.session import recording
from engine.session import store as sessions
from engine.session.control import Control
from engine.session.loop import Session
from engine.session.remote import relay as relays
from engine.session.remote.commands import who
from engine.session.remote.followed import RemoteControl
from engine.session.remote.relay import Relay
from engine.session.remote.relayed import RelayedLines, RelayedSession, newest_of
from engine.settings import SessionConfig, Settings
from tests.arena.running import SMALL, planned


def database_of(address: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    return conninfo_to_dict(address)["dbname"]


def soon(condition, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


def lines_of(followed: RelayedLines, count: int) -> list[bytes]:
    """Follow until so many lines came."""
    found: list[bytes] = []

    def look():
        followed.look()
        found.extend(followed.new())
        return len(found) >= count

    soon(look)
    return found


@pytest.fixture
def address(own_database):
    return own_database


@pytest.fixture
def relay(address, tmp_path):
    """A relay of a file, which is not begun yet."""
    made = Relay(address, "a session", tmp_path / "events.jsonl")
    yield made
    made.close()


def append(file: Path, *lines: bytes) -> None:
    with open(file, "ab") as out:
        out.write(b"".join(lines))


def test_lines_arrive_once_and_in_order_and_only_while_somebody_follows(relay, address, tmp_path, cluster):
    append(tmp_path / "events.jsonl", b"1\n", b"2\n")
    relay.show("here")
    relay.start()
    followed = RelayedLines(address, "a session")
    soon(followed.look)
    assert followed.sign == "here"
    assert lines_of(followed, 2) == [b"1\n", b"2\n"]
    append(tmp_path / "events.jsonl", b"3\n", b"4\nfi")
    assert lines_of(followed, 2) == [b"3\n", b"4\n"]
    append(tmp_path / "events.jsonl", b"ve\n")
    assert lines_of(followed, 1) == [b"five\n"]
    late = RelayedLines(address, "a session")
    assert lines_of(late, 5) == [b"1\n", b"2\n", b"3\n", b"4\n", b"five\n"]
    name = database_of(address)
    cluster.sql("UPDATE jitrl.live SET wanted = now() - interval '1 minute'", database=name)
    soon(lambda: cluster.sql("SELECT count(*) FROM jitrl.live_lines", database=name)[0] == (0,))
    followed.close(), late.close()


def test_a_follower_that_comes_late_gets_the_marked_lines_and_the_end(address, tmp_path, monkeypatch):
    monkeypatch.setattr(relays, "TAIL", 40)
    file = tmp_path / "events.jsonl"
    append(file, b"mark 1\n", b"x" * 30 + b"\n", b"mark 2\n", *(b"line %02d\n" % n for n in range(20)))
    relay = Relay(address, "a session", file, marks=(b"mark",))
    relay.start()
    followed = RelayedLines(address, "a session")
    soon(followed.look)
    found = lines_of(followed, 7)
    assert found == [b"mark 1\n", b"mark 2\n", *(b"line %02d\n" % n for n in range(15, 20))]
    relay.close()
    followed.close()


def test_the_tables_keep_a_bounded_part_of_a_recording_and_who_lags_behind_begins_again(
    address, tmp_path, monkeypatch, cluster
):
    monkeypatch.setattr(relays, "MOST", 200)
    monkeypatch.setattr(relays, "SEND_S", 0.01)
    file = tmp_path / "events.jsonl"
    append(file, b"first\n")
    relay = Relay(address, "a session", file, marks=(b"first",))
    relay.start()
    slow, quick = RelayedLines(address, "a session"), RelayedLines(address, "a session")
    soon(slow.look)
    for number in range(20):
        append(file, b"line %02d\n" % number)
        lines_of(quick, 1)
        if number < 2:
            lines_of(slow, 1)
    kept = cluster.sql("SELECT sum(length(payload)) FROM jitrl.live_lines", database=database_of(address))
    assert kept[0][0] < 300
    slow.look()
    assert slow.new() == []
    assert slow.more
    assert slow.new()[0] == b"first\n"
    assert slow.restarted
    relay.close()
    slow.close(), quick.close()


def test_commands_arrive_once_and_those_for_an_earlier_life_are_none(address, tmp_path):
    got: list[str] = []
    relay = Relay(address, "a session", tmp_path / "events.jsonl", command=got.append)
    relay.start()
    followed = RelayedLines(address, "a session")
    soon(followed.look)
    followed.send("one")
    soon(lambda: got == ["one"])
    relay.close()
    followed.send("too late")
    again = Relay(address, "a session", tmp_path / "events.jsonl", command=got.append)
    again.start()
    soon(lambda: followed.look() and not followed.over)
    followed.send("two")
    soon(lambda: got[-1] == "two")
    assert got == ["one", "two"]
    again.close()
    followed.close()


def test_a_new_life_is_seen_when_the_commands_for_the_earlier_one_are_gone(address, tmp_path, monkeypatch):
    """What a follower sends who sees the new life is for it, and must not be removed with the others."""
    import psycopg

    seen: list[bool] = []
    execute = psycopg.Connection.execute

    def watched(connection, query, *rest, **named):
        if str(query).startswith("DELETE FROM jitrl.live_commands"):
            with psycopg.connect(address) as other:
                seen.extend(over for (over,) in execute(other, "SELECT over FROM jitrl.live").fetchall())
        return execute(connection, query, *rest, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", watched)
    followed = RelayedLines(address, "a session")
    for _ in range(2):
        relay = Relay(address, "a session", tmp_path / "events.jsonl")
        relay.start()
        soon(lambda: followed.look() and not followed.over)
        relay.close()
    followed.close()
    assert seen == [True]


def test_a_relay_rides_out_a_lost_connection(relay, address, tmp_path, cluster):
    append(tmp_path / "events.jsonl", b"1\n")
    relay.start()
    followed = RelayedLines(address, "a session")
    soon(followed.look)
    assert lines_of(followed, 1) == [b"1\n"]
    cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%jitrl.live%' "
                "AND pid <> pg_backend_pid()")  # fmt: skip
    append(tmp_path / "events.jsonl", b"2\n")
    found: list[bytes] = []

    def look():
        try:
            followed.look()
            found.extend(followed.new())
        except StorageError:
            pass
        return found[-1:] == [b"2\n"]

    soon(look)
    assert found == [b"1\n", b"2\n"]  # the stream begins again
    followed.close()


def test_what_is_damaged_in_the_tables_is_refused(relay, address, tmp_path, cluster):
    append(tmp_path / "events.jsonl", b"1\n")
    relay.start()
    followed = RelayedLines(address, "a session")
    soon(followed.look)
    lines_of(followed, 1)
    relay.close()
    name = database_of(address)
    cluster.sql("INSERT INTO jitrl.live_lines SELECT id, 1000, 'rubbish' FROM jitrl.live", database=name)
    cluster.sql("UPDATE jitrl.live_lines SET seq = 2 WHERE seq = 1000", database=name)
    with pytest.raises(BadFile, match="damaged"):
        followed.new()
    cluster.sql("UPDATE jitrl.live SET sign = '[]'", database=name)
    session = RelayedSession(address, "a session")
    assert session.sign() is None
    session.close(), followed.close()


def test_a_session_is_followed_and_steered_through_its_memory(address, tmp_path):
    config = SessionConfig("pantry", agent="static", model="prior/verbs", episodes=500, memory=address,
                           settings=Settings(step_limit=10))  # fmt: skip
    saved = sessions.create(tmp_path, config, "run")
    session = Session(saved, tmp_path, lambda event: None)
    playing = threading.Thread(target=session.run)
    playing.start()
    followed = RelayedSession(address, saved.name)
    seen: list = []

    def look(condition):
        def now():
            seen.extend(followed.new())
            return condition()

        return soon(now)

    hand = RemoteControl(followed, who(), 60)
    look(lambda: followed.sign() is not None and any(isinstance(event, StepTaken) for event in seen))
    assert isinstance(seen[0], SessionStarted)
    hand.hold()
    look(lambda: followed.sign().holder == hand.by and followed.sign().question)
    hand.overrule(followed.sign().question, "dance")
    look(lambda: any(isinstance(event, StepTaken) and event.action == "dance" for event in seen))
    assert followed.lives()
    hand.stop()
    look(lambda: isinstance(seen[-1], SessionEnded))
    playing.join(60)
    assert not playing.is_alive()
    assert seen == [event for _, event in recording.read(saved.folder)]
    assert [(one.command, one.by) for one in seen if isinstance(one, Steered)] == [
        (kind, hand.by) for kind in ("hold", "overrule", "stop")]  # fmt: skip
    soon(lambda: followed.new() == [] and not followed.lives())
    followed.close()


def test_a_run_is_followed_through_the_database_of_its_memories(address, tmp_path):
    folder, cells = planned(SMALL, tmp_path)
    manifest = {**folders.read_manifest(folder), "memory": address}
    telling = RunWriter(folder, RunLimits(usd=3.0))
    with pytest.raises(UsageError, match="no run 'a-run' is played with this database"):
        RelayedRun(address, "a-run")
    telling.begin(2, manifest)
    messages = [Began(cells[0].name), Ended(cells[0].name, 0, 1, 5.0, 14.0, 12), Finished(cells[0].name)]
    for message in messages:
        telling.note(message)
    telling.note(CellStepped(cells[1].name, 0, 1, 3, 1.0, "wait"))
    telling.beat()
    files = soon(lambda: opened(address))
    run = FollowedRun(files)
    assert [cell.name for cell in run.cells] == [cell.name for cell in cells]
    seen: list = []
    soon(lambda: seen.extend(run.new()) or len(seen) >= 5)
    assert run.lives()
    assert isinstance(seen[0], RunBegan)
    assert seen[0].limits == RunLimits(usd=3.0)
    assert [one for one in seen[1:] if not isinstance(one, CellStepped)] == messages
    assert [one.cell for one in seen if isinstance(one, CellStepped)] == [cells[1].name]
    trust.confirm(address, keep=False)
    with pytest.raises(UsageError, match="being played now"):
        newest_of(address, f"a-run/{cells[1].name}/")
    telling.close("")
    soon(lambda: seen.extend(run.new()) or seen[-1] == RunOver(""))
    assert not run.lives()
    files.close()
    later = FollowedRun(RelayedRun(address, "a-run"))  # what was told is there for a day
    found: list = []
    soon(lambda: found.extend(later.new()) or found[-1:] == [RunOver("")])
    assert [one for one in found[1:-1] if not isinstance(one, CellStepped)] == messages
    later.files.close()


def opened(address):
    try:
        return RelayedRun(address, "a-run")
    except UsageError:
        return None


def test_nothing_goes_to_the_database_if_it_is_forbidden(address, tmp_path, monkeypatch):
    monkeypatch.setenv("JITRL_LIVE", "false")
    config = SessionConfig("pantry", agent="static", model="prior/verbs", episodes=1, memory=address,
                           settings=Settings(step_limit=3))  # fmt: skip
    saved = sessions.create(tmp_path, config, "run")
    Session(saved, tmp_path, lambda event: None, control=Control()).run()
    followed = RelayedLines(address, saved.name)
    assert not followed.look()
    followed.close()


def test_an_old_database_gets_the_tables_for_following(address, cluster):
    from engine.memory.shared import schema
    from engine.memory.shared.server import DatabaseServer, SharedConnection

    server = DatabaseServer(address)
    server.connect(SharedConnection(server)).close()
    name = database_of(address)
    cluster.sql("DROP TABLE jitrl.live_commands, jitrl.live_lines, jitrl.live",
                "UPDATE jitrl.about SET version = 1", database=name)  # fmt: skip
    server.connect(SharedConnection(server)).close()
    assert cluster.sql("SELECT version FROM jitrl.about", database=name)[0] == (schema.VERSION,)
    assert not RelayedLines(address, "nothing").look()
