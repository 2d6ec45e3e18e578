"""`jitrl export`: its rows are those of the recording, and a run has those of all its cells."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import zipfile
from xml.etree import ElementTree

import pytest

from engine.bench.report.elements import Figure, Line, Panel
from engine.bench.report.images import draw
from engine.records import Decided, EpisodeEnded, Stepped
from engine.session import recording, tables
from engine.session.candidates import CandidateRow, candidate_rows
from engine.texts import cell
from jitrl_tui.cli import main
from jitrl_tui.runs import curves
from jitrl_tui.runs.episode_costs import EpisodeCost
from tests.arena.running import bench
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server


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
    assert bench("run", str(suite), "--name", "r", saves=tmp_path).returncode == 0
    target = tmp_path / "out.csv"
    assert main(["--saves", str(tmp_path), "export", "r", "-o", str(target)]) == 0
    rows = list(csv.DictReader(target.open()))
    assert {row["seed"] for row in rows} == {"1", "2"}
    assert len({row["cell"] for row in rows}) == 2
    assert {row["agent"] for row in rows} == {"static"}
    assert {row["q"] for row in rows} == {""}


@pytest.mark.parametrize(("given", "said"), [
    (["nothing"], "there is no session or run 'nothing'"),
    (["x", "-o", "x.xls"], "--to is needed: x.xls does not end with .csv, .jsonl, .parquet or .eval"),
    (["x", "--to", "parquet"], "parquet is no text for a terminal: say with -o where it goes"),
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
    played = EpisodeCost(1, 1.0, None, 1, 1, None, 1, 1.0, 1, 1, 1, 1.0, 1.0)
    drawn = draw(Figure("f", name, name, (Panel(name, name, name, (line,)),)), "svg")
    assert "HYPERLINK" in "".join(ElementTree.fromstring(drawn).itertext())
    out = curves.table([curves.Curve("", "=1", "", (("@x", (played,)),))])
    assert [*csv.reader(io.StringIO(out))][1][:2] == ["'=1", "'@x"]
    assert [*map(cell, ("-0.5", "-north", "+1", "@a", 3, None))] == ["-0.5", "'-north", "+1", "'@a", 3, None]


def test_a_dataset_has_a_card_and_the_rows_and_replaces_nothing(saves, tmp_path, capsys):
    folder = tmp_path / "set"
    line = ["--saves", str(saves), "export", "last", "--to", "datasets", "-o", str(folder)]
    assert main(line) == 0
    (session,) = (saves / "sessions").iterdir()
    rows = [dataclasses.asdict(row) for row in candidate_rows(session)]
    (data,) = (folder / "data").iterdir()
    card = (folder / "README.md").read_text().split("---\n")[1]
    assert card.startswith('pretty_name: "Decisions of last"\n')  # in quotes, so that any name is one text of YAML
    assert f"path: data/{data.name}\n" in card
    assert [name.split()[-1] for name in card.splitlines() if "- name: " in name] == list(rows[0])
    if data.suffix == ".jsonl":
        assert [json.loads(text) for text in data.read_text().splitlines()] == rows
    assert main(line) == 2
    assert "is there already; name a new folder" in capsys.readouterr().err
    assert main([*line[:-1], str(tmp_path / "none" / "set")]) == 1
    assert "cannot write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]


def test_spans_are_a_tree_for_each_episode_with_the_calls_and_the_actions(saves, tmp_path):
    file = tmp_path / "spans.json"
    assert main(["--saves", str(saves), "export", "last", "--to", "openinference", "-o", str(file)]) == 0
    (scope,) = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"]
    spans = {span["spanId"]: span for span in scope["spans"]}
    assert len(spans) == len(scope["spans"])

    def said(span, name):
        return next((value for one in span["attributes"] if one["key"] == name for value in one["value"].values()), "")

    kinds = {name: [span for span in spans.values() if said(span, "openinference.span.kind") == name]
             for name in ("AGENT", "CHAIN", "LLM", "TOOL")}  # fmt: skip
    (session,) = (saves / "sessions").iterdir()
    events = [event for _, event in recording.read(session / "events.jsonl")]
    stepped = [event for event in events if isinstance(event, Stepped)]
    assert [said(span, "input.value") for span in kinds["TOOL"]] == [event.action for event in stepped]
    assert [said(span, "output.value") for span in kinds["CHAIN"]] == [event.action for event in stepped]
    assert {said(span, "jitrl.score") for span in kinds["AGENT"]} == {
        event.score for event in events if isinstance(event, EpisodeEnded)
    }
    parents = {"CHAIN": "AGENT", "TOOL": "CHAIN"}
    for name, above in parents.items():
        for span in kinds[name]:
            parent = spans[span["parentSpanId"]]
            assert (said(parent, "openinference.span.kind"), parent["traceId"]) == (above, span["traceId"])
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    assert len({span["traceId"] for span in kinds["AGENT"]}) == len(kinds["AGENT"])


def test_each_call_that_a_server_answered_is_a_span_with_its_question_and_its_answer(tmp_path, monkeypatch):
    server = Server()
    server.default = scripted = Scripted([])
    with server.running():
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        assert main(["--saves", str(tmp_path), "run", "pantry", "--agent", "reflexion", "--model", "openai/player",
                     "--episodes", "1", "--steps", "2", "--set", "logits=verbalized"]) == 0  # fmt: skip
    file = tmp_path / "spans.json"
    assert main(["--saves", str(tmp_path), "export", "last", "--to", "openinference", "-o", str(file)]) == 0
    spans = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"]
    said = [{one["key"]: next(iter(one["value"].values())) for one in span["attributes"]} for span in spans]
    calls = [values for values in said if values["openinference.span.kind"] == "LLM"]
    assert len(calls) == 3  # two choices and a reflection; before them, the model was tried
    for (_, body, answer), call in zip(scripted.calls[-3:], calls, strict=True):
        assert call["output.value"] == answer
        assert all(text_of(message) in call["input.value"] for message in body["messages"])
        assert call["llm.model_name"] == "openai/player"
        assert int(call["llm.token_count.prompt"]) > 0


@pytest.fixture(scope="module")
def logs(saves, tmp_path_factory):
    """The session as logs of Inspect: as an archive and as JSON."""
    folder = tmp_path_factory.mktemp("logs")
    for name in ("x.eval", "x.json"):
        assert main(["--saves", str(saves), "export", "last", "--to", "inspect", "-o", str(folder / name)]) == 0
    return folder


def test_a_log_of_inspect_has_the_episodes_and_both_forms_say_the_same(saves, logs):
    (session,) = (saves / "sessions").iterdir()
    events = [event for _, event in recording.read(session)]
    ended = [event for event in events if isinstance(event, EpisodeEnded)]
    log = json.loads((logs / "x.json").read_text())
    samples = log.pop("samples")
    assert [sample["scores"]["environment"]["value"] for sample in samples] == [event.score for event in ended]
    assert log["results"]["scores"][0]["metrics"]["mean"]["value"] == sum(event.score for event in ended) / 2
    acted = [[one["content"] for one in sample["messages"] if one["role"] == "assistant"] for sample in samples]
    assert acted == [[e.action for e in events if isinstance(e, Stepped) and e.episode == n] for n in (1, 2)]
    with zipfile.ZipFile(logs / "x.eval") as archive:
        assert json.loads(archive.read("header.json")) == log
        names = [f"samples/{sample['id'].replace('/', '_')}_epoch_{sample['epoch']}.json" for sample in samples]
        assert [json.loads(archive.read(name)) for name in names] == samples
        assert {*archive.namelist()} == {*names, "header.json", "summaries.json", "_journal/start.json"}


NEEDED = {
    (): "version status eval plan stats invalidated tags metadata",
    ("eval",): "eval_id run_id created task task_id task_version task_attribs task_args task_args_passed dataset model "
               "model_generate_config model_args config packages",
    ("plan",): "name steps config",
    ("plan", "steps", 0): "solver params params_passed",
    ("results",): "total_samples completed_samples scores",
    ("results", "scores", 0): "name scorer params metrics",
    ("results", "scores", 0, "metrics", "mean"): "name value params",
    ("stats",): "started_at completed_at model_usage role_usage connection_limit_history",
    ("samples", 0): "id epoch input target messages output metadata store events model_usage role_usage attachments",
    ("samples", 0, "output"): "model choices completion",
    ("samples", 0, "output", "choices", 0): "message stop_reason",
    ("samples", 0, "scores", "environment"): "value history",
    ("samples", 0, "messages", 1): "role content",
}  # fmt: skip
"""What the JSON Schema of inspect_ai 0.3.285 requires (`inspect log schema`), by the place in a log."""


@pytest.mark.parametrize("place", NEEDED)
def test_a_log_of_inspect_has_the_fields_that_its_schema_requires(logs, place):
    at = json.loads((logs / "x.json").read_text())
    for part in place:
        at = at[part]
    assert {*NEEDED[place].split()} - {*at} == set()


def test_inspect_opens_its_logs(logs):
    reader = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed; it needs 100 packages")
    for name in ("x.eval", "x.json"):
        log = reader.read_eval_log(str(logs / name))
        assert (log.status, log.eval.model, len(log.samples)) == ("success", "prior/verbs", 2)
        assert log.samples[1].epoch == 2
        assert log.results.scores[0].metrics["final"].value == log.samples[1].scores["environment"].value


def test_datasets_opens_its_folder(saves, tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    assert main(["--saves", str(saves), "export", "last", "--to", "datasets", "-o", str(tmp_path / "set")]) == 0
    (session,) = (saves / "sessions").iterdir()
    rows = datasets.load_dataset(str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.to_list() == [dataclasses.asdict(row) for row in candidate_rows(session)]
