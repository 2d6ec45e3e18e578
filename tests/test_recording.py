"""Recordings: what is written comes back, crashes leave nothing torn, foreign files are refused."""

import subprocess
import sys

import pytest

from engine.errors import BadFile, StorageError, UsageError
from engine.records import EnvironmentInfo, Notice, Observation, SessionStarted, Stepped, Thinking
from engine.session import recording

START = SessionStarted(
    "s", EnvironmentInfo("g", "G", "game/g"), "jitrl", "m", 1, "default", 1, 60, {"beta": 1.0}
)


def step(number: int) -> Stepped:
    return Stepped(1, number, "wait", Observation(f"Time passes. [b]{number}[/b] \u2713"), 0.0)


def write(path, events):
    recorder = recording.Recorder(path)
    for at, event in enumerate(events):
        recorder.write(event, float(at))
    recorder.close()


def test_what_is_written_comes_back_but_for_what_only_passes(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, [START, Thinking("x"), step(0), Notice("warning", "w")])
    assert list(recording.read(path)) == [(0.0, START), (2.0, step(0)), (3.0, Notice("warning", "w"))]
    assert list(recording.read(tmp_path)) == list(recording.read(path))


def test_a_crash_at_any_byte_of_the_last_line_loses_only_that_line(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, [START, step(0), step(1)])
    whole = path.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        assert [event for _, event in recording.read(path)] == [START, step(0)]
        write(path, [step(2)])
        assert [event for _, event in recording.read(path)] == [START, step(0), step(2)]


@pytest.mark.parametrize(
    "content", [b"hello\n", b"{}\n", b'{"event":"Notice","level":"info","message":"x"}\n', b"\xff\n"]
)
def test_a_foreign_file_is_refused_with_a_sentence(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(BadFile, match="not a recording"):
        list(recording.read(path))
    assert path.read_bytes() == content


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="there is no recording"):
        list(recording.read(tmp_path / "nothing"))


def test_two_windows_cannot_record_one_session(tmp_path):
    path = tmp_path / "events.jsonl"
    first = recording.Recorder(path)
    with pytest.raises(UsageError, match="another window"):
        recording.Recorder(path)
    first.close()
    recording.Recorder(path).close()


def test_a_full_disk_leaves_whole_lines_and_says_so(tmp_path):
    # A limit on the size of files, in a process of its own, refuses writes as a full disk does.
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(sys.path[0])!r})
from engine.session import recording
from engine.errors import StorageError
from tests.test_recording import START, step
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
recorder = recording.Recorder(__import__('pathlib').Path({str(tmp_path / "events.jsonl")!r}))
recorder.write(START, 0)
try:
    for n in range(1000):
        recorder.write(step(n), n)
except StorageError as error:
    print(n, error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    count, message = result.stdout.split(" ", 1)
    assert "could not be written" in message
    assert [event for _, event in recording.read(tmp_path)] == [START, *map(step, range(int(count)))]


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(StorageError, match="cannot write the recording"):
        recording.Recorder(tmp_path / "missing" / "events.jsonl")
