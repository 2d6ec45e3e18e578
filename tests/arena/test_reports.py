"""Reports: what they say of made-up runs, and that every format is well formed."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.bench import report
from engine.bench.report import images, page, plain_text
from engine.bench.report.elements import Figure, Table, Words
from engine.errors import BadFile, MissingError, UsageError
from tests.arena import made_runs
from tests.arena.made_runs import made, row

NASTY = 'a|b_c <script>alert("1")</script> & $x$ \\foo{} [l](http://x) #1 100% ~^ `q` 日本'


@pytest.fixture(scope="module")
def games() -> made_runs.Made:
    return made_runs.games()


def table(results, name: str) -> Table:
    return next(one for one in report.make(results).tables if one.name == name)


def texts(one: Table) -> dict[str, list[str]]:
    return {line.title: [cell.text for cell in line.cells] for line in one.rows}


def two(scores, others, **more) -> made_runs.Made:
    """A run of the arms `one` and `two` on one task with these final scores, one per seed."""
    rows = [row("one", "t", seed, 1, score, **more) for seed, score in enumerate(scores, 1)]
    rows += [row("two", "t", seed, 1, score) for seed, score in enumerate(others, 1)]
    return made(rows)


# -------------------------------------------------------------------------------------------- contents


def test_the_main_table_has_the_means_of_arms_and_columns():
    rows = [row(arm, task, seed, episode, base + seed + episode)
            for arm, base in (("one", 10.0), ("two", 20.0)) for task in ("a", "b")
            for seed in (1, 2) for episode in (1, 2)]  # fmt: skip
    found = table(made(rows).results, "scores")
    assert texts(found) == {"one": ["13.0", "13.5"] * 2, "two": ["23.0", "23.5"] * 2}
    assert [(column.group, column.title) for column in found.columns] == [
        ("a", "Avg"), ("a", "Final"), ("b", "Avg"), ("b", "Final")]  # fmt: skip


def test_what_is_bold_is_certainly_better_than_all_others():
    run = two([9.0, 10.0, 11.0], [1.0, 2.0, 3.0])
    rows = run.rows + [row("three", "t", seed, 1, score) for seed, score in enumerate([8.0, 11.0, 10.0], 1)]
    assert not any(cell.bold for line in table(made(rows).results, "scores").rows for cell in line.cells)


def test_only_what_is_certainly_best_is_bold():
    high, low = [9.0, 10.0, 11.0, 9.0, 12.0], [1.0, 2.0, 3.0, 1.0, 2.0]
    clear = table(two(high, low).results, "scores")
    assert [[cell.bold for cell in line.cells] for line in clear.rows] == [[True, True], [False, False]]
    unclear = table(two([9.0, 10.0, 11.0], [12.0, 2.0, 3.0]).results, "scores")
    assert not any(cell.bold for line in unclear.rows for cell in line.cells)
    few = table(two(high[:4], low[:4]).results, "scores")
    assert not any(cell.bold for line in few.rows for cell in line.cells)
    alone = table(two([9.0], [1.0]).results, "scores")
    assert not any(cell.bold or cell.range for line in alone.rows for cell in line.cells)


def test_a_cell_that_a_person_overruled_is_left_out_and_named():
    run = two([9.0, 10.0, 50.0], [1.0, 2.0, 3.0])
    run.rows[2] = dataclasses.replace(run.rows[2], overruled=4)
    run.rows.append(row("one", "t", 3, 2, 60.0))  # what was learnt from those steps is in later episodes, too
    found = table(run.results, "scores")
    assert texts(found)["one"][0].startswith("9.5")
    assert "2 of 3 seeds" in found.rows[0].cells[0].remark
    assert found.notes == ("one: left out, because a person overruled the agent: one-t-3 (at 4 steps).",)


def test_unfinished_cells_are_not_averaged_but_counted_and_named():
    run = two([1.0, 2.0, 90.0], [1.0, 2.0, 3.0])
    run.manifest["plan"]["episodes"] = 2
    run.manifest["cells"]["one-t-3"].update(state="failed", error="the disk is full")
    found = table(run.results, "scores")
    assert found.rows[0].cells[0].text == "1.50"
    assert found.rows[0].cells[0].remark == "2 of 3 seeds"
    assert [line.marks for line in found.rows] == [(1,), ()]
    assert found.notes == ("one: 2 of 3 cells finished; failed: one-t-3 (the disk is full).",)


def test_an_arm_without_any_finished_cell_keeps_its_row():
    run = two([1.0], [1.0])
    run.rows = run.rows[1:]
    run.manifest["cells"]["one-t-1"]["state"] = "waiting"
    cell = table(run.results, "scores").rows[0].cells[0]
    assert (cell.text, cell.remark) == ("–", "0 of 1 seeds")


def test_an_arm_with_too_many_unusable_answers_gets_a_note_and_is_never_bold():
    run = two([9.0, 10.0, 11.0], [1.0, 2.0, 3.0], answers={"asked": 10, "missing": 2})
    found = table(run.results, "scores")
    assert "not valid" in found.notes[0]
    assert "6 of 30 decisions" in found.notes[0]
    assert not any(cell.bold for line in found.rows for cell in line.cells)
    for cell in run.manifest["cells"].values():
        cell["settings"]["max_missing"] = 0.2
    assert table(run.results, "scores").notes == ()


def test_an_arm_whose_environment_failed_too_often_gets_a_note():
    run = two([9.0, 10.0, 11.0], [1.0, 2.0, 3.0], failed=1, ended_by="failure", steps=4)
    for cell in run.manifest["cells"].values():
        cell["settings"]["max_failed"] = 0.1
    assert "The environment failed at 3 of 15 actions (20 %" in table(run.results, "scores").notes[0]
    for cell in run.manifest["cells"].values():
        cell["settings"]["max_failed"] = 0.2
    assert table(run.results, "scores").notes == ()


def test_episodes_of_training_are_not_measured():
    rows = [row("one", "t", 1, 1, 5.0, leg=2)]
    rows += [row("one", task, 1, 1, 99.0, phase="train", cell="one-t-1", leg=leg) for leg, task in enumerate("tu")]
    found = table(made(rows, tasks=["t"]).results, "scores")
    assert texts(found) == {"one": ["5.00", "5.00"]}


def test_differences_are_taken_to_the_reference_arm():
    run = two([1.0, 2.0, 3.0], [2.0, 4.0, 9.0])
    assert not [one for one in report.make(run.results).tables if one.name == "differences"]
    run.manifest["plan"]["arms"][0]["reference"] = True
    found = table(run.results, "differences")
    assert texts(found) == {"two": ["+3.00", "+3.00"]}
    assert found.rows[0].cells[0].range == "[1.00, 6.00]"


def test_rows_are_grouped_by_model_if_there_are_several():
    run = made_runs.web(tasks=2, seeds=1, models=("one/a", "two/b"))
    found = table(run.results, "scores")
    assert list(dict.fromkeys(line.group for line in found.rows)) == ["one/a", "two/b"]
    assert len(found.rows) == 12
    commands = [line.cells[-1].text for line in table(run.results, "commands").rows]
    assert commands[-1] == "jitrl bench run made --arms jitrl --models two/b"


def test_the_average_is_over_tasks_and_web_scores_are_in_percent():
    rows = [row("one", f"web:s/{number}", 1, 1, score, group=group, max_score=1.0, cell="c")
            for number, (group, score) in enumerate([("x", 1.0), ("x", 0.0), ("x", 1.0), ("y", 1.0)])]  # fmt: skip
    found = table(made(rows, report={"average": "tasks", "measures": ["avg"]}).results, "scores")
    assert [column.group for column in found.columns] == ["x", "y", "Average"]
    assert texts(found) == {"one": ["66.7", "100.0", "75.0"]}


def test_published_numbers_are_in_a_table_of_their_own(games):
    found = table(games.results, "published-jericho_results")
    assert not found.ours
    assert "published, with Gemini-2.5-flash" in found.caption
    assert texts(found)["JitRL"] == ["25.9", "30", "53.0", "69", "3.1", "5"]


def test_memory_sizes_are_those_before_the_episode():
    rows = [row("one", "t", 1, number, 10.0 * number, entries=300 * number, added=300) for number in (1, 2, 3)]
    timings = [made_runs.TimingRow("one-t-1", 0, number, 1.0, 0.0, 0.01 * number, 10) for number in (1, 2, 3)]
    found = table(made(rows, timings, report={"bins": 500}).results, "memory")
    assert texts(found) == {"0–500": ["2", "1.50", "15.0"], "500–1,000": ["1", "3.00", "30.0"]}
    assert found.timed


def test_a_sweep_is_drawn_against_its_values():
    (figure,) = report.make(made_runs.sweep().results).figures
    assert [panel.title for panel in figure.panels] == ["pantry", "manor"]
    values = (0, 0.5, 1, 2)
    assert [(line.label, line.x) for line in figure.panels[0].lines] == [("Avg", values), ("Final", values)]


def test_an_arm_has_the_same_colour_in_all_panels(games):
    (figure,) = report.make(games.results).figures
    colours = {(line.label, line.colour) for panel in figure.panels for line in panel.lines}
    assert len(colours) == len(made_runs.GAME_ARMS) == len(figure.legend)


def test_commands_play_one_arm_with_the_options_of_the_run():
    run = two([1.0], [1.0])
    run.manifest["command"] = "jitrl bench run suite.toml --arms one two --seeds 3 --set beta=2"
    commands = [line.cells[-1].text for line in table(run.results, "commands").rows]
    assert commands[1] == "jitrl bench run suite.toml --seeds 3 --set beta=2 --arms two"


def test_the_summary_has_the_main_table_and_the_differences_alone(games):
    headings = re.findall(r"^## (.*)$", report.summary(games.results), re.MULTILINE)
    assert headings == ["Results", "Differences to static"]


def test_the_protocol_is_told_in_words(games):
    words = next(part for part in report.make(games.results).parts if isinstance(part, Words))
    assert "12 episodes of at most 60 steps on each task; seeds 1 to 3." in words.sentences


# --------------------------------------------------------------------------------------------- formats


class Page(HTMLParser):
    """Checks that tags are closed, and keeps texts and tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def nasty() -> made_runs.Made:
    """A run whose every name is hostile."""
    rows = [row(NASTY + arm, NASTY, seed, episode, 1.0 * seed + episode, model=NASTY)
            for arm in "xy" for seed in (1, 2) for episode in (1, 2)]  # fmt: skip
    run = made(rows, title=NASTY, about=NASTY, models=[NASTY])
    run.manifest["cells"][rows[0].cell].update(state="failed", error=NASTY)
    run.manifest["command"] = NASTY
    return run


