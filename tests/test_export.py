"""`jitrl export`: its rows are those of the recording, and a run has those of all its cells."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from xml.etree import ElementTree

import pytest

from engine.bench.report.shapes import Figure, Line, Panel
from engine.bench.report.svg import svg
from engine.records import Decided, EpisodeEnded
from engine.session import recording, tables
from engine.session.candidates import CandidateRow, candidate_rows
from engine.texts import cell
from jitrl_tui import curves
from jitrl_tui.cli import main
from jitrl_tui.ledger import Row


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saves")
    assert main(["--saves", str(folder), "run", "pantry", "--episodes", "2", "--steps", "6", "--model", "prior/verbs",
                 "--set", "estimator=knn"]) == 0  # fmt: skip
    return folder


def test_rows_are_the_numbers_of_the_recording(saves, capsys):
    (session,) = (saves / "sessions").iterdir()
    assert main(["--saves", str(saves), "export", session.name, "--to", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = [event for _, event in recording.read(session)]
    decided = [event for event in events if isinstance(event, Decided)]
    ended = {event.episode: event for event in events if isinstance(event, EpisodeEnded)}
    assert len(rows) == sum(len(event.decision.candidates) for event in decided)
    assert sum(row["chosen"] for row in rows) == len(decided) == 12
    for event in decided:
        d, u = event.decision, event.decision.update
        own = [row for row in rows if (row["episode"], row["step"]) == (event.episode, d.step)]
        assert [row["action"] for row in own] == [c.action for c in d.candidates]
        assert [row["z_prime"] for row in own] == list(u.z_prime)
        assert [row["q"] for row in own] == list(u.valuation.q)
        assert [row["pi"] for row in own] == list(d.posterior)
        assert {row["g"] for row in own} == {ended[event.episode].returns[d.step]}
        for row in own:
            assert row["z"] + row["beta"] * row["a_normalised"] == pytest.approx(row["z_prime"])
            assert row["q"] - row["v"] == pytest.approx(row["a"])
    assert sum(row["reward"] for row in rows if row["chosen"] and row["episode"] == 2) == ended[2].score


def test_csv_has_the_same_rows_and_no_formulas(saves):
    (session,) = (saves / "sessions").iterdir()
    rows = list(candidate_rows(session))
    rows[0] = dataclasses.replace(rows[0], action="=1+1")
    file = io.StringIO()
    assert tables.write(rows, "csv", file) == len(rows)
    read = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [float(row["z"]) for row in read] == [row.z for row in rows]
    assert read[0]["action"] == "'=1+1"
    assert list(read[0]) == [field.name for field in dataclasses.fields(CandidateRow)]


def test_parquet_has_the_same_rows(saves, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: jitrl up parquet")
    (session,) = (saves / "sessions").iterdir()
    rows = list(candidate_rows(session, "a cell"))
    tables.save(iter(rows), "parquet", tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == [dataclasses.asdict(row) for row in rows]


def test_a_run_has_the_rows_of_its_cells(tmp_path, capsys):
    suite = tmp_path / "tiny.toml"
    suite.write_text('title = "t"\nabout = "t"\ntasks = ["pantry"]\nmodels = ["prior/verbs"]\nseeds = 2\nepisodes = 1\n'
                     'steps = 3\n[[arms]]\nname = "Static"\nagent = "static"\n')  # fmt: skip
    assert main(["--saves", str(tmp_path), "bench", "run", str(suite), "--name", "r", "--jobs", "1"]) == 0
    target = tmp_path / "out.csv"
    assert main(["--saves", str(tmp_path), "export", "r", "-o", str(target)]) == 0
    rows = list(csv.DictReader(target.open()))
    assert {row["seed"] for row in rows} == {"1", "2"}
    assert len({row["cell"] for row in rows}) == 2
    assert {row["agent"] for row in rows} == {"static"}
    assert {row["q"] for row in rows} == {""}


@pytest.mark.parametrize(("given", "said"), [
    (["nothing"], "there is no session or run 'nothing'"),
    (["x", "-o", "x.xls"], "--to is needed: x.xls does not end with .csv, .jsonl, .parquet"),
    (["x", "--to", "parquet"], "Parquet is no text: name a file with -o"),
])  # fmt: skip
def test_what_cannot_be_exported_is_said(tmp_path, capsys, given, said):
    assert main(["--saves", str(tmp_path), "export", *given]) != 0
    assert said in capsys.readouterr().err




def test_values_are_also_given_as_they_are_shown(saves, tmp_path):
    (session,) = (saves / "sessions").iterdir()
    neighbours = list(candidate_rows(session))
    assert {row.unit for row in neighbours} == {"return G"}
    assert all((row.v_shown, row.q_shown, row.a_shown) == (row.v, row.q, row.a) for row in neighbours)

    words = ("run", "pantry", "--episodes", "5", "--steps", "15", "--model", "prior/verbs", "--quiet")
    assert main(["--saves", str(tmp_path), *words]) == 0
    (session,) = (tmp_path / "sessions").iterdir()
    plans = [row for row in candidate_rows(session) if row.unit == "points"]
    left = max(event.max_score for _, event in recording.read(session) if isinstance(event, EpisodeEnded))
    assert any(row.q > left for row in plans)  # hope, as the policy uses it
    assert all(row.v_shown <= left + 1e-9 for row in plans)
    for row in plans:
        assert row.q_shown - row.v_shown == pytest.approx(row.a_shown)
        assert row.a_shown * row.a >= 0


def test_no_name_is_a_formula_in_a_table_or_breaks_a_picture():
    name = "=HYPERLINK(\"http://x\")\x00\x1b[31m\ud800 <&'\">"
    line = Line(name, 0, (1.0, 2.0), (1.0, 2.0))
    played = Row(1, 1.0, None, 1, 1, None, 1, 1.0, 1, 1, 1, 1.0, 1.0)
    drawn = svg(Figure("f", name, name, (Panel(name, name, name, (line,)),)))
    assert "HYPERLINK" in "".join(ElementTree.fromstring(drawn.encode()).itertext())
    out = curves.table([curves.Curve("", "=1", "", (("@x", (played,)),))])
    assert [*csv.reader(io.StringIO(out))][1][:2] == ["'=1", "'@x"]
    assert [*map(cell, ("-0.5", "-north", "+1", "@a", 3, None))] == ["-0.5", "'-north", "+1", "'@a", 3, None]
