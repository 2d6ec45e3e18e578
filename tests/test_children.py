"""Child processes: whose code they run, and which variables they get. Each kind of child is really started."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine import children
from engine.bench.on_ray import guard
from engine.errors import JitrlError
from engine.games.catalogue import open_game
from engine.games.stories.recipe import SHIPPED, make_story
from engine.gym import open_gym
from engine.installer import run_logged
from engine.train import trainers
from engine.web.browser import chromium
from engine.web.browser.driver import Driver
from engine.web.browser.network import gate_for
from engine.web.browsergym.adapter import _environment
from engine.web.browsergym.driver import GymProcess
from engine.web.sites import django_sites, processes
from engine.web.sites import install as sites_install
from engine.web.sites.site import ServerCommand
from engine.web.tasks import verdict
from tests.arena.running import SMALL, play

pytestmark = pytest.mark.usefixtures("own_interpreters")

ROOT = Path(__file__).resolve().parents[1]
GYM_PATH = str(ROOT / "tests" / "gym")
SECRET = "sk-for-the-model-alone-0123456789"

# ------------------------------------------------------------------------------------------------- the source

STARTING = {"subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
            "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
            "os": {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"},
            "pty": {"spawn", "fork"}}  # fmt: skip
ALLOWED = {
    "engine/children.py": "starts all others",
    "engine/fork_server.py": "forks from a process that children.py started, with its variables",
    "engine/commit.py": "asks git for the commit, with the path alone; the build runs it without this project",
    "engine/interpreter_compiler.py": "tries the compiler; the build runs it without this project",
    "engine/web/sites/keeper.py": "runs isolated and without this project; it passes on what it was given",
}
NAMED = {
    "engine/gym/environment.py": "names the Python whose packages are used",
    "engine/web/browsergym/adapter.py": "names it in a sentence, and as the Python with BrowserGym",
    "engine/web/tasks/verdict.py": "names it as the Python with WebArena-Verified",
    "engine/train/launch.py": "sets it to that of the project",
}
"""Files that may say `sys.executable`: they start nothing with it themselves."""


STARTING_WORDS = re.compile(
    r"subprocess|pty|multiprocessing|executable|exec|spawn|\b(" + "|".join(STARTING["os"]) + r")\b"
)
"""One of them is in each file that starts processes, or that names the running Python."""


def starts(text: str) -> set[str]:
    """Return what a module starts processes with, and whether it names the running Python."""
    found: set[str] = set()
    if not STARTING_WORDS.search(text):
        return found
    tree = ast.parse(text)
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of, name = node.value.id, node.attr
            spawns = of == "os" and name.startswith(("exec", "spawn"))
            starting = name in STARTING.get(of, ()) and (
                name != "Popen" or node in called
            )  # it is a type as well
            if spawns or starting or (of, name) == ("sys", "executable"):
                found.add(f"{of}.{name}")
        elif isinstance(node, ast.ImportFrom) and node.module in (*STARTING, "sys"):
            names = {alias.name for alias in node.names} & {*STARTING.get(node.module, ()), "executable"}
            found |= {f"{node.module}.{name}" for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("multiprocessing")}
    return found


def test_all_processes_are_started_in_one_place():
    found = {}
    for file in sorted([*ROOT.glob("engine/**/*.py"), *ROOT.glob("jitrl_tui/**/*.py")]):
        used = starts(file.read_text(encoding="utf-8"))
        name = str(file.relative_to(ROOT))
        used -= {"sys.executable"} if name in NAMED else set()
        if used and name not in ALLOWED:
            found[name] = used
    assert found == {}, "start processes with engine/children.py"


# --------------------------------------------------------------------------------------- a folder full of traps


AT_START = ("abc", "codecs", "encodings", "io")
"""Modules that Python imports before it can leave a mark."""


@pytest.fixture
def traps(tmp_path, monkeypatch):
    """A folder to work in with modules named as the standard library's and others. Who imports one leaves a mark."""
    folder = tmp_path / "traps"
    folder.mkdir()
    mark = f'open({str(folder / "sprung")!r}, "a").write(__name__ + "\\n")\nraise SystemExit("a trap")\n'
    others = {"numpy", "engine", "jitrl_tui", "jericho", "sitecustomize", "usercustomize", "textual", "django", "pip",
              "gymnasium", "accelerate", "torch", "ray", "webarena_verified", "browsergym", "textworld"}  # fmt: skip
    for name in (sys.stdlib_module_names | others) - {*sys.builtin_module_names, *AT_START}:
        (folder / f"{name}.py").write_text(mark)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one and Path(one) != folder])
    monkeypatch.setenv("PYTHONPATH", f"{GYM_PATH}:")  # the empty part means the folder one works in
    monkeypatch.setenv("LD_LIBRARY_PATH", ":")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    return folder


