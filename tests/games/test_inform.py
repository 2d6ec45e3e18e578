"""`jitrl games make --inform`: a story of one's own from Inform 6 source, with its solution."""

import json

import pytest

from engine.errors import BadFile, MissingError, UsageError
from engine.games.catalogue import known_solution, read_story
from engine.games.stories import inform
from engine.games.stories.inform import add_story, compile_story, compiler, solution_in
from jitrl_tui.cli import main
from tests.games.proving_ground import FOLDER, missing

needs_inform = pytest.mark.skipif(bool(missing()), reason=missing())
ROOM = """Constant Story "Room";
Constant Headline "^A test.^";
{more}
Include "Parser";
Include "VerbLib";
Object room "Room" with description "A room with a lever.", has light;
Object lever "lever" room with name 'lever', before [; Pull: deadflag = 2; "It gives way."; ], has static;
[ Initialise; location = room; {first} ];
Include "Grammar";
"""


def source(tmp_path, *lines, name="room.inf", more="", first=""):
    file = tmp_path / name
    file.write_text("\n".join([*lines, ROOM.format(more=more, first=first)]))
    return file


@needs_inform
def test_a_story_is_compiled_added_listed_and_verified(tmp_path, capsys):
    saves = ["--saves", str(tmp_path / "saves")]
    assert main(["games", "make", "--inform", str(FOLDER / "doors.inf"), *saves]) == 0
    assert main(["games", "verify", "doors", *saves]) == 0
    assert "doors: 4 of 4 points in 12 moves, won" in capsys.readouterr().out
    assert main(["games", "ls", "--json", *saves]) == 0
    listed = {story["name"]: story for story in json.loads(capsys.readouterr().out)}
    assert listed["doors"]["solution_known"]


@needs_inform
def test_a_solution_that_falls_short_is_told(tmp_path, capsys):
    saves = ["--saves", str(tmp_path / "saves")]
    text = (FOLDER / "doors.inf").read_text().replace("; lock oak door with brass key", "")
    file = tmp_path / "short.inf"
    file.write_text(text)
    assert main(["games", "make", "--inform", str(file), *saves]) == 0
    assert main(["games", "verify", "short", *saves]) == 1
    assert "short: 3 of 4 points in 11 moves" in capsys.readouterr().out


@needs_inform
@pytest.mark.parametrize(("commands", "code", "told"), [("pull lever", 0, "won"), ("wait", 1, "not won")])
def test_a_story_without_score_is_verified_by_its_end(tmp_path, capsys, commands, code, told):
    saves = ["--saves", str(tmp_path / "saves")]
    file = source(tmp_path, f"! Solution: {commands}", more="Constant NO_SCORE;")
    assert main(["games", "make", "--inform", str(file), *saves]) == 0
    assert main(["games", "verify", "room", *saves]) == code
    assert f", {told}" in capsys.readouterr().out


@needs_inform
def test_making_a_story_again_replaces_it_and_its_solution(tmp_path):
    games = tmp_path / "games"
    games.mkdir()
    first = add_story(source(tmp_path, "! Solution: wait; pull lever"), games)
    assert known_solution(first.story) == (1, ("wait", "pull lever"))
    again = add_story(source(tmp_path, "!% -v8"), games)
    assert again.solution == ()
    assert known_solution(again.story) is None
    assert [path.name for path in games.iterdir()] == ["room.z8"]


@needs_inform
@pytest.mark.parametrize("version", [5, 7, 8])
def test_a_story_is_compiled_for_the_version_that_is_asked_for(tmp_path, version):
    story = compile_story(source(tmp_path), tmp_path, version=version)
    assert story.read_bytes()[0] == version
    assert story.name == f"room.z{version}"
    assert read_story(story).name == "room"


@needs_inform
def test_an_error_in_the_source_is_told_with_its_line(tmp_path):
    file = source(tmp_path, more="Include 3;")
    with pytest.raises(BadFile, match=r"room\.inf does not compile: line 3: ") as told:
        compile_story(file, tmp_path)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("*.z5"))


@needs_inform
@pytest.mark.parametrize("name", ["pantry", "tw-cave", "../cave", "A cave"])
def test_a_name_that_is_taken_or_impossible_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="name"):
        add_story(source(tmp_path), tmp_path, name=name)
    assert not list(tmp_path.glob("*.z5"))


def test_without_the_compiler_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="apt install inform6-compiler inform6-library"):
        compiler()


def test_a_missing_library_is_told_apart_from_an_error():
    error = inform._why_not(FOLDER / "dark.inf", 'dark.inf(7): Fatal error: Couldn\'t open source file "Parser"')
    assert isinstance(error, MissingError)
    assert "--library" in str(error)


def test_a_source_that_cannot_be_read_is_a_bad_file(tmp_path, monkeypatch):
    monkeypatch.setattr(inform, "compiler", lambda: "inform6")
    with pytest.raises(BadFile, match="cannot read"):
        compile_story(tmp_path / "none.inf", tmp_path)


@pytest.mark.parametrize(
    ("text", "commands"),
    [("!% -v5\n! Solution: north ; take a lamp;\n", ("north", "take a lamp")), ("! no Solution: north", ()), ("", ())],
)
def test_a_solution_is_a_line_of_commands(text, commands):
    assert solution_in(text) == commands
