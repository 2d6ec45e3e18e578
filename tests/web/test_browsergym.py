"""BrowserGym's tasks through the adapter: real ones where BrowserGym is, and what is said where it is not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.environment import Environment, OpenActions, Visible
from engine.errors import GameError, MissingError, UsageError
from engine.web import browsergym, chromium
from engine.web.actions import parse as parse_action
from engine.web.browsergym_driver import GymProcess, spoken
from engine.web.browsergym_worker import snapshot
from engine.web.items import items_of
from engine.web.opening import expand, open_web
from engine.web.sites.miniwob import pages_folder
from engine.web.snapshot import parse


@pytest.fixture
def gym():
    """Environment variables with which BrowserGym is found."""
    if browsergym.find_python(Path("saves"), os.environ) is None:
        pytest.skip("BrowserGym is not here (JITRL_BROWSERGYM names a Python that has it)")
    if chromium.find_browser() is None or pages_folder(None) is None:
        pytest.skip(
            "no browser, or no pages of MiniWoB++ (apt install chromium, pip install --no-deps miniwob)"
        )
    own = browsergym.folder(Path("saves").absolute()) / "bin" / "python"
    return {**os.environ, "JITRL_BROWSERGYM": os.environ.get("JITRL_BROWSERGYM", str(own))}


def group(pid):
    """Return the living processes of a group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def test_a_task_is_an_environment_like_all_others_and_is_solved_by_its_names(gym, tmp_path):
    environment = open_web("web:browsergym-miniwob.login-user", tmp_path, gym)
    try:
        assert isinstance(environment, OpenActions)
        assert isinstance(environment, Visible)
        first = environment.reset(1)
        assert environment.info.scope == "web/browsergym-miniwob"
        assert "Enter the username" in first.description
        assert first.place.startswith("miniwob/")
        again = environment.reset(1)
        assert again.description == first.description
        assert environment.reset(2).description != first.description
        environment.reset(1)
        name, password = _quoted(first.description)
        actions = environment.valid_actions()
        assert f"fill(<textbox[]#1>, '{name}')" in actions
        assert not any(action.startswith("send_msg") for action in actions)
        sight = environment.sight()
        assert sight.picture.startswith(b"\xff\xd8")
        assert [item.node.role for item in items_of(parse(sight.snapshot)) if item.number] == [
            "textbox",
            "textbox",
            "button",
        ]
        wrong = environment.step("click(<button[Nobody]>)")
        assert "Error: there is no <button[Nobody]>" in wrong.text
        assert not wrong.changed
        environment.step(f"fill(<textbox[]#1>, '{name}')")
        after = environment.step(f"fill(<textbox[]#2>, '{password}')")
        assert after.changed
        assert not after.done
        assert "Error" in environment.step("goto('http://127.0.0.1:22/')").text
        last = environment.step("click(<button[Login]>)")
        assert (last.done, last.won, last.score) == (True, True, 1.0)
        assert environment.valid_actions() == ()
    finally:
        environment.close()
        environment.close()


def _quoted(text):
    return re.findall(r'"([^"]+)"', text.partition("Task:")[2])[:2]


def test_a_wrong_answer_is_worth_nothing_and_leaves_no_process_behind(gym, tmp_path):
    environment = open_web("web:browsergym-miniwob.click-button", tmp_path, gym)
    process = environment._driver._process
    environment.reset(3)
    wanted = _quoted(environment.reset(3).description)[0]
    other = next(a for a in environment.valid_actions() if a.startswith("click(<button") and wanted not in a)
    last = environment.step(other)
    assert (last.done, last.won, last.score) == (True, False, 0.0)
    assert group(process.pid)
    environment.close()
    assert not group(process.pid)


def test_what_is_clickable_without_a_role_that_says_so_can_be_clicked(gym, tmp_path):
    environment = open_web("web:browsergym-miniwob.email-inbox", tmp_path, gym)
    try:
        environment.reset(1)
        click = next(a for a in environment.valid_actions() if re.match(r"click\(<generic\[\w+ ", a))
        assert environment.resolve(click) == click
        assert environment.step(click).changed
    finally:
        environment.close()


def test_a_process_that_dies_ends_the_episode_and_the_next_one_begins(gym, tmp_path):
    environment = open_web("web:browsergym-miniwob.click-test", tmp_path, gym)
    try:
        environment.reset(1)
        os.killpg(environment._driver._process.pid, signal.SIGKILL)
        last = environment.step("click(<button[Click Me!]>)")
        assert last.done
        assert not last.died  # nobody found that the task was not done
        assert "BrowserGym's process ended" in last.text
        environment.reset(1)
        assert environment.step("click(<button[Click Me!]>)").won
    finally:
        environment.close()


def test_a_session_plays_it_learns_and_records_it(gym, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(tmp_path), "run", "browsergym:miniwob.click-test",
         "--model", "prior/uniform", "--episodes", "2", "--steps", "3", "--json", "-", "--quiet"],
        capture_output=True, text=True, timeout=180, env=gym, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["game"] == "browsergym-miniwob.click-test"
    assert len(result["episodes"]) == 2
    assert result["memory_entries"] > 0
    assert len(list(tmp_path.glob("sessions/*/pages/*.jpg"))) >= 4


