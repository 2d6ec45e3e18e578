"""Forgetting and its undo, export and import, merging and comparing, through the command line's own door."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.memory import Memory
from engine.memory.scope import SNAPSHOT
from engine.records import Episode
from jitrl_tui import cli
from tests.memory.lives import brute_force, make_episode, make_state

ONE, TWO = "game/zork1-abc", "game/library-def"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.main(["memory", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def saves(tmp_path: Path) -> Path:
    """A saves folder with 3 and 2 episodes."""
    return filled(tmp_path / "saves")


def filled(saves: Path, seed: int = 1) -> Path:
    rng = random.Random(seed)
    with Memory(saves / "memory") as memory:
        for name, count in ((ONE, 3), (TWO, 2)):
            for number in range(count):
                human = {"score": float(number)}
                episode = make_episode(rng, f"{seed}-{name[5:9]}-{number}", 5, **human)
                steps = (*episode.steps[:4], replace(episode.steps[4], provenance="human"))
                memory.scope(name).append(replace(episode, steps=steps))
    return saves


def everything(saves: Path) -> dict[str, list[Episode]]:
    with Memory(saves / "memory") as memory:
        return {name: list(memory.scope(name).episodes()) for name in memory.scopes()}


def test_ls_and_stats_and_show_count_what_is_there(run: Run, saves: Path) -> None:
    code, out, _ = run("ls", "--json", "--saves", saves)
    assert code == 0
    items = {item["scope"]: item for item in json.loads(out)}
    assert {name: (item["episodes"], item["entries"]) for name, item in items.items()} == {
        ONE: (3, 15),
        TWO: (2, 10),
    }
    assert (items[ONE]["best_score"], items[ONE]["last_score"], items[ONE]["max_score"]) == (2.0, 2.0, 9.0)
    assert run("--saves", saves)[1] == run("ls", "--saves", saves)[1]

    (item,) = json.loads(run("stats", "zork1", "--json", "--saves", saves)[1])
    assert item["provenance"] == {"agent": 12, "human": 3}
    assert item["mean_score"] == 1.0
    episodes = everything(saves)[ONE]
    states = {s.state.tokens for e in episodes for s in e.steps} | {e.final.tokens for e in episodes}
    assert item["distinct"]["states"] == len(states)
    assert "human 3" in run("stats", "--saves", saves)[1]

    rows = json.loads(run("show", "zork1", "--json", "--saves", saves)[1])
    assert [(row["number"], row["steps"], row["first_entry"]) for row in rows] == [
        (1, 5, 0),
        (2, 5, 5),
        (3, 5, 10),
    ]
    (hit,) = json.loads(run("show", "zork1", "--entry", 7, "--json", "--saves", saves)[1])
    assert (hit["action"], hit["state"]) == (episodes[1].steps[2].action, episodes[1].steps[2].state.text)
    assert hit["next_state"] == episodes[1].steps[3].state.text
    (shown,) = json.loads(run("show", "zork1", "--episode", 2, "--json", "--saves", saves)[1])
    assert shown["uid"] == episodes[1].uid


def test_search_finds_every_step_with_all_the_words_newest_first(run: Run, saves: Path) -> None:
    hits = json.loads(run("search", "ITEM1", "go 2", "--limit", 99, "--json", "--saves", saves)[1])
    want = [
        (name, number * 5 + t)
        for name in (TWO, ONE)
        for number, episode in reversed(list(enumerate(everything(saves)[name])))
        for t, step in reversed(list(enumerate(episode.steps)))
        if "item1" in step.state.text and step.action == "go 2"
    ]
    assert want
    assert [(hit["scope"], hit["entry"]) for hit in hits] == want
    assert len(json.loads(run("search", "room", "--limit", 3, "--json", "--saves", saves)[1])) == 3
    assert run("search", "nobody said this", "--saves", saves)[:2] == (0, "")


def test_forgetting_takes_out_what_is_named_and_undo_puts_it_back(run: Run, saves: Path) -> None:
    before = everything(saves)
    code, out, err = run("forget", "zork1", "--episode", 2, "--entry", 0, "--dry-run", "--saves", saves)
    assert code == 0
    assert "6 entries, among them 1 whole episode" in out
    assert "dry run" in err
    assert everything(saves) == before

    assert run("forget", "zork1", "--episode", 2, "--entry", 0, "--saves", saves)[0] == 0
    after = everything(saves)
    assert after[TWO] == before[TWO]
    assert [episode.number for episode in after[ONE]] == [1, 3]
    assert after[ONE][0].steps[1:] == before[ONE][0].steps[1:]
    gone = after[ONE][0].steps[0]
    assert (gone.state.text, gone.action, gone.provenance) == ("", "", "forgotten")
    with Memory(saves / "memory") as memory:
        scope = memory.scope(ONE)
        assert len(scope) == 9
        assert scope.entry(0) is None
        everyone = scope.neighbours(make_state(random.Random(1)), k=99, r=0.0, gamma=0.5)
        assert {n.entry for n in everyone} == {1, 2, 3, 4, 10, 11, 12, 13, 14}
        lived = [before[ONE][0], before[ONE][2]]
        want = brute_force(lived, make_state(random.Random(1)), k=99, r=0.0, weight=0.0, gamma=0.5)
        # The forgotten step's reward still counts in what came before it; here nothing did.
        assert {n.g for n in everyone} == {g for _, entry, _, g, *_ in want if entry}
        scope.append(make_episode(random.Random(5), "new", 2))
        assert [e.number for e in scope.episodes()] == [1, 3, 4]

    assert run("forget", "--undo", "--saves", saves)[0] == 0
    restored = everything(saves)
    assert restored[ONE][:3] == before[ONE]
    assert restored[ONE][3].uid == "new"
    code, _, err = run("forget", "--undo", "--saves", saves)
    assert (code, "nothing was forgotten" in err) == (2, True)


def test_a_provenance_is_forgotten_everywhere_at_once(run: Run, saves: Path, tmp_path: Path) -> None:
    before = everything(saves)
    run("export", tmp_path / "x.jsonl", "--saves", filled(tmp_path / "other", 2))
    assert run("import", tmp_path / "x.jsonl", "--as", "bob", "--saves", saves)[0] == 0
    imported = everything(saves)
    assert all(step.provenance == "imported:bob" for step in imported[ONE][3].steps)
    assert run("forget", "--provenance", "imported:bob", "--saves", saves)[0] == 0
    assert everything(saves) == before
    assert run("forget", "--undo", "--saves", saves)[0] == 0
    assert everything(saves) == imported
    assert run("forget", "--provenance", "human", "--saves", saves)[0] == 0
    with Memory(saves / "memory") as memory:
        assert len(memory.scope(ONE)) == 3 * 4 + 3 * 5  # the agent's, and all that was bob's
    assert not list((saves / "memory").glob(f"*/{SNAPSHOT}"))


def test_forget_wants_to_be_told_what(run: Run, saves: Path) -> None:
    for arguments in ([], ["--episode", 1], ["--undo", "--provenance", "human"], ["zork1", "--episode", 99],
                      ["nowhere", "--entry", 1], ["game", "--entry", 1]):  # fmt: skip
        code, out, err = run("forget", *arguments, "--saves", saves)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("jitrl: ")
        assert err.count("\n") == 1


def test_forgotten_text_is_gone_from_the_disk_after_a_purge(run: Run, saves: Path) -> None:
    uid = everything(saves)[ONE][1].uid.encode()
    run("forget", "zork1", "--episode", 2, "--saves", saves)
    _, out, _ = run("compact", "--purge", "--dry-run", "--saves", saves)
    assert "would remove forgotten.undo" in out
    assert any(uid in path.read_bytes() for path in (saves / "memory").rglob("*") if path.is_file())
    assert run("compact", "--purge", "--saves", saves)[0] == 0
    assert not any(uid in path.read_bytes() for path in (saves / "memory").rglob("*") if path.is_file())
    assert run("forget", "--undo", "--saves", saves)[0] == 2


def test_export_and_import_carry_everything(run: Run, saves: Path, tmp_path: Path) -> None:
    code, out, _ = run("export", tmp_path / "x.jsonl", "--saves", saves)
    assert (code, out) == (0, "")
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"format": "jitrl-episodes", "version": 2}
    assert len(lines) == 6
    (tmp_path / "plain").touch()  # A file that was asked for has the rights that the user's other files get.
    assert (tmp_path / "x.jsonl").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert run("export", "-", "--scope", "zork1", "--saves", saves)[1].splitlines()[1:] == [
        line for line in lines[1:] if json.loads(line)["scope"] == ONE
    ]
    other = tmp_path / "other"
    assert run("import", tmp_path / "x.jsonl", "--saves", other)[0] == 0
    for name, episodes in everything(other).items():
        for ours, theirs in zip(episodes, everything(saves)[name], strict=True):
            marked = tuple(replace(step, provenance="imported:x") for step in theirs.steps)
            assert ours == replace(theirs, steps=marked)
    assert "5 known already" in run("import", tmp_path / "x.jsonl", "--saves", other)[2]
    assert run("import", tmp_path / "x.jsonl", "--scope", "game/all", "--saves", other)[0] == 0
    assert len(everything(other)["game/all"]) == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"steps": []}, "0 steps"),
        ({"uid": 7}, "uid"),
        ({"score": "high"}, "score"),
        ({"scope": "."}, "cannot be used as a name"),
        ({"final": None}, "State"),
        ("not json", "line 2"),
        ("{" * 50_000, "line 2"),
        ('{"uid": NaN}', "line 2"),
        ("[]", "line 2"),
    ],
)
def test_what_is_no_episode_is_refused_line_by_line(
    run: Run, saves: Path, tmp_path: Path, change: Any, told: str
) -> None:
    run("export", tmp_path / "x.jsonl", "--saves", saves)
    head, first, *rest = (tmp_path / "x.jsonl").read_text().splitlines()
    bad = change if isinstance(change, str) else json.dumps({**json.loads(first), **change})
    (tmp_path / "x.jsonl").write_text("\n".join([head, bad, *rest]))
    code, _, err = run("import", tmp_path / "x.jsonl", "--saves", tmp_path / "other")
    assert code == 1
    assert told in err
    assert "took 4 episodes with 20 entries; 0 known already, 1 refused" in err


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]\n", '{"format":"jitrl-episodes","version":9}\n', "\x00\x01", '{"format":"other"}\n'],
)
def test_what_is_no_export_is_refused_whole(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content)
    code, out, err = run("import", tmp_path / "x", "--saves", tmp_path / "saves")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert run("import", tmp_path / "missing", "--saves", tmp_path / "saves")[0] == 2


def test_imported_texts_cannot_steer_the_terminal(run: Run, saves: Path, tmp_path: Path) -> None:
    run("export", tmp_path / "x.jsonl", "--saves", saves)
    content = (tmp_path / "x.jsonl").read_text()
    content = content.replace('"action":"go 0"', '"action":"\\u001b]0;owned\\u0007\\u009b2J go"')
    (tmp_path / "x.jsonl").write_text(content)
    run("import", tmp_path / "x.jsonl", "--saves", tmp_path / "other")
    out = run("show", "zork1", "--episode", 1, "--saves", tmp_path / "other")[1]
    assert "owned" in out
    assert not set(out) & {"\x1b", "\x07", "\x9b"}


def test_merge_takes_what_is_new_and_diff_says_what_differs(run: Run, saves: Path, tmp_path: Path) -> None:
    other = filled(tmp_path / "other", 2)
    before = everything(other)
    code, out, _ = run("diff", saves, other, "--json")
    assert code == 1
    assert {d["scope"]: (len(d["only_a"]), len(d["only_b"]), d["same"]) for d in json.loads(out)} == {
        ONE: (3, 3, 0), TWO: (2, 2, 0),
    }  # fmt: skip
    assert "took 5 episodes" in run("merge", other, "--saves", saves)[2]
    assert "5 known already" in run("merge", other / "memory", "--saves", saves)[2]
    assert everything(other) == before
    merged = everything(saves)
    assert [episode.number for episode in merged[ONE]] == [1, 2, 3, 4, 5, 6]
    assert [replace(e, number=i + 1) for i, e in enumerate(merged[ONE][3:])] == before[ONE]
    run("export", tmp_path / "x.jsonl", "--saves", saves)
    assert run("diff", tmp_path / "x.jsonl", saves)[0] == 0
    run("forget", "zork1", "--entry", 3, "--saves", saves)
    code, out, _ = run("diff", tmp_path / "x.jsonl", "zork1", "--saves", saves)
    assert code == 1
    assert f"{ONE}: 5 episodes alike, 1 changed" in out
    assert run("merge", saves, "--saves", saves)[0] == 2
    assert run("merge", tmp_path / "nothing", "--saves", saves)[0] == 2
    assert run("diff", "zork1", "library", "--saves", saves)[0] == 1


def test_verify_says_what_is_damaged_and_changes_nothing(run: Run, saves: Path) -> None:
    assert run("verify", "--saves", saves)[0] == 0
    (path,) = (saves / "memory").glob("game-zork1*/episodes.jnl")
    whole = path.read_bytes()
    for content, code, told in (
        (whole[:-10], 0, "unfinished"),
        (whole.replace(b'"uid"', b'"xyz"', 1), 1, "are damaged and were left out"),
        (b"x" + whole[5:], 1, "left as it is"),
    ):
        path.write_bytes(content)
        done = run("verify", "--saves", saves)
        assert (done[0], told in done[1]) == (code, True), done
        assert path.read_bytes() == content
        items = json.loads(run("verify", "--json", "--saves", saves)[1])
        assert sorted(item["sound"] for item in items) == [code == 0, True]
    assert run("ls", "--saves", saves)[0] == 1  # the last of these is a foreign file now


def test_what_was_recovered_is_told_in_one_line(run: Run, saves: Path) -> None:
    (path,) = (saves / "memory").glob("game-zork1*/episodes.jnl")
    path.write_bytes(path.read_bytes()[:-10])
    code, _, err = run("ls", "--saves", saves)
    assert code == 0
    assert err.count("\n") == 1
    assert err.startswith("jitrl: an unfinished write of ")
    assert run("ls", "--saves", saves)[2] == ""
    assert "kept (--purge removes) torn-" in run("compact", "--saves", saves)[1]


def test_an_empty_memory_is_nothing_special(run: Run, tmp_path: Path) -> None:
    for action in ("ls", "stats", "verify", "compact"):
        code, out, _ = run(action, "--saves", tmp_path)
        assert (code, out) == (0, "")
    assert json.loads(run("ls", "--json", "--saves", tmp_path)[1]) == []
    assert run("search", "lamp", "--saves", tmp_path)[0] == 0
    assert run("show", "zork1", "--saves", tmp_path)[0] == 2
