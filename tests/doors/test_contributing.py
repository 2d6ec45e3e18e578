"""The package that CONTRIBUTING.md shows is built from the page and played: each example does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jitrl_tui.preferences import schema
from tests import packages
from tests.commands import run
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
LESSON = "Walk right."


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of the page, build a wheel without a network, and unpack it into an empty folder."""
    folder = tmp_path_factory.mktemp("examples")
    source = folder / "source"
    files = re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(files) == 5
    for name, text in files:
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (source / "jitrl_examples" / "__init__.py").touch()
    return packages.installed(source, folder)


def python(place: Path, code: str, *arguments: object, **variables: str) -> str:
    """Run code in a process that has the package; return what it prints."""
    done = run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(place)!r})\n{code}", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **variables},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def played(place: Path, saves: Path, *arguments: object, **variables: str) -> dict:
    """Play the corridor; return the result."""
    code = "from jitrl_tui.cli import main\nsys.exit(main())"
    return json.loads(
        python(place, code, "--saves", saves, "run", "corridor:4", *arguments, "--quiet", "--json", "-", **variables)
    )


def test_the_estimator_learns_a_way_through_the_environment(installed, tmp_path):
    result = played(installed, tmp_path, "--model", "prior/uniform", "--estimator", "latest", "--episodes", 8)
    lost = [episode for episode in result["episodes"] if episode["outcome"] != "won"]
    assert lost
    for episode in result["episodes"][-3:]:
        assert (episode["outcome"], episode["score"]) == ("won", 10.0)
        assert episode["steps"] <= 4  # three are the least


def test_the_agent_writes_a_reflection_and_shows_it_to_the_model(installed, tmp_path):
    server = Server()
    server.default = Scripted([{"if": "What should be done better", "reply": LESSON}])
    with server.running():
        played(installed, tmp_path, "--agent", "reflecting", "--model", "openai/player", "--episodes", 2,
               "--set", "logits=verbalized", OPENAI_API_BASE=server.base, OPENAI_API_KEY="none")  # fmt: skip
    asked = ["\n".join(map(text_of, body["messages"])) for body in server.requests]
    first = next(i for i, text in enumerate(asked) if "What should be done better" in text)
    assert not any(LESSON in text for text in asked[:first])
    assert any(LESSON in text and "room 1" in text for text in asked[first:])


def test_a_setting_is_declared_in_one_place(tmp_path):
    """The setting of the page is put into a copy of the program, and nothing else is changed there."""
    (example,) = re.findall(r"^```python\n( {4}\w+: \w+ = setting\(.*?)^```", PAGE.read_text(), re.S | re.M)
    for package in ("engine", "jitrl_tui"):
        shutil.copytree(PAGE.parent / package, tmp_path / package)  # with what is compiled already
    shutil.copy(PAGE.parent / "jitrl_start.py", tmp_path)
    groups = tmp_path / "engine" / "settings" / "groups.py"
    before, head, after = groups.read_text().partition("class PolicySettings(SettingsGroup):")
    docstring, gap, fields = after.partition("\n\n")
    groups.write_text(before + head + docstring + gap + example + fields)

    code = """
import json
import sys
from pathlib import Path
place, result = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(place))
from engine.session import levers, recorded
from engine.settings import Settings
from jitrl_tui.preferences import schema
from jitrl_tui.screens.levers import STOPS
from jitrl_tui.screens.whatif import sliders_of
option, usual = schema.find("caution"), Settings()
again = sorted(recorded.CHANGEABLE & {"caution", "candidates"})
print(json.dumps([levers.levers(usual)[-1], again, STOPS["caution"][0], "caution" in sliders_of(usual), option.allowed,
                  option.flag, option.group]))
from jitrl_tui.cli import main
run_it = "run pantry --model prior/verbs --episodes 1 --steps 3 --quiet --set caution=0.5 --json".split()
assert main(["--saves", str(place / "saves"), *run_it, result]) == 0
(session,) = (place / "saves" / "sessions").iterdir()
assert main(["--saves", str(place / "saves"), "whatif", str(session), "--set", "caution=1"]) == 0
"""
    result = tmp_path / "result.json"
    asked = [sys.executable, "-c", code, str(tmp_path), str(result)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    first, tried = done.stdout.split("\n", 1)
    heading = schema.find("beta").group
    wanted = ["caution", ["caution"], "c", True, "number from 0 to 1", "--set caution=…", heading]
    assert json.loads(first) == wanted
    assert json.loads(result.read_text())["settings"]["caution"] == 0.5
    assert "caution" in tried


def test_the_pane_is_found_and_counts_commands(installed):
    code = """
from types import SimpleNamespace as Any
from jitrl_tui.panes.registry import kinds
kind = kinds()[-1]
pane = kind.make()
pane.renew = lambda: None
said = [Any(kind="command", text=text, episode=1) for text in ("left", "right", "right")]
pane.look(Any(paragraphs=said, episode=1), None, None)
print(kind.name, kind.number, [line.plain.split() for line in pane.build(40, 10)])
"""
    assert python(installed, code) == "repeats 0 [['2', 'right'], ['1', 'left']]\n"