def pages(folder):
    """Start a site that serves a folder."""
    port = processes.free_port(0)
    command = children.python("-m", "http.server", str(port), "--bind", "127.0.0.1")
    return processes.start("pages", ServerCommand(tuple(command)), port, "/", folder / "log", folder)


def a_story(folder):
    open_game("pantry", saves=folder).close()


def a_bench(folder):
    assert play(SMALL.replace("seeds = 2", "seeds = 1").replace("steps = 12", "steps = 1"), folder)[0] == 0


def rays_guard(folder):
    (folder / "ray").mkdir()
    with guard.guard_folder(folder / "ray"):
        pass
    assert not (folder / "ray").exists()


def a_recipe(folder):
    make_story(SHIPPED[0], folder)


def a_gym(folder):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'gymnasium>=1.0'")
    open_gym("gym:tinyworlds/tiny/Corridor-v0", folder, os.environ).close()


def browsergym(folder):
    process = GymProcess(Path(sys.executable), _environment(os.environ, None))
    try:
        process.ask(60.0, op="list")
    finally:
        process.end()


def a_judge(folder):
    scorer = verdict.Scorer(folder, {})
    worker = scorer._start()
    worker.communicate(timeout=60)


def a_site(folder):
    pages(folder).stop()


def the_shop(folder):
    command = django_sites.Shop().command(folder, 1, folder)
    done = children.run(
        "the shop", [sys.executable, *command.argv[1:]], children.environment(command.env), timeout=60
    )
    assert done.returncode != 0  # it is not installed


def installing_the_sites(folder):
    (folder / "web").mkdir()
    sites_install.install(folder, [django_sites.Shop()], lambda _: None)


def an_installer(folder):
    with (folder / "log").open("w") as output:
        run_logged([sys.executable, "-P", "-m", "pip", "--version"], output, folder / "log", 60)


@pytest.mark.parametrize("accelerate", [None, Path("one.yaml")])
def test_training_imports_nothing_of_the_folder_one_works_in(traps, tmp_path, accelerate):
    command = trainers.command(Path(sys.executable), tmp_path / "job", accelerate)
    children.run(
        "training", command, trainers.environment(accelerate=accelerate), timeout=60, capture_output=True
    )
    assert not (traps / "sprung").exists()


@pytest.mark.parametrize(
    "kind",
    [a_story, a_bench, rays_guard, a_recipe, a_gym, browsergym, a_judge, a_site, the_shop, installing_the_sites,
     an_installer],
)  # fmt: skip
def test_a_child_imports_nothing_of_the_folder_one_works_in(kind, traps, tmp_path, monkeypatch):
    monkeypatch.setattr(verdict, "verified_python", lambda saves: Path(sys.executable))
    saves = tmp_path / "saves"
    saves.mkdir()
    with contextlib.suppress(JitrlError):  # what it needs may be missing here; it was started all the same
        kind(saves)
    assert not (traps / "sprung").exists(), (traps / "sprung").read_text()


def test_the_traps_are_traps(traps):
    subprocess.run(
        [sys.executable, "-m", "engine.bench.worker"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert (traps / "sprung").exists()


# ----------------------------------------------------------------------------------------------------- the keys


def below(pid: int) -> list[int]:
    """Return all processes that a process and its children have begun."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [child, *below(child)]
    return found


def test_no_child_of_a_story_an_environment_a_site_or_a_browser_has_a_key(tmp_path, monkeypatch):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'gymnasium>=1.0'")
    if why := chromium.missing():
        pytest.skip(why)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PYTHONPATH", GYM_PATH)
    before = set(below(os.getpid()))
    with contextlib.ExitStack() as stack:
        stack.callback(open_game("pantry", saves=tmp_path).close)
        stack.callback(open_gym("gym:tinyworlds/tiny/Corridor-v0", tmp_path, os.environ).close)
        site = pages(tmp_path)
        stack.callback(site.stop)
        driver = Driver(chromium.require_browser(), gate_for([site.server.url]))
        stack.callback(driver.close)
        driver.begin([site.server.url])
        environments = {}
        for pid in set(below(os.getpid())) - before:
            with contextlib.suppress(OSError):
                program = Path(os.readlink(f"/proc/{pid}/exe")).name
                environments[f"{program} {pid}"] = Path(f"/proc/{pid}/environ").read_text()
    programs = {name.split()[0] for name in environments}
    assert "node" in programs
    assert any(program.startswith("chromium") for program in programs)
    assert len(environments) >= 6
    assert [name for name, environment in environments.items() if SECRET in environment] == []
