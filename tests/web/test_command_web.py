"""`jitrl run` and `jitrl watch` with web tasks: refused in one sentence before anything starts, or played."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from engine.errors import MissingError, UsageError
from engine.memory import Memory
from engine.web import environment_factory
from engine.web.sites.miniwob import pages_folder
from tests.commands import run


def jitrl(saves, *arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("WA_")}
    return run(
        [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(saves), *arguments],
        capture_output=True, text=True, timeout=120, env={**clean, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("web:local-999", "there is no web task 'local-999'; see: jitrl web ls"),
        ("web:nothing", "there is no web task 'nothing'"),
        ("web:local-mars", "no tasks on a site 'mars'"),
        ("web:miniwob-none", "there is no web task 'miniwob-none'"),
    ],
)
def test_a_wrong_name_is_refused(tmp_path, name, says):
    with pytest.raises(UsageError, match=says):
        environment_factory.ready(name, tmp_path, {})


def test_a_suite_or_a_site_of_it_stands_for_its_tasks(tmp_path):
    every = environment_factory.expand("web:local", tmp_path)
    shop = environment_factory.expand("web:local-shop", tmp_path)
    assert len(every) >= 40
    assert set(shop) < set(every)
    assert set(environment_factory.expand("web:local-shopping_admin", tmp_path)) < set(shop)
    assert environment_factory.expand("web:local-3", tmp_path) == ("web:local-3",)
    assert "web:miniwob-enter-text" in environment_factory.expand("web:miniwob", tmp_path)


def test_what_cannot_begin_is_said_before_there_is_a_session(tmp_path, browser_path, monkeypatch):
    monkeypatch.setattr("engine.web.tasks.verdict.require_verified", lambda saves: saves)
    with pytest.raises(
        MissingError, match=r"the site gitlab is not running; start it with: jitrl web up fossil"
    ):
        environment_factory.ready("web:local-0", tmp_path, {})
    assert environment_factory.ready("web:local-0", tmp_path, {"WA_GITLAB": "http://127.0.0.1:9"}) == ("web:local-0",)
    for arguments, says in [
        (("run", "pantry", "--profile", "web"), "there is no profile 'web'"),
        (("watch", "web:local-999"), "there is no web task"),
        (("run", "web:local-0", "--agent", "nobody"), "there is no agent 'nobody'"),
    ]:
        done = jitrl(tmp_path, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "sessions").exists()


def test_a_suite_is_played_task_by_task_with_one_memory(tmp_path, browser_path, monkeypatch, capsys):
    if pages_folder(None) is None:
        pytest.skip("the miniwob package is not here")
    from jitrl_tui.cli import main

    monkeypatch.setattr("engine.web.tasks.miniwob.TASKS", ("click-test", "click-dialog"))
    result = tmp_path / "result.json"
    code = main(["--saves", str(tmp_path), "run", "web:miniwob", "--model", "prior/uniform", "--episodes", "2",
                 "--fresh", "--quiet", "--json", str(result)])  # fmt: skip
    assert (code, capsys.readouterr().out) == (0, "")
    found = json.loads(result.read_text())
    assert [task["game"] for task in found["tasks"]] == ["miniwob-click-test", "miniwob-click-dialog"]
    assert [len(task["episodes"]) for task in found["tasks"]] == [2, 2]
    assert all(task["profile"] == "default" for task in found["tasks"])
    scores = [e["score"] for task in found["tasks"] for e in task["episodes"]]
    assert found["avg"] == sum(scores) / 4
    assert not (tmp_path / "memory").exists()  # --fresh: the shared memory is not touched
    first, second = sorted((tmp_path / "sessions").iterdir())
    assert not (second / "memory").exists()
    with Memory(first / "memory") as memory:
        assert memory.scope("web/miniwob").episode_count == 4


def test_a_suite_that_was_stopped_goes_on_with_all_tasks_that_are_left(
    tmp_path, browser_path, monkeypatch, capsys
):
    if pages_folder(None) is None:
        pytest.skip("the miniwob package is not here")
    from engine.records import EpisodeEnded
    from jitrl_tui.cli import main
    from jitrl_tui.commands.headless import RunProgress

    monkeypatch.setattr("engine.web.tasks.miniwob.TASKS", ("click-test", "click-dialog", "click-link"))
    result, seen, show = tmp_path / "result.json", [], RunProgress.show

    def interrupting(self, event):
        show(self, event)
        if isinstance(event, EpisodeEnded):
            seen.append(event)
            if len(seen) == 3:  # in the middle of the second task
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(RunProgress, "show", interrupting)
    base = ["--saves", str(tmp_path), "run", "web:miniwob"]
    code = main(
        [*base, "--model", "prior/uniform", "--episodes", "2", "--fresh", "--quiet", "--json", str(result)]
    )
    said = capsys.readouterr().err
    assert code == 130
    assert [len(task["episodes"]) for task in json.loads(result.read_text())["tasks"]] == [2, 1]
    (name,) = [path.stem for path in (tmp_path / "suites").glob("*.json")]
    assert f"go on with: jitrl run web:miniwob --resume {name}" in said
    # By the name of the suite, or of any session of it.
    second = sorted(path.name for path in (tmp_path / "sessions").iterdir())[1]
    assert main([*base, "--resume", second, "--quiet", "--json", str(result)]) == 0
    found = json.loads(result.read_text())
    assert [task["game"] for task in found["tasks"]] == [
        "miniwob-click-test", "miniwob-click-dialog", "miniwob-click-link"
    ]  # fmt: skip
    assert [len(task["episodes"]) for task in found["tasks"]] == [2, 2, 2]
    assert len(list((tmp_path / "sessions").iterdir())) == 3
    with Memory(tmp_path / "sessions" / sorted(os.listdir(tmp_path / "sessions"))[0] / "memory") as memory:
        assert memory.scope("web/miniwob").episode_count == 6
    assert main([*base, "--resume", name, "--quiet", "--json", str(result)]) == 0  # nothing is left
    assert json.loads(result.read_text()) == found


def test_every_listed_miniwob_task_has_its_page():
    folder = pages_folder(None)
    if folder is None:
        pytest.skip("the miniwob package is not here")
    from engine.web.tasks.miniwob import TASKS

    assert [name for name in TASKS if not (folder / "miniwob" / f"{name}.html").is_file()] == []
    assert len(TASKS) >= 60
