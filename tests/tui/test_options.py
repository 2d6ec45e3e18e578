"""Options that are refused before anything is opened."""

from __future__ import annotations

import time

import pytest

from engine.errors import UsageError
from engine.explain import overrule
from engine.llm import check_name
from jitrl_tui.cli import main
from tests.tui import stream


@pytest.mark.parametrize("command", ["run", "watch", "play"])
def test_a_model_without_a_known_name_is_refused_at_once_and_leaves_no_session(command, tmp_path, capsys):
    began = time.monotonic()
    assert main([command, "pantry", "--model", "nonsense", "--saves", str(tmp_path)]) == 2
    assert time.monotonic() - began < 5
    assert capsys.readouterr().err.startswith("jitrl: there is no model 'nonsense'")
    assert not (tmp_path / "sessions").exists()


def test_names_that_litellm_lists_or_that_have_a_provider_pass():
    for name in ("gpt-4o", "openai/whatever", "local/smollm2+prior/verbs"):
        check_name(name)
    with pytest.raises(UsageError):
        check_name("prior/verbs+nonsense")


def test_steps_out_of_range_are_told_by_the_name_of_the_option(tmp_path, capsys):
    assert main(["run", "pantry", "--steps", "0", "--saves", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("jitrl: --steps must lie between")


def test_a_choice_that_equals_the_agents_is_told_as_such():
    decision = next(event.decision for event in stream.run() if hasattr(event, "decision"))
    assert "as the agent would" in overrule(decision, decision.action).why
    assert f"instead of '{decision.action}'" in overrule(decision, "dance").why
