"""BrowserGym's tasks through the adapter: real ones where BrowserGym is, and what is said where it is not."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.environment import Environment
from engine.errors import GameError, MissingError, UsageError
from engine.session import store as sessions
from engine.web.actions import parse as parse_action
from engine.web.browser import chromium
from engine.web.browser.limits import _family
from engine.web.browser.snapshot import parse
from engine.web.browsergym import adapter as browsergym
from engine.web.browsergym.driver import GymDriver, GymProcess, spoken
from engine.web.browsergym.worker import Gym, snapshot
from engine.web.drawing.items import items_of
from engine.web.environment_factory import expand, open_web
from engine.web.sites.miniwob import pages_folder
from engine.web.tasks.suites import VARIABLES
from tests.commands import run
from tests.web.hostile_pages import serving


@pytest.fixture
def adapter():
    """Environment variables with which BrowserGym is found; whatever else they hold of sites is left out."""
    if browsergym.find_python(Path("saves"), os.environ) is None:
        pytest.skip("BrowserGym is not here (JITRL_BROWSERGYM names a Python that has it)")
    if chromium.find_browser() is None:
        pytest.skip("no browser (apt install chromium)")
    own = browsergym.folder(Path("saves").absolute()) / "bin" / "python"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WA_", "VWA_", "TW_"))}
    return {**kept, "JITRL_BROWSERGYM": os.environ.get("JITRL_BROWSERGYM", str(own))}


@pytest.fixture
def gym(adapter):
    """The same, where there are pages of MiniWoB++, too."""
    if pages_folder(None) is None:
        pytest.skip("no pages of MiniWoB++ (pip install --no-deps miniwob)")
    return adapter


def with_benchmark(adapter, name):
    """Skip the test where a benchmark is not beside BrowserGym."""
    python = Path(adapter["JITRL_BROWSERGYM"])
    if not list(python.parent.parent.glob(f"lib/python3*/site-packages/browsergym/{name}")):
        pytest.skip(
            f"BrowserGym's benchmark {name} is not here (pip install browsergym-{name} beside BrowserGym)"
        )


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
        assert environment.resolve is not None
        assert environment.sight is not None
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
        assert not after.over
        assert "Error" in environment.step("goto('http://127.0.0.1:22/')").text
        last = environment.step("click(<button[Login]>)")
        assert (last.terminated, last.outcome, last.score) == (True, "won", 1.0)
        assert environment.valid_actions() == ()
    finally:
        environment.close()
        environment.close()


def _quoted(text):
    return re.findall(r'"([^"]+)"', text.partition("Task:")[2])[:2]


def test_a_wrong_answer_is_worth_nothing_and_leaves_no_process_behind(gym, tmp_path):
    environment = open_web("web:browsergym-miniwob.click-button", tmp_path, gym)
    process = environment.driver._process
    environment.reset(3)
    wanted = _quoted(environment.reset(3).description)[0]
    other = next(a for a in environment.valid_actions() if a.startswith("click(<button") and wanted not in a)
    last = environment.step(other)
    assert (last.terminated, last.outcome, last.score) == (True, "lost", 0.0)
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
        os.killpg(environment.driver._process.pid, signal.SIGKILL)
        last = environment.step("click(<button[Click Me!]>)")
        assert (last.terminated, last.truncated, last.outcome) == (False, True, "")
        assert "BrowserGym's process ended" in last.text
        environment.reset(1)
        assert environment.step("click(<button[Click Me!]>)").outcome == "won"
    finally:
        environment.close()


def test_a_session_plays_it_learns_and_records_it(gym, tmp_path):
    done = run(
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
    with pytest.raises(UsageError, match="'nowhere' is not installed"):
        open_web("web:browsergym-nowhere.x", tmp_path, gym)


def test_what_a_person_asks_for_on_a_site_of_theirs_is_a_task(adapter, site, pages, tmp_path):
    name = f"web:browsergym-openended {site.url}/find Find Ana"
    assert expand(name, tmp_path) == (name,)
    environment = open_web(name, tmp_path, adapter)
    try:
        first = environment.reset(1)
        assert "Task: Find Ana\n" in first.description
        assert first.place.endswith("/find")
        assert not environment.info.repeatable
        # Only the host that was named can be reached, whatever leads elsewhere.
        with pages() as other:
            site.away = f"{other.url}/find"
            assert "outside of the task's sites" in environment.step(f"goto('{other.url}/')").text
            environment.step(f"goto('{site.url}/')")
            environment.step("click(<link[Away]>)")
            assert site.got[-1] == "/away"
            assert other.got == []
        environment.step(f"goto('{site.url}/find')")
        after = environment.step("fill(<textbox[Name]>, 'Ana')")
        assert (after.changed, after.over) == (True, False)
        assert "Ana" in after.description.partition("BEGIN PAGE")[2]
        last = environment.step("send_msg_to_user('found')")
        assert (last.terminated, last.truncated, last.outcome) == (False, True, "")  # Nobody judges it.
    finally:
        environment.close()


def test_a_page_gets_no_more_memory_and_requests_than_the_limits(adapter, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.web.browsergym.driver._MOST_REQUESTS", 100)
    with serving() as base:
        environment = open_web(f"web:browsergym-openended {base}/plain Look", tmp_path, adapter)
        try:
            environment.reset(1)
            browser = _family(environment.driver._mark)
            limits = {resource.prlimit(pid, resource.RLIMIT_DATA)[1] for pid in browser}
            assert limits == {environment.driver.limits.memory << 20}
            seen = environment.step(f"goto('{base}/requests')")
            seen = seen if seen.broken else environment.step("noop(3000)")
            assert "more than 100 requests" in seen.text
            assert "Words of a page" in environment.reset(1).description
        finally:
            environment.close()


def test_an_open_ended_task_is_played_from_the_command_line(adapter, site, tmp_path):
    done = run(
        [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(tmp_path), "run",
         f"browsergym:openended {site.url}/find Find Ana", "--model", "prior/verbs", "--episodes", "1", "--steps", "2",
         "--json", "-", "--quiet"],
        capture_output=True, text=True, timeout=180, env=adapter, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["game"] == "browsergym-openended"
    assert [session.config.game for session in sessions.saved_sessions(tmp_path)] == [
        f"web:browsergym-openended {site.url}/find Find Ana"
    ]


@pytest.mark.parametrize(
    ("task", "answer"), [("webarena.266", "Acadia National Park"), ("webarenalite.97", "It is 914km")]
)
def test_webarena_runs_on_the_sites_that_are_named_and_its_own_evaluator_judges(
    adapter, site, tmp_path, task, answer
):
    with_benchmark(adapter, task.partition(".")[0])
    todo = dict.fromkeys(VARIABLES.values(), "todo")
    variables = {**adapter, **todo, "WA_WIKIPEDIA": site.url, "WA_MAP": site.url}
    environment = open_web(f"web:browsergym-{task}", tmp_path, variables)
    try:
        for said, score in ((answer, 1.0), ("I do not know", 0.0)):
            first = environment.reset(1)
            assert first.place in ("wikipedia", "map")
            assert "Find" in environment.step("click(<link[Find (3)]>)").text
            last = environment.step(f"send_msg_to_user({said!r})")
            assert (last.terminated, last.score, last.outcome) == (True, score, "won" if score else "lost")
    finally:
        environment.close()


# ------------------------------------------------------------------------------ without BrowserGym


@pytest.fixture
def pretended(tmp_path):
    """A BrowserGym with one benchmark that does not load and one that loads only with the network's help.

    Real are the worker, its process and the import; what is imported is this.
    """
    root = tmp_path / "packages"
    for place, text in {
        "browsergym/core/__init__.py": "",
        "gymnasium.py": "import types\nenvs = types.SimpleNamespace(registry={'browsergym/openended': 1})\n",
        "nltk.py": "def download(name, quiet=False, raise_on_error=False):\n    if raise_on_error: raise ValueError\n",
        "browsergym/broken/__init__.py": "import no_such_package\n",
        "browsergym/far/__init__.py": "raise ConnectionError('the hub\\nis away')\n",
        "browsergym/tokens/__init__.py": "import gymnasium, nltk\nnltk.download('x', raise_on_error=True)\n"
        "gymnasium.envs.registry['browsergym/tokens.1'] = 1\n",
    }.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text)
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport runpy, sys\nsys.path.insert(0, {str(root)!r})\n"
        "sys.argv = sys.argv[2:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    python.chmod(0o755)
    return {**os.environ, "JITRL_BROWSERGYM": str(python)}


def test_a_benchmark_that_does_not_load_is_said_in_a_sentence_and_hides_no_other(
    pretended, tmp_path, browser_path
):
    for family, why, hint in (
        (
            "broken",
            r"\(ModuleNotFoundError: No module named 'no_such_package'\); it lacks packages: .*-broken",
            True,
        ),
        ("far", r"\(ConnectionError: the hub is away\)$", False),
    ):
        with pytest.raises(MissingError, match=rf"benchmark {family} does not load here {why}"):
            open_web(f"web:browsergym-{family}.1", tmp_path, pretended)
        with pytest.raises(MissingError, match="does not load here"):
            browsergym.expand(f"browsergym-{family}", tmp_path, pretended)
        assert ("pip install" in browsergym.list_tasks(tmp_path, pretended)[1][family]) == hint
    assert browsergym.list_tasks(tmp_path, pretended)[0] == ("openended", "tokens.1")


def test_a_benchmark_of_sites_says_which_variables_it_wants(pretended, tmp_path, browser_path):
    with pytest.raises(
        MissingError, match=r"webarena runs on sites of yours; set WA_SHOPPING, .*WA_HOMEPAGE to"
    ):
        open_web(
            "web:browsergym-webarena.1", tmp_path, {**pretended, **dict.fromkeys(VARIABLES.values(), "")}
        )
    with pytest.raises(MissingError, match=r"timewarp runs on sites of yours; set TW_WIKI, TW_NEWS to"):
        open_web("web:browsergym-timewarp.1", tmp_path, {**pretended, "TW_WEBSHOP": "http://127.0.0.1:1"})


@pytest.mark.parametrize("rest", ["", " ", " http://127.0.0.1:1/", " Find it", " file:///etc/passwd Read it"])
def test_an_open_ended_task_without_address_or_goal_is_refused(pretended, tmp_path, browser_path, rest):
    with pytest.raises(UsageError, match="needs an address and what is to be done there"):
        open_web(f"web:browsergym-openended{rest}", tmp_path, pretended)


def test_without_browsergym_one_sentence_says_how_to_have_it(tmp_path):
    with pytest.raises(
        MissingError, match=r"get it with: .* -m venv .*pip install browsergym-core==0\.14\.3"
    ):
        open_web("web:browsergym-miniwob.click-test", tmp_path, {"JITRL_BROWSERGYM": "/nowhere/python"})
    done = run(
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


class OwnGym:
    """The worker around an environment of one step that ends as it is told to; asked without a process."""

    def __init__(self, *, reward, terminated, truncated):
        self.ends = (reward, terminated, truncated)
        self.gym = Gym()
        self.gym._env = self
        self.context = SimpleNamespace(on=lambda *_: None)
        self.gym.observation_reply = lambda seen: {
            "url": "about:blank", "title": "", "tabs": ["about:blank"], "active": 0, "error": "", "snapshot": "",
            "width": 800, "height": 600,
        }  # fmt: skip

    def ask(self, seconds, **request):
        return {} if request["op"] == "open" else self.gym.answer(request)

    def reset(self, seed):
        return {"goal": "Wait", "chat_messages": []}, {}

    def step(self, action):
        return {"chat_messages": []}, *self.ends, {}

    def end(self):
        pass

    def close(self):
        pass


@pytest.mark.parametrize(
    ("reward", "terminated", "truncated", "ends"),
    [
        (1.0, True, False, (True, False, "won")),
        (0.0, True, False, (True, False, "lost")),
        (0.5, True, False, (True, False, "")),
        (0.0, False, True, (False, True, "")),
        (0.5, False, True, (False, True, "")),
        (1.0, True, True, (True, False, "won")),
        (0.0, False, False, (False, False, "")),
    ],
)
def test_browsergyms_terminated_and_truncated_are_kept_apart(monkeypatch, reward, terminated, truncated, ends):
    own = OwnGym(reward=reward, terminated=terminated, truncated=truncated)
    monkeypatch.setattr("engine.web.browsergym.driver.GymProcess", lambda *how: own)
    driver = GymDriver(Path("python"), "own.wait", "chromium", None, {})
    environment = browsergym.BrowserGymEnvironment(
        "own.wait", driver, "about:blank", {}, lambda: None, repeatable=True
    )
    for _ in range(2):
        assert not environment.reset(1).over
        seen = environment.step("noop()")
        seen = environment.step("noop()")
        assert (seen.terminated, seen.truncated, seen.outcome) == ends
        assert seen.over == (terminated or truncated)
        assert seen.score == (reward if seen.over else 0.0)


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


def test_boxes_for_secrets_are_known_by_the_browsers_word_and_stay_so(monkeypatch):
    own = OwnGym(reward=0.0, terminated=False, truncated=False)
    told = own.gym.observation_reply(None) | {
        "url": "http://a/",
        "snapshot": '- textbox "Kennwort" [ref=a12]: "geheim-eins9"\n- textbox "Name" [ref=13]: "Ana"',
    }  # fmt: skip
    marked = [told | {"secret": ["a12"], "fields": ["kennwort"]}, told, told | {"url": "http://b/"}]
    own.gym.observation_reply = lambda seen: marked.pop(0)
    monkeypatch.setattr("engine.web.browsergym.driver.GymProcess", lambda *how: own)
    driver = GymDriver(Path("python"), "own.wait", "chromium", None, {})
    driver.begin(())
    driver.start(1)
    first, second = driver.look(), driver.look()
    for seen in (first, second):  # The page shows the password the second time.
        assert [(node.secret, node.value) for node in seen.page.nodes] == [(True, "[redacted]"), (False, "Ana")]
        assert seen.secrets == {"geheim-eins9"}
    assert driver.traffic.fields == {"kennwort"}
    assert driver.look().secrets == frozenset()  # Handles are given anew on another page.
