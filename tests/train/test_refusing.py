"""What cannot be trained is refused in a sentence, and nothing is stored."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import BadFile, MissingError, UsageError
from engine.games.env import GameEnvironment
from engine.llm.local import weights
from engine.settings import SessionConfig
from engine.settings.train import GrpoSettings, SftSettings
from engine.train import checks, install, run_files, runs, sources, trainers
from engine.train.run_files import TrainingJob, check_finite
from jitrl_tui.cli import main


@pytest.mark.parametrize(("given", "used"), [({}, "disabled"), ({"WANDB_MODE": "online"}, "online")])
def test_training_sets_the_mode_of_wandb_where_nobody_did(tmp_path, given, used):
    code = "import os, sys; from engine.train.work import work; work(sys.argv[1]); sys.exit(os.environ['WANDB_MODE'])"
    others = {key: value for key, value in os.environ.items() if key != "WANDB_MODE"}
    variables = trainers.environment({**others, **given})
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=variables, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == used


def folder_of_a_model(folder: Path, *, template: bool, rows: int = 4) -> Path:
    """Write what is looked at of a folder of transformers."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 32}))
    header = json.dumps({"a": {"dtype": "F32", "shape": [rows, 8], "data_offsets": [0, 32 * rows]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"} if template else {}))
    return folder


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A training environment that says it has all packages."""
    python = tmp_path / "python"
    version = list(sys.version_info[:2])
    python.write_text(f"#!/bin/sh\necho '{json.dumps([version, install.PACKAGES])}'\n")
    python.chmod(0o755)
    monkeypatch.setenv(run_files.PYTHON, str(python))
    return python


def train(saves: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run a command; return its exit code and its last message. Nothing may be stored."""
    try:
        code = main(["--saves", str(saves), "train", *words])
    except SystemExit as end:
        code = int(end.code or 0)
    assert not (saves / "train" / "runs").exists()
    return code, capsys.readouterr().err.strip().splitlines()[-1]


@pytest.fixture
def saves(tmp_path: Path) -> Path:
    (tmp_path / "saves").mkdir()
    return tmp_path / "saves"


def test_without_a_training_environment_the_command_that_makes_it_is_told(saves, capsys, monkeypatch):
    monkeypatch.delenv(run_files.PYTHON, raising=False)
    for words in (["grpo", "pantry"], ["up"], ["sft", "pantry", "--walkthrough"]):
        code, said = train(saves, capsys, *words)
        assert code == 3
        assert said == (
            "jitrl: there is no training environment; make it with: jitrl train up --install "
            "(1.5 GB with torch for CPUs, several GB more with torch for GPUs)"
        )


def test_an_environment_that_lacks_something_is_told(environment, saves, capsys):
    version = list(sys.version_info[:2])
    environment.write_text(f"#!/bin/sh\necho '{json.dumps([version, {'torch': '2.13.0+cpu', 'trl': '1.0.0'}])}'\n")
    code, said = train(saves, capsys, "up")
    assert code == 3
    assert "lacks transformers 5.24.0, trl 1.16.0, peft 0.21.2, accelerate 1.15.0, gguf 0.19.0; complete" in said


def test_an_environment_of_another_python_is_told(environment, saves, capsys):
    environment.write_text(f"#!/bin/sh\necho '{json.dumps([[3, 9], install.PACKAGES])}'\n")
    code, said = train(saves, capsys, "up")
    assert code == 3
    assert "is Python 3.9, and jitrl runs on" in said


@pytest.mark.usefixtures("environment")
def test_a_model_without_a_chat_template_is_refused(tmp_path, saves, capsys):
    folder = folder_of_a_model(tmp_path / "base", template=False)
    code, said = train(saves, capsys, "grpo", "pantry", "--model", str(folder))
    assert code == 1
    assert said == (
        f"jitrl: {folder} has no chat template, so it cannot be asked in a chat; choose an instruction-tuned model, or "
        "--prompt actions_transcript"
    )


@pytest.mark.usefixtures("environment")
def test_a_model_that_is_too_large_is_refused_before_it_is_loaded(tmp_path, saves, capsys, monkeypatch):
    monkeypatch.setattr(checks, "has_gpu", lambda: False)
    folder = folder_of_a_model(tmp_path / "large", template=True, rows=1 << 40)
    code, said = train(saves, capsys, "grpo", "pantry", "--model", str(folder))
    assert code == 3
    assert "needs about 32768." in said
    assert "a smaller --micro-batch or --train-prompt-tokens needs less" in said


@pytest.mark.usefixtures("environment")
def test_an_environment_that_cannot_be_reset_alike_is_refused(saves, capsys, monkeypatch):
    start = GameEnvironment._start

    def started(self, *given):
        result = start(self, *given)
        self.info = dataclasses.replace(self.info, repeatable=False)
        return result

    monkeypatch.setattr(GameEnvironment, "_start", started)
    code, said = train(saves, capsys, "grpo", "pantry")
    assert code == 2
    assert said.startswith("jitrl: pantry cannot be reset alike: its episodes begin differently")


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["grpo", "pantry", "--model", "openai/gpt"], "openai/gpt cannot be trained here"),
        (["grpo", "pantry", "--model", "./nothing"], "there is no model at nothing"),
        (["grpo", "nowhere-at-all"], "nowhere-at-all"),
        (["grpo", "pantry", "--group", "1"], "group must lie between 2 and"),
        (["grpo", "pantry", "--learning-rate", "nan"], "learning_rate must be a number"),
        (["grpo", "pantry", "--name", "../x"], "cannot be the name of a run"),
        (["grpo", "pantry", "--accelerate", "9-gpus"], "there is no configuration '9-gpus' of accelerate"),
        (["grpo", "pantry", "--step-reward", "evaluator", "--set", "rewards=llm"], "needs a model that judges steps"),
        (["sft", "pantry"], "say what to learn from"),
        (["sft", "pantry", "--from", "none"], "there is no recording in"),
        (["resume", "none"], "there is no training run 'none'"),
        (["write", "none"], "there is no training run 'none'"),
        (["show", "none"], "there is no training run 'none'"),
    ],
)
def test_what_makes_no_sense_is_refused(words, sentence, saves, capsys):
    code, said = train(saves, capsys, *words)
    assert code in (2, 3)
    assert sentence in said


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(BadFile, match="is no folder of a language model"):
        sources.find(str(tmp_path), tmp_path)
    folder = folder_of_a_model(tmp_path / "empty", template=True)
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadFile, match="has no weights"):
        sources.find(str(folder), tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"GGUF\3\0\0\0torn")
    with pytest.raises(BadFile, match=r"the model file .* is damaged"):
        sources.find(f"local:{tmp_path / 'x.gguf'}", tmp_path)
    with pytest.raises(MissingError):
        sources.find("local:/nowhere/x.gguf", tmp_path)


