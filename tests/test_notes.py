"""Notes beside a recording, and transcripts."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import stat

import pytest

from engine.errors import StorageError, UsageError
from engine.records import Observation, Stepped, TakenBack
from engine.session.notes import FILE_NAME, LONGEST, Note, Notes, copy
from engine.session.transcript import format_of, save, transcript, transcript_text
from tests.tui import stream


def test_a_note_is_on_disk_at_once_and_private(tmp_path):
    Notes(tmp_path, clock=lambda: 5.0).add("  the lamp\n is here ", 2, 7)
    assert Notes(tmp_path).all() == [Note("the lamp is here", 2, 7, 5.0)]
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_torn_line_loses_no_other_note(tmp_path):
    notes = Notes(tmp_path)
    notes.add("one")
    with open(notes.path, "ab") as file:
        file.write(b'{"text": "two", "epi')
    assert [note.text for note in notes.all()] == ["one"]
    notes.add("three")
    assert [note.text for note in notes.all()] == ["one", "three"]


@pytest.mark.parametrize("line", [b"[]", b'{"text": 1, "episode": 1, "step": 1, "at": 1}', b"\xff", b'{"text": "x"}',
                                  b'{"text": "x", "episode": -1, "step": 1, "at": 1}'])  # fmt: skip
def test_a_line_that_is_no_note_is_left_out(tmp_path, line):
    (tmp_path / FILE_NAME).write_bytes(line + b"\n")
    assert Notes(tmp_path).all() == []


@pytest.mark.parametrize("text", ["", "  \n", "x" * (LONGEST + 1)])
def test_a_note_without_text_or_with_too_much_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="a note has 1 to"):
        Notes(tmp_path).add(text)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_note_that_cannot_be_written_is_one_sentence(tmp_path):
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(StorageError, match="the note could not be written"):
        Notes(tmp_path).add("x")


def test_a_branch_gets_the_notes_made_before_it(tmp_path):
    for name in ("from", "to", "all"):
        (tmp_path / name).mkdir()
    for episode, step in ((1, 9), (2, 3), (2, 4), (3, 0)):
        Notes(tmp_path / "from").add(f"{episode}/{step}", episode, step)
    copy(tmp_path / "from", tmp_path / "to", (2, 3))
    assert [note.text for note in Notes(tmp_path / "to").all()] == ["1/9", "2/3"]
    copy(tmp_path / "from", tmp_path / "all")
    assert len(Notes(tmp_path / "all").all()) == 4


# ------------------------------------------------------------------------------------------ transcripts


def test_a_transcript_has_all_that_was_read_and_typed_in_order():
    events = stream.run(2, 5)
    notes = [Note("early", 0, 0), Note("first", 1, 0), Note("later", 2, 3)]
    made = transcript(events, notes)
    taken = [event for event in events if isinstance(event, Stepped)]
    assert [step.action for part in made.episodes for step in part.steps] == [event.action for event in taken]
    text = transcript_text(made, "txt")
    assert re.findall(r"^> (.+)$", text, re.MULTILINE) == [event.action for event in taken]
    assert text.index("Note: early") < text.index("Episode 1") < text.index("[Note: first]") < text.index("> ")
    third = text.index(f"> {taken[7].action}", text.index("Episode 2"))
    assert third < text.index("[Note: later]") < text.index(f"> {taken[8].action}", third + 1)


def test_a_step_that_was_taken_back_is_not_in_it():
    events = stream.run(1, 3)
    at = max(i for i, event in enumerate(events) if isinstance(event, Stepped))
    events[at + 1 : at + 1] = [TakenBack(1, events[at].action, 2, Observation("You are back.", score=1.0))]
    (part,) = transcript(events[: at + 2]).episodes
    assert len(part.steps) == 2
    assert part.score == 1.0
    assert not part.ended


def test_json_has_every_field_and_comes_back():
    data = json.loads(transcript_text(transcript(stream.run(1, 4), [Note("n", 1, 2, 3.0)]), "json"))
    assert data["format"] == 1
    assert len(data["episodes"][0]["steps"]) == 4
    assert data["episodes"][0]["notes"] == [{"text": "n", "episode": 1, "step": 2, "at": 3.0}]
    assert data["episodes"][0]["steps"][0]["why"]


def test_markdown_shows_what_a_game_writes_as_it_is():
    from markdown_it import MarkdownIt

    odd = "# no heading\n- no *item* <b>\n1. no `code` [link](x) ~~x~~\n> no quote\n-= Room =-\n=====\nsnake_case_"
    events = stream.run(1, 1)
    events = [dataclasses.replace(e, observation=Observation(odd)) if isinstance(e, Stepped) else e for e in events]
    parsed = MarkdownIt("commonmark").parse(transcript_text(transcript(events), "md"))
    lines = [child.content for token in parsed for child in token.children or () if child.type == "text"]
    joined = "".join(lines)
    for line in odd.splitlines():
        assert line in joined
    kinds = {token.type for token in parsed}
    assert not kinds & {"bullet_list_open", "ordered_list_open", "blockquote_open", "code_block"}


def test_the_format_is_that_of_the_name_and_a_wrong_one_is_refused(tmp_path):
    assert format_of("a.MD") == "md"
    assert format_of("a.out", "json") == "json"
    with pytest.raises(UsageError, match=r"it is \.txt, \.md, \.html or \.json"):
        format_of("a.pdf")
    with pytest.raises(UsageError, match="there is no format 'pdf'"):
        transcript_text(transcript([]), "pdf")


def test_a_transcript_that_cannot_be_written_leaves_the_old_file(tmp_path):
    save("one", tmp_path / "a.txt")
    save("two", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "two"
    with pytest.raises(StorageError, match="cannot write"):
        save("three", tmp_path / "nowhere" / "a.txt")
    with pytest.raises(StorageError, match="cannot write"):
        save("four", tmp_path / ("x" * 5000 + ".txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
