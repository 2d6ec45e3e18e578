"""A method of somebody else's package is one entry point: it is listed, and plays."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from engine.agents import AGENTS, BUILT_IN
from engine.errors import UsageError
from tests.commands import run

AGENT = """
    from engine.agents import Method
    from engine.agents.static import StaticAgent
    from engine.records import Candidate, Proposal

    class First:
        def propose(self, request, rng):
            return Proposal((Candidate(request.valid_actions[0], 0.0),))

    METHOD = Method("first", "the first valid action; always",
                    lambda context: StaticAgent(First(), context.settings, name="first"),
                    asks_model=False)
"""


def package(folder: Path, code: str, value: str = "first_agent:METHOD") -> Path:
    """Lay out an installed package with one entry point, as an installer does."""
    (folder / "first_agent.py").write_text(textwrap.dedent(code))
    info = folder / "first_agent-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: first-agent\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[jitrl.agents]\nfirst = {value}\n")
    return folder


def test_the_methods_of_this_project_are_there():
    names = [method.name for method in BUILT_IN]
    assert names == list(AGENTS.all())[: len(names)]
    assert names[:3] == ["jitrl", "static", "random"]
    assert [method.name for method in BUILT_IN if method.learns] == ["jitrl", "jitrl-prompt"]
    with pytest.raises(UsageError, match="there is no agent 'nobody'; choose one of: jitrl, static, random"):
        AGENTS.find("nobody")


def test_a_package_brings_a_method_and_it_plays(tmp_path):
    place = package(tmp_path, AGENT)
    result = tmp_path / "result.json"
    command = [
        sys.executable, "-c",
        f"import sys; sys.path.append({str(place)!r}); from jitrl_tui.cli import main; sys.exit(main(sys.argv[1:]))",
        "--saves", str(tmp_path / "saves"), "run", "pantry", "--agent", "first", "--episodes", "1", "--steps", "4",
        "--fresh", "--quiet", "--json", str(result),
    ]  # fmt: skip
    done = run(command, capture_output=True, text=True, timeout=120, cwd=Path.cwd())
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(result.read_text())
    assert (told["agent"], told["episodes"][0]["steps"]) == ("first", 4)
    assert told["memory_entries"] == 0


@pytest.mark.parametrize(
    ("code", "value", "says"),
    [("raise RuntimeError('no')", "first_agent:METHOD", "does not load: no"),
     (AGENT, "first_agent:First", "is no Method of that name"),
     (AGENT.replace('"first", "the', '"other", "the'), "first_agent:METHOD", "is no Method of that name")],
)  # fmt: skip
def test_a_package_that_is_broken_is_said_to_who_asks_for_it_and_stops_nobody_else(
    tmp_path, monkeypatch, code, value, says
):
    monkeypatch.syspath_prepend(str(package(tmp_path, code, value)))
    monkeypatch.delitem(sys.modules, "first_agent", raising=False)
    assert list(AGENTS.all()) == [method.name for method in BUILT_IN]
    assert AGENTS.find("static").name == "static"
    with pytest.raises(UsageError, match=says):
        AGENTS.find("first")
    sys.modules.pop("first_agent", None)
