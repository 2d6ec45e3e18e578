"""The session's side: which commands are obeyed, which are refused, and what happens when who holds it vanishes."""

from __future__ import annotations

import json
import os

import pytest

from engine.errors import BadFile, StorageError, UsageError
from engine.records import Decided, Notice, Paused, Steered
from engine.session.control import Answer, Control, PersonSaid
from engine.session.remote import commands, presence
from engine.session.remote.commands import HAND_BACK, HOLD, OVERRULE, RENEW, STEP, STOP, RemoteCommand
from engine.session.remote.host import SessionHost
from engine.session.remote.lines import GrowingLines
from engine.session.remote.presence import Liveness, PlayedAt, Presence


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Played:
    """A host whose thread is this test: each `turn` is one look at the commands."""

    def __init__(self, folder, *, steerable=True) -> None:
        self.folder, self.clock, self.control = folder, Clock(), Control()
        self.host = SessionHost(folder, self.control, steerable=steerable, clock=self.clock)
        self.host._commands = commands.RemoteCommands(folder) if steerable else None
        self.turn()

    def turn(self) -> None:
        self.host._turn()

    def give(self, kind, by="ann", **more):
        """Give a command, let it be looked at, and return whether it was accepted, and what was said."""
        command = RemoteCommand(kind, by, **more)
        commands.send(self.folder, command)
        self.turn()
        found = [reply for reply in self.sign.replies if reply.id == command.id]
        return (found[0].accepted, found[0].message) if found else None

    @property
    def sign(self) -> Presence:
        return presence.read(self.folder)

    def wait_at(self, question: int) -> None:
        """Let the session wait with a question, as the gate does."""
        self.control._held = Paused("", question)


@pytest.fixture
def played(tmp_path) -> Played:
    return Played(tmp_path)


def test_who_takes_a_session_in_hand_pauses_it_and_who_hands_it_back_lets_it_go_on(played):
    assert played.give(HOLD, lease_s=60)[0]
    assert played.control.paused
    assert played.sign.holder == "ann"
    assert played.give(HAND_BACK)[0]
    assert not played.control.paused
    assert played.sign.holder == ""


def test_a_second_follower_is_told_who_holds_the_session(played):
    played.give(HOLD, lease_s=60)
    for kind, more in ((HOLD, {"lease_s": 60}), (STEP, {}), (HAND_BACK, {}), (STOP, {}),
                       (OVERRULE, {"action": "x", "question": 1})):  # fmt: skip
        assert played.give(kind, "bob", **more) == (False, "the session is held by ann")
    assert played.sign.holder == "ann"
    assert played.control.paused


def test_a_session_that_nobody_holds_takes_no_steps_and_no_actions(played):
    played.wait_at(7)
    assert not played.give(STEP)[0]
    assert not played.give(OVERRULE, action="wave", question=7)[0]
    assert not played.give(HAND_BACK)[0]


def test_an_action_for_a_decision_that_does_not_wait_any_more_is_refused(played):
    played.give(HOLD, lease_s=60)
    played.wait_at(7)
    assert played.give(OVERRULE, action="wave", question=6) == (
        False, "it is too late for 'wave': the decision does not wait any more")  # fmt: skip
    assert played.control._answer is None
    assert played.give(OVERRULE, action="wave", question=7)[0]
    assert played.control._answer == Answer(PersonSaid.INSTEAD, "wave")


def test_an_action_can_hand_the_session_back_with_the_same_command(played):
    played.give(HOLD, lease_s=60)
    played.wait_at(7)
    assert not played.give(OVERRULE, action="wave", question=6, go_on=True)[0]
    assert played.control.paused
    assert played.sign.holder == "ann"
    assert played.give(OVERRULE, action="wave", question=7, go_on=True)[0]
    assert played.control._answer == Answer(PersonSaid.INSTEAD, "wave")
    assert not played.control.paused
    assert played.sign.holder == ""


