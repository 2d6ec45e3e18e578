"""Options that are refused before anything is opened."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.errors import UsageError
from engine.explain import overrule
from engine.llm import check_name
from jitrl_tui.cli import main
from tests.tui import stream


@pytest.mark.parametrize("command", ["run", "watch", "play"])
def test_a_model_without_a_known_name_is_refused_at_once_and_leaves_no_session(command, tmp_path, capsys):
    for name in ("nonsense", "local/nonsense", "prior/nonsense", "local:/no/such/file.gguf"):
        assert main([command, "pantry", "--model", name, "--saves", str(tmp_path)]) in (2, 3)
        said = capsys.readouterr().err
        assert said.startswith("jitrl: ")
        assert "nonsense" in said or "is not there" in said
    assert not (tmp_path / "sessions").exists()


def test_a_name_is_checked_without_importing_litellm():
    code = (
        "import sys\nfrom engine.llm import check_name\nfrom engine.errors import UsageError\n"
        "try:\n    check_name('nonsense')\nexcept UsageError:\n    print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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


def test_a_model_of_an_unknown_provider_is_refused_before_anything_is_opened(tmp_path, capsys):
    assert main(["watch", "pantry", "--model", "foo/bar", "--saves", str(tmp_path)]) == 2
    assert "there is no model 'foo/bar': litellm knows no provider 'foo'" in capsys.readouterr().err
    assert not (tmp_path / "sessions").exists()


def test_the_help_names_all_estimators(capsys):
    with pytest.raises(SystemExit):
        main(["watch", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "where V and Q come from: knn, nearest neighbours, the paper's; graph, plans through memory" in told
