"""One real update of each trainer, and model files there and back, with a tiny random model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from engine.llm import open_model
from engine.llm.local import metadata
from engine.records import ActionRequest
from engine.settings import make_settings


def test_the_policy_is_what_whole_passes_give(inside):
    assert inside["policy"]["worst"] < 1e-4
    assert inside["policy"]["total"] == pytest.approx([1, 1, 1], abs=1e-5)


def test_grpo_makes_the_rewarded_action_likelier_and_the_other_less_likely(inside):
    before, after = inside["grpo"]["before"], inside["grpo"]["after"]
    assert inside["grpo"]["advantages"] == [-0.866, 0.866]  # each group alone: 4 rows of 2 episodes, with n - 1
    assert after["take the brass key"] > before["take the brass key"] + 0.1
    assert after["go west"] < before["go west"] - 0.1


def test_the_first_pass_has_the_probabilities_that_were_played(inside):
    assert inside["grpo"]["first_pass"] < 1e-5
    assert inside["grpo"]["kl"] == pytest.approx(0, abs=1e-6)


def test_forced_tokens_and_missing_steps_teach_nothing(inside):
    assert inside["grpo"]["forced"] == [0.0]
    assert inside["grpo"]["rows"] == 3  # two decisions, and one empty row for both missing steps


def test_sft_learns_the_action_alone_and_makes_it_likelier(inside):
    assert inside["sft"]["learnt"] == " go west\n<|im_end|>"
    assert inside["sft"]["after"]["go west"] > inside["sft"]["before"]["go west"] + 0.05


def test_weights_that_are_trained_stay_at_32_bits(inside):
    assert inside["precision"] == ["torch.float32", "torch.bfloat16"]


def test_an_adapter_over_bf16_is_not_lost_in_the_model_that_is_written(inside):
    assert inside["merging"] < 0.001  # 0.004 if it was merged at bf16


def test_a_gradient_that_is_no_number_ends_training_and_stores_nothing(inside):
    assert inside["nan"].startswith("the gradient of update 1 is not a finite number")
    assert inside["nan"].endswith(" []")


def test_a_model_file_becomes_a_folder_with_the_same_logits(inside):
    assert inside["file"]["read"] < 1e-4
    assert inside["file"]["parameters"] == 49152 * 64 + 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96 + 2 * 64) + 64
    assert inside["file"]["vocabulary"] == 49152


def test_files_of_different_weights_are_told_apart_by_their_ends(inside):
    assert len(set(inside["file"]["prints"])) == 2


def test_the_file_that_is_written_plays_as_the_trained_policy(inside):
    assert inside["file"]["why"] == ""
    about = metadata.read(Path(inside["file"]["file"]) / "model.gguf").values
    assert about[metadata.PROMPT] == "actions_brief"
    assert about[metadata.RUN].startswith("tiny ")
    settings = make_settings("default", {}, {"candidates": 10, "selection": "sample", "threads": 1})
    model = open_model(f"local:{inside['file']['file']}", settings=settings, cache=None)
    try:
        actions = tuple(inside["file"]["likelihoods"])
        request = ActionRequest("", "", "", "Hall. A long hall.", actions, 10)
        proposal = model.propose(request, np.random.default_rng(1))
        z = {candidate.action: candidate.z for candidate in proposal.candidates}
        top = max(z.values())
        total = top + math.log(sum(math.exp(value - top) for value in z.values()))
        assert proposal.calls[0].prompt_tokens == len(inside["file"]["prompt"])
        for action in actions:
            assert z[action] - total == pytest.approx(inside["file"]["likelihoods"][action], abs=0.05)
    finally:
        model.close()
