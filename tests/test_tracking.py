"""`--track`: episodes for other tools. The real packages are used where they are installed."""

from __future__ import annotations

import importlib.util
import json
import sys
import types

import pytest

from jitrl_tui.cli import main
from jitrl_tui.runs import trackers

PLAY = ("run", "pantry", "--model", "prior/verbs", "--episodes", "2", "--steps", "4", "--quiet")


@pytest.mark.parametrize("tool", trackers.TOOLS)
def test_a_missing_package_is_one_sentence_before_anything_is_played(tmp_path, monkeypatch, capsys, tool):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["--saves", str(tmp_path), *PLAY, "--track", tool]) == 3
    assert f"install it with: jitrl up track-{tool}\n" in capsys.readouterr().err
    assert not (tmp_path / "sessions").exists()


def test_a_run_has_its_settings_and_a_step_an_episode(tmp_path, monkeypatch, capsys):
    """With the face of wandb, which notes what it gets."""
    told: list[dict] = []

    class Run:
        def log(self, metrics, step):
            told.append({**metrics, "at": step})

        def finish(self):
            told.append({"finished": True})

    def init(**given):
        told.append(given)
        return Run()

    wandb = types.ModuleType("wandb")
    wandb.init = init
    wandb.__spec__ = importlib.util.spec_from_loader("wandb", None)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    for name in ("WANDB_MODE", "WANDB_PROJECT", "WANDB_SILENT", "WANDB_ERROR_REPORTING"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    assert main(["--saves", str(tmp_path), *PLAY, "--track", "wandb", "--json", "-"]) == 0
    played = json.loads(capsys.readouterr().out)
    begun, *episodes, finished = told
    assert trackers.os.environ["WANDB_MODE"] == "offline"
    assert begun["config"] == {"game": "pantry", "agent": "jitrl", "model": "prior/verbs", "seed": played["seed"],
                               "profile": played["profile"], **played["settings"]}  # fmt: skip
    assert [one["score"] for one in episodes] == [one["score"] for one in played["episodes"]]
    assert [(one["at"], one["steps"], one["entries"]) for one in episodes] == [(1, 4, 4), (2, 4, 8)]
    assert finished == {"finished": True}
    # A tool that fails costs nothing of what was played.
    wandb.init = lambda **given: 1 / 0
    assert main(["--saves", str(tmp_path), *PLAY, "--track", "wandb"]) == 0
    assert "wandb could not write the run" in capsys.readouterr().err
    assert len(list((tmp_path / "sessions").iterdir())) == 2


def test_tensorboard_reads_what_was_written(tmp_path):
    pytest.importorskip("tensorboard", reason="jitrl up track-tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert main(["--saves", str(tmp_path), *PLAY, "--track", "tensorboard"]) == 0
    (folder,) = (tmp_path / "track" / "tensorboard").iterdir()
    read = EventAccumulator(str(folder)).Reload()
    assert [(one.step, one.value) for one in read.Scalars("entries")] == [(1, 4), (2, 8)]
