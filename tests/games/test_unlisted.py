"""Stories that Jericho does not list: what is read out of the story itself, against the listed twin."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import closing, redirect_stdout

import pytest

from engine.games.actions.limits import REFUSED
from engine.games.actions.names import CommandParts, Thing
from engine.games.actions.templates import TemplateFinder
from engine.games.catalogue import known_solution, read_story, shipped_stories, walkthrough_of
from engine.games.env import GameEnvironment
from engine.games.zmachine.story import StoryFile
from jitrl_tui.cli import main

STEPS = 60
SERIAL = slice(0x12, 0x18)
"""The day of compiling, which nothing in a story looks at but its banner."""


def unlisted(path, target):
    data = bytearray(path.read_bytes())
    data[SERIAL] = b"990101"
    target.write_bytes(data)
    return read_story(target)


@pytest.mark.parametrize("name", ["zork1", "library"])
def test_an_unlisted_story_has_place_score_moves_and_end_as_its_listed_twin(name, games_folder, tmp_path):
    listed = read_story(games_folder / f"{name}.z5")
    story = unlisted(listed.path, tmp_path / f"{name}.z5")
    assert listed.supported
    assert not story.supported
    seed, way = known_solution(listed)
    with closing(GameEnvironment(listed)) as known, closing(GameEnvironment(story)) as plain:
        pairs = [(known.reset(seed), plain.reset(seed))]
        pairs += [(known.step(command), plain.step(command)) for command in way[:STEPS]]
    for one, other in pairs:
        assert (one.place, one.score, one.terminated) == (other.place, other.score, other.terminated), one.text
        assert one.inventory == other.inventory
        if other.moves != one.moves:  # Jericho counts commands at the end of a game, where nothing is printed
            assert one.terminated
    assert max(other.score for _, other in pairs) > 0
    same = sum(one.changed == other.changed for one, other in pairs)
    assert same >= 0.9 * len(pairs)


@pytest.mark.parametrize("name", ["zork1", "library"])
def test_an_unlisted_story_has_valid_actions(name, games_folder, tmp_path):
    listed = read_story(games_folder / f"{name}.z5")
    story = unlisted(listed.path, tmp_path / f"{name}.z5")
    seed, way = known_solution(listed)
    found = wanted = 0
    with closing(GameEnvironment(listed)) as known, closing(GameEnvironment(story)) as plain:
        known.reset(seed)
        plain.reset(seed)
        for number, command in enumerate(way[:STEPS]):
            if number % 12 == 0:
                ours, theirs = set(plain.valid_actions()), set(known.valid_actions())
                found, wanted = found + len(ours & theirs), wanted + len(theirs)
            known.step(command)
            plain.step(command)
    assert wanted > 30
    assert found >= 0.85 * wanted


def test_a_story_of_unknown_making_still_plays(games_folder, tmp_path):
    # Its grammar is out of sight: the pointer to it is gone, so all that is left is typing.
    story = unlisted(games_folder / "zork1.z5", tmp_path / "zork1.z5")
    with closing(GameEnvironment(story)) as game:
        game.reset(1)
        before = game.step("open mailbox")
        assert before.changed
        assert not game.step("look").changed


def info(*words):
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["games", "info", *words]) == 0
    return out.getvalue()


def test_info_says_what_is_supported_and_what_not(games_folder, tmp_path):
    story = unlisted(games_folder / "zork1.z5", tmp_path / "zork1.z5")
    plain = json.loads(info(str(story.path), "--json"))
    assert plain["supported"] is False
    assert plain["max_score"] == 350  # the story says so
    assert plain["support"]["score"].startswith("read from the story")
    assert plain["support"]["maximum"] == "as the story says"
    assert plain["support"]["valid actions"].startswith("found")
    assert "open mailbox" in plain["valid_actions"]
    listed = json.loads(info(str(games_folder / "zork1.z5"), "--json"))
    assert listed["max_score"] == 350
    assert listed["support"]["score"] == "known"
    assert "valid actions" in info(str(story.path))


def test_a_made_story_is_named_added_and_verified(tmp_path, capsys):
    pantry = next(story for story in shipped_stories() if story.name == "pantry")
    seed, way = known_solution(pantry)
    assert seed == 1
    made = unlisted(pantry.path, tmp_path / "tw-larder-2.z8").path
    made.with_suffix(".json").write_bytes(pantry.metadata.read_bytes())
    walkthrough_of(made).write_text(json.dumps(way))
    story = read_story(made)
    assert (story.name, story.title, story.supported) == ("larder-2", "Larder 2", True)
    saves = ["--saves", str(tmp_path / "saves")]
    assert main(["games", "add", str(made), *saves]) == 0
    made.unlink()
    assert main(["games", "verify", "larder-2", *saves]) == 0
    assert f"{pantry.max_score:g} of {pantry.max_score:g} points" in capsys.readouterr().out
    kept = tmp_path / "saves" / "games" / made.name
    walkthrough_of(kept).write_text(json.dumps(way[:5]))
    assert main(["games", "verify", "larder-2", *saves]) == 1
    walkthrough_of(kept).unlink()
    assert main(["games", "verify", "larder-2", *saves]) == 2


def test_a_foreign_file_beside_a_story_is_not_taken_for_its_metadata(games_folder, tmp_path):
    story = unlisted(games_folder / "zork1.z5", tmp_path / "zork1.z5")
    story.path.with_suffix(".json").write_text('{"max_score": 3}')
    assert read_story(story.path).metadata is None


class Listener:
    """Takes commands as a trial does, and understands those that begin so."""

    def __init__(self, understood):
        self.tried, self.answer, self.by_score, self._understood = [], b"", True, understood

    def asked(self, command):
        return command.encode() if self._understood and command.startswith(self._understood) else b"What?"

    def __call__(self, command, things=0):
        self.tried.append(command)
        self.answer = self.asked(command)


def test_a_wording_for_two_things_is_given_up_once_it_was_refused_several_times():
    story = StoryFile(shipped_stories()[0].path.read_bytes())
    finder = TemplateFinder(story, ["put OBJ in OBJ", "insert OBJ in OBJ"], player=0)
    things = tuple(Thing(f"thing{n}", 0, False, frozenset()) for n in range(5))
    trial = Listener("insert")
    for _ in finder.attempts(trial, CommandParts(things), None):
        pass
    begun = Counter(command.split()[0] for command in trial.tried if " in " in command)
    assert begun == {"put": REFUSED, "insert": 5 * 4}
