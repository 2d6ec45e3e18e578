"""Stories in Blorb files, stories for other machines, stories without an ending, and names with spaces."""

import json
import random
import shlex

import pytest

from engine.errors import GameError, UsageError
from engine.games.catalogue import find_game, list_games, read_story, with_facts
from engine.games.env import GameEnvironment
from jitrl_tui.cli import main
from tests.games.blorbs import METADATA, blorb, chunk, zblorb
from tests.games.proving_ground import compiled, missing

GLULX = b"Glul" + bytes(2000)


@pytest.fixture
def story(games_folder):
    return (games_folder / "zork1.z5").read_bytes()


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["zork.zblorb", "zork.blorb", "zork.zlb", "zork"])
def test_a_story_in_a_blorb_file_is_that_story(tmp_path, games_folder, story, name):
    path = written(tmp_path, name, zblorb(story, "The Great &amp; Underground"))
    read, bare = read_story(path), read_story(games_folder / "zork1.z5")
    assert (read.digest, read.supported) == (bare.digest, True)
    assert with_facts(read).max_score == 350
    assert list_games(games=tmp_path)[-1] == read
    assert find_game("zork", games=tmp_path) == read


def test_a_story_in_a_blorb_file_plays(tmp_path, story):
    game = GameEnvironment(read_story(written(tmp_path, "zork", zblorb(story))))
    seen = game.reset(1)
    game.close()
    assert (seen.place, seen.max_score) == ("West of House", 350)


def test_the_title_in_a_blorb_file_is_one_printable_line(tmp_path, games_folder):
    data = (games_folder / "library.z5").read_bytes() + b"\0"  # one that Jericho does not know
    path = written(tmp_path, "l.zblorb", zblorb(data, "Tom &amp;\n &quot;\u202e\x1b[31mDick&quot;"))
    assert read_story(path).title == 'Tom & "[31mDick"'
    bomb = METADATA.format("&a;" * 9_000) + "<title>" * 9_000
    path = written(tmp_path, "b.zblorb", blorb(chunk(b"ZCOD", data), chunk(b"IFmd", bomb.encode())))
    assert read_story(path).title == "b"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("g.gblorb", blorb(chunk(b"GLUL", GLULX)), "is a Glulx story in a Blorb file, which jitrl cannot play; Garg"),
        ("g.ulx", GLULX, "is a Glulx story, which jitrl cannot play; Gargoyle"),
        ("g.ulx", GLULX + bytes(2**21), "is a Glulx story"),
        ("t.blorb", blorb(chunk(b"TAD3", b"x")), "a story in TADS 3 format, which jitrl cannot play; Gargoyle or Q"),
        ("t.t3", b"T3-image" + bytes(2000), "is a TADS 3 story, which jitrl cannot play; Gargoyle or QTads plays it"),
        ("p.blb", blorb(chunk(b"PNG ", b"x")), "no story, only what goes with one; name the story's own file"),
        ("e.blorb", blorb(), "no story"),
        ("h.zblorb", blorb(chunk(b"ZCOD", b"\x05" * 90, 2**32 - 1)), "cut short or damaged"),
        ("o.zblorb", blorb(chunk(b"PNG ", b"", 2**31), chunk(b"ZCOD", b"\x05" * 90)), "cut short or damaged"),
        ("l.zblorb", blorb(chunk(b"ZCOD", bytes(2**20 + 2))), "more than any can have"),
        ("m.zblorb", blorb(*[chunk(b"PNG ", b"")] * 20_000, chunk(b"ZCOD", bytes(99))), "no story"),
        ("z.zblorb", blorb(chunk(b"ZCOD", b"")), "too few"),
        ("s.sav", b"FORM\0\0\x10\0IFZS" + bytes(2000), "a saved game"),
    ],
)
def test_what_cannot_be_played_is_named_in_one_sentence_with_what_to_do(tmp_path, name, data, told):
    path = written(tmp_path, name, data)
    with pytest.raises(GameError) as refused:
        find_game(str(path))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_glulx_stories_are_named_as_such_where_they_lie_and_a_playable_one_is_preferred(tmp_path, story, monkeypatch):
    written(tmp_path, "zork.ulx", GLULX)
    with pytest.raises(GameError, match="Glulx"):
        find_game("zork", games=tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GameError, match="Glulx"):
        find_game("zork.ulx")
    assert len(list_games(games=tmp_path)) == 3
    written(tmp_path, "zork.z5", story)
    assert find_game("zork", games=tmp_path).path.suffix == ".z5"


def test_damaged_blorb_files_are_refused_with_a_sentence_or_play(tmp_path, story):
    whole = zblorb(story, "Zork")
    heads = [at for at in range(12, 80)] + list(range(len(whole) - 400, len(whole)))
    draw, told = random.Random(3), []
    for _ in range(200):
        data = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for at in draw.sample(heads, 3):
            if at < len(data):
                data[at] = draw.choice([0, 1, 127, 255, draw.randrange(256)])
        path = written(tmp_path, "x.zblorb", bytes(data))
        try:
            assert read_story(path).digest
        except GameError as error:
            told.append(str(error))
    assert len(told) > 50
    assert not any("\n" in sentence for sentence in told)


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("name", ["adventure", "adventure.bin", "my adventure.z5"])
def test_what_games_add_accepts_is_listed_and_plays_by_the_command_it_prints(tmp_path, capsys, monkeypatch, name):
    source = written(tmp_path, name, compiled("doors", tmp_path).read_bytes())
    saves = ["--saves", str(tmp_path / "saves")]
    assert main(["games", "add", str(source), *saves]) == 0
    command = capsys.readouterr().err.strip().partition(": ")[2]
    program, watch, *game = shlex.split(command)
    assert (program, watch, len(game)) == ("jitrl", "watch", 1)
    assert main(["games", "ls", "--json", *saves]) == 0
    assert game[0] in [listed["name"] for listed in json.loads(capsys.readouterr().out)]
    quickly = ["--agent", "random", "--model", "prior/uniform", "--episodes", "1", "--steps", "1", "--quiet"]
    if name == "adventure":
        assert main(["run", game[0], *quickly, *saves]) == 0
    monkeypatch.chdir(tmp_path)
    assert find_game(f"./{name}").digest == find_game(name).digest == find_game(str(source)).digest
    with pytest.raises(UsageError, match="there is no story at"):
        find_game("./nothing")