def test_tasks_are_listed_and_unknown_ones_said(gym, tmp_path, monkeypatch):
    monkeypatch.setenv("JITRL_BROWSERGYM", gym["JITRL_BROWSERGYM"])
    names = expand("web:browsergym-miniwob", tmp_path)
    assert "web:browsergym-miniwob.click-test" in names
    assert len(names) > 100
    with pytest.raises(UsageError, match=r"did you mean miniwob\.click-test"):
        open_web("web:browsergym-miniwob.click-tset", tmp_path, gym)
    with pytest.raises(UsageError, match="'workarena' is not installed"):
        open_web("web:browsergym-workarena.x", tmp_path, gym)


# ------------------------------------------------------------------------------ without BrowserGym


def test_without_browsergym_one_sentence_says_how_to_have_it(tmp_path):
    with pytest.raises(
        MissingError, match=r"get it with: .* -m venv .*pip install browsergym-core==0\.14\.3"
    ):
        open_web("web:browsergym-miniwob.click-test", tmp_path, {"JITRL_BROWSERGYM": "/nowhere/python"})
    done = subprocess.run(
        [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(tmp_path), "run", "browsergym:miniwob.click-test"],
        capture_output=True, text=True, timeout=60, env={**os.environ, "JITRL_BROWSERGYM": "/nowhere"}, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "BrowserGym is not here" in done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(1)", "process ended"),
        ("import time; time.sleep(60)", "did not answer within"),
        ('print(\'{"failed": "Oh: no\\\\nmore"}\')', "BrowserGym failed: Oh: no more"),
    ],
)
def test_a_worker_that_fails_hangs_or_dies_is_an_error_in_a_sentence(tmp_path, code, said):
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{code}\n")
    python.chmod(0o755)
    process = GymProcess(python, dict(os.environ))
    try:
        with pytest.raises(GameError, match=said):
            process.ask(2.0, op="list")
    finally:
        process.end()
        process.end()
    assert not group(process.pid)


def ax(node, role, name="", children=(), bid="", value="", **states):
    made = {"nodeId": node, "role": {"value": role}, "name": {"value": name}, "childIds": list(children)}
    if bid:
        made["browsergym_id"] = bid
    if value:
        made["value"] = {"value": value}
    made["properties"] = [{"name": key, "value": {"value": given}} for key, given in states.items()]
    return made


def test_an_accessibility_tree_becomes_a_page():
    tree = {"nodes": [
        ax("1", "RootWebArea", "Shop", ["2", "5", "8", "11", "15", "16"]),
        ax("2", "heading", "It's: here", ["3"], "7", level=2),
        ax("3", "StaticText", "It's: here", ["4"]),
        ax("4", "InlineTextBox", "It's: here"),
        ax("5", "generic", "", ["6"], "9"),
        ax("6", "textbox", "Name", [], "10", value="a: \"b\"", focused=True),
        ax("8", "combobox", "Sort", ["9"], "12", expanded=False),
        ax("9", "MenuListPopup", "", ["10"]),
        ax("10", "option", "Price", [], "13", selected=True),
        ax("11", "Iframe", "", ["12"], "a"),
        ax("12", "RootWebArea", "", ["13"]),
        ax("13", "button", "Inside", ["1"], "a3", disabled=True),  # a tree that bites its tail
        ax("15", "generic", "Buy", [], "20"),
        ax("16", "generic", "", ["17"], "21"),
        ax("17", "StaticText", "alone"),
    ]}  # fmt: skip
    extra = {
        "7": {"bbox": [30, 15, 300, 60], "clickable": False},
        "a": {"bbox": [150, 300, 300, 150], "clickable": False},
        "a3": {"bbox": [165, 330, 75, 30], "clickable": True},
        "20": {"bbox": [0, 600, 75, 30], "clickable": True},
        "21": {"bbox": [0, 660, 75, 30], "clickable": False},
    }
    page = parse(snapshot(tree, extra, scale=1.5))
    by_name = {node.name: node for node in page.nodes}
    assert [node.role for node in page.nodes] == [
        "heading", "textbox", "combobox", "option", "iframe", "button", "generic", "text",
    ]  # fmt: skip
    assert by_name["It's: here"].state("level") == "2"
    assert by_name["It's: here"].box == (20.0, 10.0, 200.0, 40.0)
    assert (by_name["Name"].value, by_name["Name"].ref) == ('a: "b"', "10")
    assert by_name["Price"].state("selected") == "true"
    assert by_name["Sort"].state("expanded") == ""
    assert by_name["Inside"].box == (110.0, 220.0, 50.0, 20.0)
    assert by_name["Inside"].state("disabled") == "true"
    assert by_name["Inside"].ref == "a3"
    assert (page.nodes[-1].value, page.nodes[-1].box) == ("alone", (0.0, 440.0, 50.0, 20.0))


def test_actions_go_to_browsergym_in_its_own_words():
    page = parse('- button "Go" [ref=12]\n- textbox "Say \\"hi\\"" [ref=a3]')
    assert spoken(parse_action("click(<button[Go]>)"), page) == "click('12')"
    assert spoken(parse_action("fill(<textbox[Say \"hi\"]>, 'it\\'s')"), page) == "fill('a3', \"it's\")"
    assert spoken(parse_action("scroll(0, 300)"), page) == "scroll(0, 300)"
    assert spoken(parse_action("send_msg_to_user('done')"), page) == "send_msg_to_user('done')"


def test_it_keeps_to_the_protocol():
    members = [name for name in vars(Environment) if not name.startswith("_")]
    assert all(hasattr(browsergym.BrowserGymEnvironment, name) for name in members)