@pytest.mark.parametrize(
    ("build", "left_out"),
    [(nasty, ""), (made_runs.games, "svg html"), (made_runs.web, "svg png"), (made_runs.sweep, "svg png")],
)
def test_every_format_is_well_formed(build, left_out, tmp_path):
    pytest.importorskip("matplotlib")
    formats = [one for one in report.FORMATS if one not in left_out.split()]
    files = {file.name: file for file in report.write(build().results, tmp_path / "out", formats)}
    assert {name.rpartition(".")[2] for name in files} == set(formats)
    for name, file in files.items():
        if name.endswith(".html"):
            shown = Page(file.read_text())
            assert shown.open == []
            assert sum(tag == "script" for tag, _ in shown.tags) == 1
            assert not [given for _, given in shown.tags if "src" in given or "href" in given]
        if name.endswith(".svg"):
            ElementTree.fromstring(file.read_text())
        if name.endswith(".png"):
            data = file.read_bytes()
            assert data[:8] == b"\x89PNG\r\n\x1a\n"
            assert struct.unpack(">I", data[16:20])[0] > 300
        if name.endswith(".csv"):
            lines = list(csv.reader(io.StringIO(file.read_text())))
            assert {len(line) for line in lines} == {11}
        if name.endswith(".md"):
            check_markdown(file.read_text())
        if name.endswith(".tex"):
            check_latex(file.read_text())