def test_the_embedded_model_is_measured_from_its_file(tmp_path):
    source = sources.find("local/smollm2", tmp_path)
    assert 134e6 < source.parameters < 136e6
    assert (source.hidden, source.layers, source.vocabulary, source.template) == (576, 30, 49152, True)
    assert source.path == weights.find("local/smollm2", None)


def test_memory_grows_with_what_is_computed_at_a_time(tmp_path):
    source = sources.find("local/smollm2", tmp_path)
    one, four = (checks.bytes_needed(source, GrpoSettings(micro_batch=count)) for count in (1, 4))
    assert one < four
    # Measured: 3.9 GB with 8 rows of about 110 tokens.
    measured = checks.bytes_needed(source, GrpoSettings(micro_batch=8, train_prompt_tokens=110))
    assert 3.2e9 < measured < 4.8e9
    assert checks.bytes_needed(source, SftSettings()) > checks.bytes_needed(source, GrpoSettings())
    assert checks.bytes_needed(source, GrpoSettings(lora_rank=0)) > four
    whole = checks.bytes_needed(source, SftSettings(lora_rank=0, precision="bf16", activations="recompute"))
    assert whole > source.parameters * 16  # weights, gradient and moments have 32 bits
    checks.check_memory(source, GrpoSettings(), lambda: 1 << 50)
    with pytest.raises(MissingError, match=r"and 1.0 GB are free"):
        checks.check_memory(source, GrpoSettings(), lambda: 1 << 30)


def test_a_gradient_that_is_no_number_is_refused():
    check_finite(3, {"grad_norm": 1.0, "loss": 0.0})
    for logs in ({"grad_norm": float("nan"), "loss": 0.0}, {"grad_norm": 1.0, "loss": float("inf")}):
        with pytest.raises(Exception, match="the gradient of update 3 is not a finite number"):
            check_finite(3, logs)


def test_a_run_of_the_same_name_must_be_the_same(tmp_path):
    folder = run_files.runs_folder(tmp_path) / "one"
    job = TrainingJob("grpo", "one", str(folder), str(tmp_path), str(tmp_path), "local/smollm2", ("pantry",),
              SessionConfig("pantry"), {"group": 4})  # fmt: skip
    runs.begin(job)
    assert runs.load(tmp_path, "one").job == job
    runs.begin(job)  # the same command again goes on
    with pytest.raises(UsageError, match="was begun with other settings; choose another --name, or go on with it"):
        runs.begin(dataclasses.replace(job, settings={"group": 8}))