def test_a_session_goes_on_by_itself_when_its_holder_gives_no_sign_of_life(played):
    played.give(HOLD, lease_s=10)
    played.clock.now += 9
    played.turn()
    assert played.control.paused
    played.give(RENEW, lease_s=10)
    played.clock.now += 9
    played.turn()
    assert played.control.paused
    played.give(RENEW, "bob", lease_s=10)  # of somebody who does not hold it
    played.clock.now += 1.5
    played.turn()
    assert not played.control.paused
    assert played.sign.holder == ""
    told = played.control.reports()
    assert [(one.command, one.by, one.accepted) for one in told] == [("hold", "ann", True), ("lapse", "ann", True)]


def test_a_command_that_arrives_twice_is_obeyed_once(played):
    played.give(HOLD, lease_s=60)
    step = RemoteCommand(STEP, "ann")
    commands.send(played.folder, step)
    commands.send(played.folder, step)
    played.turn()
    assert played.control._single_steps == 1


def test_what_was_steered_is_reported_with_who_and_where(played):
    class Made:
        step = 4

    played.host.see(Decided(3, Made()))
    played.give(HOLD, lease_s=60)
    assert played.control.reports() == [
        Steered("hold", "ann", True, "held by ann: the session waits at its next decision", 3, 4)
    ]


def test_a_session_at_its_own_screen_shows_signs_of_life_and_takes_no_commands(tmp_path):
    played = Played(tmp_path, steerable=False)
    assert not played.sign.steerable
    with pytest.raises(UsageError, match="takes no commands"):
        commands.send(tmp_path, RemoteCommand(HOLD, "ann"))


def test_commands_from_before_a_session_began_are_none(tmp_path):
    (tmp_path / commands.FILE_NAME).write_text(RemoteCommand(HOLD, "ann", lease_s=60).line())
    played = Played(tmp_path)
    assert not played.control.paused


RUBBISH = [
    b"\n", b"{}\n", b"[]\n", b"null\n", b"\xff\xfe\n", b"{" * 5000 + b"\n", b'"' + b"x" * 9000 + b'"\n',
    b"\0" * 200_000 + b"\n",
    json.dumps({"kind": "hold", "by": ""}).encode() + b"\n",
    json.dumps({"kind": "delete", "by": "eve"}).encode() + b"\n",
    json.dumps({"kind": "hold", "by": "eve\x1b[2J", "lease_s": 9, "id": "1"}).encode() + b"\n",
    json.dumps({"kind": "hold", "by": "eve", "lease_s": 1e9, "id": "2"}).encode() + b"\n",
    b'{"kind": "hold", "by": "eve", "lease_s": NaN, "id": "3"}\n',
    json.dumps({"kind": "hold", "by": "eve", "lease_s": -1, "id": "4"}).encode() + b"\n",
    json.dumps({"kind": "hold", "by": "e" * 1000, "lease_s": 9, "id": "5"}).encode() + b"\n",
    json.dumps({"kind": "overrule", "by": "ann", "question": 1, "action": "a\nb", "id": "6"}).encode() + b"\n",
    json.dumps({"kind": "overrule", "by": "ann", "question": -1, "action": "a", "id": "7"}).encode() + b"\n",
    json.dumps({"kind": "overrule", "by": "ann", "question": 1, "action": " ", "id": "8"}).encode() + b"\n",
    json.dumps({"kind": "overrule", "by": "ann", "question": 1, "action": "a" * 3000, "id": "9"}).encode() + b"\n",
]  # fmt: skip


def test_rubbish_among_the_commands_is_left_out_and_told_of_once(played):
    for line in RUBBISH:
        with open(played.folder / commands.FILE_NAME, "ab") as file:
            file.write(line)
        played.turn()
        assert not played.control.paused
    for _ in range(20):  # a long line takes several looks
        played.turn()
    told = played.control.reports()
    assert told == [Notice("warning", "a line among the commands is no command; it was left out")]
    assert played.give(HOLD, lease_s=60)[0]  # what comes after it is obeyed


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_takes_no_commands_and_nobody_waits_for_it(tmp_path, make):
    make(tmp_path / commands.FILE_NAME)
    with pytest.raises((StorageError, UsageError)):
        commands.send(tmp_path, RemoteCommand(HOLD, "ann"))
    host = SessionHost(tmp_path, Control(), steerable=True)
    host.start()
    host.close()
    host.gone()