def check_markdown(text: str) -> None:
    """All lines of a table have as many places, and no text from outside makes a tag or a link."""
    bare = re.sub(r"`+[^`].*?`+", "", text)
    assert not re.search(r"(?<!\\)<", bare)
    assert not re.search(r"(?<!\\)\]\(http", bare)
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, block


def check_latex(text: str) -> None:
    """Braces and environments are closed, special characters are escaped, and rows have as many places."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    assert body.isascii() or all(ord(one) < 0x180 for one in body)
    bare = re.sub(r"\\[\\{}$&#_%]", "", body)
    depth = 0
    for one in bare:
        depth += (one == "{") - (one == "}")
        assert depth >= 0
    assert depth == 0
    assert not re.search(r"[#%_^]", re.sub(r"\\label\{[^}]*\}", "", bare))
    assert all(re.fullmatch(r"\$(-|\\[a-z]+)\$", one) for one in re.findall(r"\$[^$]*\$", bare))
    for tabular in re.findall(r"\\begin\{tabular\}(.*?)\\bottomrule", body, re.DOTALL):
        rows = [line for line in tabular.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX: apt install texlive-latex-recommended")
def test_latex_compiles(tmp_path):
    report.write(nasty().results, tmp_path, ["tex"])
    (tmp_path / "whole.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{textcomp,array,booktabs}\begin{document}"
        r"\input{report.tex}\input{timings.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "whole.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_names_from_outside_are_shown_as_they_are_in_the_page():
    assert NASTY in Page(page.page(report.make(nasty().results))).text


def test_csv_has_a_line_for_each_arm_column_and_measure(games):
    lines = list(csv.DictReader(io.StringIO(plain_text.tidy(report.make(games.results).only(timed=False)))))
    mine = [one for one in lines if one["table"] == "scores"]
    assert len(mine) == 6 * 3 * 2
    found = next(one for one in mine if (one["arm"], one["column"], one["measure"]) == ("jitrl", "zork1", "final"))
    finals = [one.score for one in games.rows if one.arm == "jitrl" and one.task == "zork1" and one.episode == 12]
    assert float(found["value"]) == pytest.approx(sum(finals) / 3)
    assert (found["n"], found["of"]) == ("3", "3")
    assert not any("published" in one["table"] for one in lines)


def test_times_change_nothing_but_the_files_of_times(tmp_path):
    games = made_runs.games(tasks=["zork1"])
    timings = [dataclasses.replace(one, wall_s=one.wall_s * 3, retrieval_s=9.0) for one in games.timings]
    slow = made_runs.Made(json.loads(json.dumps(games.manifest)), games.rows, timings)
    slow.manifest.update(name="other", created=1.0, spent={"usd": 9.0, "tokens": 1, "minutes": 99.0})
    formats = ("md", "csv", "tex", "svg")
    for name, run in (("one", games), ("again", games), ("slow", slow)):
        report.write(run.results, tmp_path / f"{name}-out", formats)
    for file in sorted((tmp_path / "one-out").iterdir()):
        same = file.read_bytes() == (tmp_path / "slow-out" / file.name).read_bytes()
        assert same == (not file.name.startswith("timings")), file.name
        assert file.read_bytes() == (tmp_path / "again-out" / file.name).read_bytes()


def test_without_matplotlib_only_figures_are_missing_and_a_sentence_says_so(games, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingError, match="jitrl up report"):
        report.write(games.results, tmp_path / "out")
    assert {file.suffix for file in (tmp_path / "out").iterdir()} == {".md", ".csv", ".tex", ".html"}
    shown = Page((tmp_path / "out" / "report.html").read_text())
    assert shown.text.count("install it with: jitrl up report") == 1
    assert "svg" not in [tag for tag, _ in shown.tags]


def test_matplotlib_is_not_imported_before_it_is_needed():
    code = "import engine.bench.report, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_names_are_no_formulas_in_png():
    pytest.importorskip("matplotlib")
    (figure,) = report.make(nasty().results).figures
    assert isinstance(figure, Figure)
    assert images.draw(figure, "png")


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no format 'pdf'"):
        report.write(two([1.0], [2.0]).results, tmp_path, ["pdf"])


# ---------------------------------------------------------------------------------------------- loading


def test_what_is_loaded_is_what_was_written(games, tmp_path):
    assert report.load(games.write(tmp_path)) == games.results


def test_a_line_that_was_being_written_is_ignored(games, tmp_path):
    folder = games.write(tmp_path)
    for name in ("episodes", "timings"):
        file = folder / f"{name}.jsonl"
        file.write_bytes(file.read_bytes()[:-40])
    found = report.load(folder)
    assert found.rows == tuple(games.rows[:-1])
    assert found.timings == tuple(games.timings[:-1])


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("manifest.json", b"{", "cannot be read"),
        ("manifest.json", b"[]", "it is no object"),
        ("manifest.json", b"{}", "it has no format"),
        ("manifest.json", b'{"format": 99, "plan": {}, "cells": {}}', "newer jitrl"),
        ("manifest.json", b'{"format": 1, "plan": {}}', "it has no cells"),
        ("manifest.json", b'{"format": 1, "plan": {}, "cells": {"c": {}}}', "no arm or no seed"),
        ("manifest.json", b'{"format": 1, "plan": {}, "cells": {}}', "has no cell"),
        ("manifest.json", b'{"format": 1, "plan": {"arms": [1]}, "cells": {}}', "an arm of its plan"),
        ("episodes.jsonl", b"{}\n", "line 1 of .*cell is missing"),
        ("episodes.jsonl", b"\xff\n", "line 1 of .*no UTF-8"),
        ("timings.jsonl", b'{"cell": 1}\n', "line 1 of .*should be a text"),
    ],
)
def test_a_damaged_file_gets_one_sentence(name, data, says, tmp_path):
    folder = two([1.0], [2.0]).write(tmp_path)
    (folder / name).write_bytes(data)
    with pytest.raises(BadFile, match=says):
        report.load(folder)


def test_a_folder_without_a_run_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no run of a benchmark"):
        report.load(tmp_path)


def test_a_run_that_was_stopped_tells_the_episodes_that_were_finished():
    run = made([row("jitrl", "pantry", 1, n, float(n)) for n in (1, 2, 3)], episodes=15)
    assert "unfinished" not in [one.name for one in report.make(run.results).tables]
    run.manifest["cells"]["jitrl-pantry-1"]["state"] = "stopped"
    assert texts(table(run.results, "unfinished")) == {"jitrl": ["pantry", "1", "3 of 15", "2", "3"]}
    assert "3 of 15" in report.summary(run.results)
    assert table(run.results, "scores").rows[0].cells[0].text == "–"


def test_decisions_are_told_by_episode_with_those_of_unfinished_cells():
    def one(arm: str, seed: int, n: int, **answers: int):
        return row(arm, "pantry", seed, n, 1.0, answers={"asked": 10, **answers}, changed=n, prompt_tokens=n * 100)

    run = made([
        *(one("jitrl", seed, n, missing=1, searched=10 * (n > 1), found=n, own=6, other=3)
          for seed in (1, 2) for n in (1, 2)),
        one("static", 1, 1, own=10), row("random", "pantry", 1, 1, 0.0),
    ])  # fmt: skip
    run.manifest["cells"]["jitrl-pantry-2"]["state"] = "stopped"
    found = table(run.results, "decisions")
    assert [(line.group, line.part, *(cell.text for cell in line.cells)) for line in found.rows] == [
        ("jitrl", "1", "2", "–", "10.0", "66.7", "10.0", "100"),
        ("jitrl", "2", "2", "20.0", "20.0", "66.7", "10.0", "200"),
        ("static", "1", "1", "–", "10.0", "100.0", "0.0", "100"), ("random", "1", "1", "–", "0.0", "–", "–", "0"),
    ]  # fmt: skip
    printed = [one for one in report.plain(run.results)["values"] if one["table"] == "decisions"]
    assert [one["value"] for one in printed if one["measure"] == "own"][:2] == [pytest.approx(2 / 3)] * 2
    many = made([row("jitrl", "pantry", 1, n, 1.0, answers={"asked": 1}) for n in range(1, 51)])
    parts = [line.part for line in table(many.results, "decisions").rows]
    assert (parts[0], parts[-1], len(parts)) == ("1–3", "49–50", 17)
