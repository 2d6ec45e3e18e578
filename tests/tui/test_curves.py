"""The curves of a session: what an episode scored and cost, which sessions are compared, the window, and its files."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import json
import xml.etree.ElementTree as ET

import pytest

from engine.codec import event_to_line
from engine.records import Decided, EpisodeEnded, ModelCall, ModelCalled, SessionStarted, Stepped
from engine.session import store as sessions
from engine.session.branches import Keeper
from engine.settings import SessionConfig
from jitrl_tui import cli
from jitrl_tui.app import JitrlApp
from jitrl_tui.runs import curves, history
from jitrl_tui.runs.episode_costs import EpisodeCost, Ledger
from jitrl_tui.runs.plot import BrailleCanvas
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.curves import ComparisonDialog, CurveExportDialog, CurvesScreen
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.widgets.measures import CurvesPane
from jitrl_tui.widgets.plots import score_plot
from tests.tui import stream
from tests.tui.driving import settled, until
from tests.tui.screen_text import screen_text

DEFAULTS = {"beta": 20.0, "selection": "greedy"}


def row(episode: int, score: float, **changes) -> EpisodeCost:
    made = EpisodeCost(episode, score, 14.0, 40, 100, 0.01, 4, 2.0, 40 * episode, 40, 30, 0.06, 1.0)
    return dataclasses.replace(made, **changes)


def write(saves, name, scores, *, kind="run", resumed_with=None, origin=None, **changes):
    """Write a session whose episodes have these scores; return it."""
    config = SessionConfig(game=changes.get("game", "zork1"))
    saved = sessions.create_in(saves / "sessions" / name, config, kind, origin)
    events = stream.run(len(scores), 2)
    first = dataclasses.replace(events[0], session=name, settings=changes.get("settings", DEFAULTS))
    first = dataclasses.replace(first, **{k: v for k, v in changes.items() if k in ("agent", "model", "profile")})
    if "game" in changes:
        first = dataclasses.replace(first, environment=dataclasses.replace(first.environment, scope=changes["game"]))
    lines, left = [], list(scores)
    for event in [first, *events[1:]]:
        if isinstance(event, EpisodeEnded):
            event = dataclasses.replace(event, score=left.pop(0))
        lines.append(event_to_line(event, 0.0))
    if resumed_with:
        lines.insert(-1, event_to_line(dataclasses.replace(first, model=resumed_with, resumed=True), 0.0))
    saved.recording.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return saved


# ------------------------------------------------------------------------------------------ the ledger


def test_events_and_lines_of_a_recording_give_the_same_rows():
    events = stream.run(3, 5)
    from_events, from_lines = Ledger(), Ledger()
    for event in events:
        from_events.fold(event)
        from_lines.fold_line(event_to_line(event, 0.0).encode())
    assert from_events.rows == from_lines.rows
    ends = [e for e in events if isinstance(e, EpisodeEnded)]
    made = [e for e in events if isinstance(e, Decided)]
    assert [r.score for r in from_lines.rows] == [e.score for e in ends]
    assert sum(r.calls for r in from_lines.rows) == sum(len(e.decision.calls) for e in made) > 0
    assert sum(r.latency_s for r in from_lines.rows) == pytest.approx(0.41 * len(made))


def test_a_decision_that_a_person_changed_is_counted_once_and_texts_are_no_latencies():
    events = stream.run(1, 3)
    at = next(i for i, e in enumerate(events) if isinstance(e, Decided))
    again = dataclasses.replace(events[at], decision=dataclasses.replace(events[at].decision, action="wait"))
    call = ModelCall("rewards", "m", 'a text with ,"latency_s":99 in it', "x", latency_s=1.5)
    events[at:at] = [ModelCalled(1, 0, call), again]
    ledger = Ledger()
    for event in events:
        ledger.fold_line(event_to_line(event, 0.0).encode())
    steps = sum(isinstance(e, Stepped) for e in events)
    assert ledger.rows[0].calls == steps + 1
    assert ledger.rows[0].latency_s == pytest.approx(0.41 * steps + 1.5)


# ----------------------------------------------------------------------------------- what is compared


def test_only_earlier_sessions_with_the_same_game_agent_model_profile_and_settings_are_compared(tmp_path):
    like = [write(tmp_path, "2026-01", [1.0, 3.0]), write(tmp_path, "2026-02", [3.0, 5.0, 9.0])]
    write(tmp_path, "2026-03", [7.0], agent="static")
    write(tmp_path, "2026-04", [7.0], model="prior/uniform")
    write(tmp_path, "2026-05", [7.0], profile="paper")
    write(tmp_path, "2026-06", [7.0], settings={**DEFAULTS, "beta": 4.0})
    write(tmp_path, "2026-07", [7.0], game="manor")
    write(tmp_path, "2026-08", [7.0], kind="play")
    write(tmp_path, "2026-09", [7.0], resumed_with="prior/uniform")
    write(tmp_path, "2026-09-branch", [1.0], origin=sessions.Origin("2026-01", 1, 1))
    own = write(tmp_path, "2026-10", [2.0])
    write(tmp_path, "2026-11", [7.0])  # later
    started = history.started_of(own.recording)
    found = history.earlier(tmp_path, own.name, started)
    assert {one.name for one, _ in found} == {saved.name for saved in like}
    session = history.PlayedSession(own.name, own.recording, started)
    made = curves.collect(session, history.rows_of(own.recording), found, [])
    assert [c.name for c in made] == [own.name, "mean of 2 earlier sessions like it"]
    assert made[1].values(curves.MEASURES[0]) == [2.0, 4.0, 9.0]


def test_what_the_session_of_a_branch_did_later_is_not_in_the_curve_of_the_branch(tmp_path):
    before = write(tmp_path, "2026-01", [1.0])
    write(tmp_path, "2026-02", [3.0, 5.0, 9.0])
    write(tmp_path, "2026-03", [3.0, 4.0], origin=sessions.Origin("2026-02", 2, 1))
    own = write(tmp_path, "2026-04", [3.0, 4.0, 4.0], origin=sessions.Origin("2026-03", 2, 3))
    found = history.earlier(tmp_path, own.name, history.started_of(own.recording))
    assert [one.name for one, _ in found] == [before.name]


def test_a_difference_names_agent_model_and_settings():
    one = stream.run(1, 1)[0]
    other = dataclasses.replace(one, model="prior/verbs", settings={"beta": 4.0})
    assert isinstance(one, SessionStarted)
    assert history.difference(one, one) == ""
    assert history.difference(other, one) == "model prior/verbs, beta=4.0"


def test_a_running_mean_is_that_of_the_last_values_and_thinning_keeps_the_mean():
    assert curves.running_mean([1.0, 3.0, 5.0, 7.0], 2) == [1.0, 2.0, 4.0, 6.0]
    values = [float(at % 7) for at in range(2_000)]
    points = curves.thin_out(values, 100)
    assert len(points) == 100
    assert sum(value for _, value in points) / 100 == pytest.approx(sum(values) / 2_000)
    assert points[0][0] == 9.5
    assert points[-1][0] == 1989.5


# ------------------------------------------------------------------------------------------ the window


def replayed(width, height, saves=None, saved=None):
    events = stream.run(12, 3)
    if saved is not None:
        events[0] = history.started_of(saved.recording)
    source = ReplaySource(lambda: stream.recorded(events), delay=0.0)
    keeper = Keeper(saves, saved) if saved is not None else None
    app = JitrlApp(lambda: WatchScreen(source, delay=0.0, keeper=keeper))
    return app, app.run_test(size=(width, height))


def test_the_window_adds_sessions_by_name_and_exports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "2026-01", [5.0, 6.0])
    write(tmp_path, "2026-02", [1.0], agent="static")
    own = write(tmp_path, "2026-03", [2.0])

    async def drive():
        app, running = replayed(140, 45, tmp_path, own)
        async with running as pilot:
            await until(pilot, lambda: app.watching and len(app.watching.view.ledger.rows) == 12)
            await until(pilot, lambda: app.watching.view.previous == (5.0, 6.0))
            await pilot.press("L")
            await until(pilot, lambda: "1 earlier session like it" in screen_text(app))
            shown = screen_text(app)
            for title in ("score", "tokens", "a model call, ms", "steps remembered"):
                assert title in shown
            for title in ("cost, $", "retrievals, ms"):  # 0 in all episodes
                assert title not in shown
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, ComparisonDialog))
            await pilot.press("a", "g", "enter")
            await until(pilot, lambda: "A 2026-02  agent static" in screen_text(app))
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, CurveExportDialog))
            await pilot.press("x", "down", "down", "enter")
            await until(pilot, lambda: (tmp_path / "x.csv").is_file())
            await pilot.press("c")
            await until(pilot, lambda: "agent static" not in screen_text(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.watching)

    asyncio.run(drive())
    names = [line["curve"] for line in csv.DictReader((tmp_path / "x.csv").open())]
    assert names == ["2026-03"] * 12 + ["1 earlier session like it"] * 2 + ["2026-02"]


def test_a_small_window_shows_one_measure_at_a_time():
    async def drive():
        app, running = replayed(80, 24)
        async with running as pilot:
            await until(pilot, lambda: app.watching and len(app.watching.view.ledger.rows) == 12)
            await pilot.press("L")
            await until(pilot, lambda: isinstance(app.screen, CurvesScreen))
            assert "maximum 350" in await settled(pilot)
            await pilot.press("left")
            shown = await settled(pilot)
            assert "steps remembered" in shown  # the last of those that are not 0 throughout
            assert "maximum" not in shown
            assert "…" not in shown

    asyncio.run(drive())


def test_a_measure_that_is_0_throughout_is_not_turned_to():
    pane = CurvesPane("curves")
    rows = tuple(row(at, 2.0, tokens=0, cost_usd=0.0) for at in range(1, 4))
    pane._curves = [curves.Curve("", "own", "jitrl", (("own", rows),))]
    seen = []
    for _ in curves.MEASURES:
        seen.append(curves.MEASURES[pane.measure].name)
        pane.turn(1)
    assert seen[0] == "score"
    assert len(set(seen)) < len(curves.MEASURES)
    for one in curves.MEASURES[1:]:
        assert (one.name in seen) == any(pane._curves[0].values(one))


def test_two_thousand_episodes_are_drawn_by_no_more_points_than_there_are_dots(monkeypatch):
    drawn, path = [], BrailleCanvas.path

    def count(canvas, points, *style, **dotted):
        drawn.append((len(points), 2 * canvas.width))
        path(canvas, points, *style, **dotted)

    monkeypatch.setattr(BrailleCanvas, "path", count)
    rows = tuple(row(at, float(at % 15)) for at in range(1, 2_001))
    pane = CurvesPane("curves")
    pane._curves = [curves.Curve("", "own", "x", (("own", rows),)), curves.Curve("E", "mean", "x", (("a", rows),))]
    lines = pane.build(196, 55)
    assert len(drawn) > len(pane._curves)
    assert all(points <= dots for points, dots in drawn)
    assert len(lines) <= 55
    assert all(line.cell_length <= 196 for line in lines)
    assert f"mean of 50: {sum(at % 15 for at in range(1951, 2001)) / 50:.1f} " in lines[0].plain


@pytest.mark.parametrize("size", [(76, 20), (136, 41), (196, 56), (30, 8)])
def test_plots_fit_into_the_pane(size):
    pane = CurvesPane("curves")
    rows = tuple(row(at, -2.5, cost_usd=0.00012, tokens=123_456) for at in range(1, 4))
    pane._curves = [curves.Curve("", "own", "jitrl", (("own", rows),))]
    lines = pane.build(*size)
    assert all(line.cell_length <= size[0] for line in lines)


# ----------------------------------------------------------------------------------------- the command


def test_the_command_compares_tells_and_exports(tmp_path, capsys):
    write(tmp_path, "2026-01", [5.0, 6.0])
    write(tmp_path, "2026-02", [2.0, 4.0])
    write(tmp_path, "2026-03", [1.0], settings={**DEFAULTS, "beta": 4.0})
    write(tmp_path, "2026-04", [1.0], game="manor")
    base = ["--saves", str(tmp_path), "curves", "2026-02"]
    target = tmp_path / "x.svg"
    assert cli.main([*base, "--with", "2026-03", "--json", "--export", str(target)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [curve["about"] for curve in told["curves"]][2] == "beta=4.0"
    assert [e["score"] for e in told["curves"][0]["sessions"][0]["episodes"]] == [2.0, 4.0]
    texts = "".join(ET.parse(target).getroot().itertext())
    assert "2026-03 (beta=4.0)" in texts
    assert "1 earlier session like it" in texts
    assert "maximum" in texts
    assert cli.main(base) == 0
    assert "1 earlier session like it" in capsys.readouterr().out
    assert cli.main([*base, "--with", "2026-04"]) == 2
    assert "2026-04 is a session of" in capsys.readouterr().err
    assert cli.main([*base, "--export", str(tmp_path / "x.doc")]) == 2
    assert ".svg, .png, .csv" in capsys.readouterr().err
    assert cli.main(["--saves", str(tmp_path), "curves", "nowhere"]) == 2


def test_scores_of_0_are_told_and_not_drawn():
    (line,) = score_plot([0.0, 0.0], 10, 60, 9)
    assert line.plain.rstrip() == "All 2 episodes ended with score 0: there is no curve yet."
    assert len(score_plot([0.0, 1.0], 10, 60, 9)) == 9
    assert len(score_plot([0.0], 10, 60, 9, previous=(3.0,))) == 9