def test_the_file_of_commands_is_for_its_owner_alone_and_gone_with_the_session(tmp_path):
    host = SessionHost(tmp_path, Control(), steerable=True)
    host.start()
    assert (tmp_path / commands.FILE_NAME).stat().st_mode & 0o777 == 0o600
    host.close()
    host.gone()
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------- signs of life


def test_a_sign_is_written_when_something_changes_and_otherwise_now_and_then(played):
    def written() -> float:
        return played.sign.at, (played.folder / presence.FILE_NAME).stat().st_ino

    first = written()
    played.turn()
    assert written() == first
    played.wait_at(3)
    played.turn()
    assert played.sign.activity == "paused"
    assert played.sign.question == 3
    second = written()
    played.clock.now += presence.BEAT_S
    played.turn()
    assert written() != second


def test_a_session_of_another_machine_lives_as_long_as_its_signs_change():
    clock = Clock()
    life, there = Liveness(clock), PlayedAt("another machine", 12, 34)
    assert life.lives(there, 4999.0)
    clock.now += presence.LOST_S + 1
    assert not life.lives(there, 4999.0)
    assert life.lives(there, 1.0)  # a new sign, whatever the clock there says
    clock.now += presence.LOST_S - 1
    assert life.lives(there, 1.0)
    assert not life.lives(None, 0.0)


def test_a_session_of_this_machine_lives_as_long_as_its_process_does():
    clock = Clock()
    here = PlayedAt.here()
    life = Liveness(clock)
    assert life.lives(here, 0.0)
    clock.now += presence.LOST_S + 1
    assert life.lives(here, 0.0)
    assert not Liveness(clock).lives(PlayedAt(here.host, here.pid, here.born + 1), 0.0)  # the number of another process


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"{" * 1000, b'{"place": 3}', b"x" * 100_000])
def test_a_damaged_sign_of_life_is_none(tmp_path, content):
    (tmp_path / presence.FILE_NAME).write_bytes(content)
    assert presence.read(tmp_path) is None


# ------------------------------------------------------------------------------------------- growing lines


def test_lines_come_once_and_only_when_they_are_complete(tmp_path):
    file = tmp_path / "lines"
    lines = GrowingLines(file)
    assert lines.new() == []
    file.write_bytes(b"one\ntw")
    assert lines.new() == [b"one\n"]
    assert lines.new() == []
    with open(file, "ab") as out:
        out.write(b"o\nthree\n")
    assert lines.new() == [b"two\n", b"three\n"]
    assert not lines.restarted


def test_a_file_that_was_replaced_or_cut_is_read_from_its_beginning(tmp_path):
    file, other = tmp_path / "lines", tmp_path / "other"
    file.write_bytes(b"one\ntwo\n")
    lines = GrowingLines(file)
    lines.new()
    other.write_bytes(b"uno\n")
    os.replace(other, file)
    assert lines.new() == [b"uno\n"]
    assert lines.restarted
    os.truncate(file, 0)
    assert lines.new() == []
    with open(file, "ab") as out:
        out.write(b"x\n")
    assert lines.new() == [b"x\n"]


def test_much_is_read_in_parts_and_a_line_that_is_too_long_is_refused(tmp_path):
    file = tmp_path / "lines"
    file.write_bytes(b"".join(b"%03d\n" % n for n in range(100)))
    lines = GrowingLines(file)
    found = lines.new(most=30)
    assert found == [b"%03d\n" % n for n in range(7)]
    assert lines.more
    while lines.more:
        found += lines.new(most=30)
    assert found == [b"%03d\n" % n for n in range(100)]
    file.write_bytes(b"y" * 5000 + b"\nz\n")
    short = GrowingLines(file, longest=1000)
    with pytest.raises(BadFile, match="longer than 1,000 bytes"):
        short.new(most=100)
