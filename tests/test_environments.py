"""Which kind of environment a name, or a scope of memory, belongs to, and what follows from that."""

from __future__ import annotations

import hashlib
import json

import pytest

from engine import registry
from engine.agents import Method
from engine.environment import Environment, complete
from engine.environments import BUILT_IN, ENVIRONMENTS, kind_of, resolve, scope_rules
from engine.errors import GameError, UsageError
from engine.kinds import Kind
from engine.llm.model import Reply
from engine.llm.prompts import TEXT, Folder
from engine.llm.questions import TEXT_ASKING
from engine.memory import Memory
from engine.records import EnvironmentInfo, Episode, ModelCall, SessionStarted, State, Step
from engine.registry import Registry
from engine.session import manifest
from engine.session import store as sessions
from engine.session.replaced_settings import attainable
from engine.settings import SessionConfig, Settings
from engine.web.actions import parse
from engine.web.prompts import PAGES


@pytest.mark.parametrize(
    ("name", "kind", "full"),
    [
        ("pantry", "game", "pantry"),
        ("stories/a:b.z5", "game", "stories/a:b.z5"),
        ("web:local-3", "web", "web:local-3"),
        ("browsergym:miniwob.click-test", "web", "web:browsergym-miniwob.click-test"),
    ],
)
def test_a_name_belongs_to_a_kind(name, kind, full):
    found, whole = resolve(name)
    assert (found.name, whole) == (kind, full)
    assert kind_of(whole) is found  # what a session keeps is found again


def test_a_file_with_a_colon_in_its_name_is_a_story(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="there is no environment 'odd'; choose one of: game, web"):
        resolve("odd:story.z5")
    (tmp_path / "odd:story.z5").write_bytes(b"")
    assert resolve("odd:story.z5")[0].name == "game"


def test_packages_are_not_looked_at_for_what_this_project_has(monkeypatch):
    def entry_points(**_):
        raise AssertionError("packages were looked at")

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert [kind_of(name).name for name in ("pantry", "a/b.z5", "web:local-3")] == ["game", "game", "web"]
    assert ENVIRONMENTS.find("web") is BUILT_IN[1]
    assert scope_rules("game/x").forms is False


@pytest.mark.parametrize(("scope", "kept"), [("game/x", True), ("web/shop", False), ("other/x", False)])
def test_what_stands_in_a_password_field_is_kept_in_games_alone(tmp_path, scope, kept):
    state = State("[note] password: swordfish-77", ("note",))
    with Memory(tmp_path, rules=scope_rules) as memory:
        memory.scope(scope).append(Episode("e", scope, (Step(state, "read note", 1.0),), state))
        text = memory.scope(scope).path.read_text()
    assert ("swordfish-77" in text) == kept


def test_only_tasks_on_the_web_tell_what_was_lived_with_other_tasks():
    assert scope_rules("web/shop").lifted is not None
    assert scope_rules("game/x").lifted is None
    assert scope_rules("other/x").lifted is None


def test_each_kind_offers_actions_of_its_own_where_none_is_known():
    games, web, _ = BUILT_IN
    assert {"north", "look", "wait"} <= set(games.fallback)
    calls = [parse(action) for action in web.fallback]  # raises for what is no action on a page
    assert calls
    assert all(call.target is None for call in calls)


def test_each_kind_asks_in_its_own_way():
    games, web, _ = BUILT_IN
    assert games.asking() is TEXT_ASKING
    asking = web.asking()
    assert asking.accepted("`click('e7')`") == "click('e7')"
    assert asking.accepted("go north") is None
    assert set(games.tests()) == {"state", "history", "rewards"}
    assert set(web.tests()) == {"rewards"}


class Small:
    """A model that is read by likelihoods, and writes what nobody can use."""

    name, reading = "local/small", "string"

    def complete(self, question):
        return Reply("I would not know.", ModelCall(question.purpose, self.name, "", ""))


def test_a_small_model_is_tested_for_games_and_never_asked_to_judge_pages():
    asked = Settings(rewards="llm")
    games, web, _ = (
        attainable(asked, Small(), object(), None, kind=kind, learns=True)[1] for kind in BUILT_IN
    )
    assert games == ("rewards=score in place of llm: local/small did not pass the short writing test",)
    assert web == ("rewards=score in place of llm: local/small writes nothing",)


def test_a_session_that_has_the_old_setting_of_the_kind_is_read(tmp_path):
    saved = sessions.create(tmp_path, SessionConfig("web:local-3"), "run")
    file = saved.folder / "session.json"
    data = json.loads(file.read_text())
    data["config"]["settings"]["domain"] = "web"
    file.write_text(json.dumps(data))
    assert sessions.load(saved.folder).config == saved.config


def test_the_manifest_has_the_prompts_of_the_kind_and_those_of_the_agent(tmp_path, monkeypatch):
    package = tmp_path / "poet"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "verse.txt").write_text("=== user\nRhyme.\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    poet = Method("poet", "rhymes", lambda *context: None, prompts=(Folder("poet"),))
    monkeypatch.setattr(manifest, "AGENTS", Registry("agent", Method, "jitrl.none", (poet,)))
    said = hashlib.sha256(b"=== user\nRhyme.\n").hexdigest()[:12]

    def told(scope, agent):
        return manifest.prompts(SessionStarted("s", EnvironmentInfo("x", "x", scope), agent, "m", 1, "", 1, 1, {}))

    assert told("web/shop", "poet") == {**{n: PAGES.digest(n) for n in PAGES.names}, "poet/verse": said}
    assert told("game/x", "static") == {n: TEXT.digest(n) for n in TEXT.names}
    assert told("gone/x", "gone") == {}


class Bare:
    """What an environment of another package has at least."""

    info = None

    def reset(self, seed):
        return "begun"

    def step(self, action):
        return "done"

    def abstractor(self):
        return None


class Saving(Bare):
    def save(self):
        return b"all"

    def secrets(self):
        return frozenset({"sesame"})


class Proxy:
    """Hands all to another one."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_an_environment_has_the_defaults_of_what_it_lacks_and_nothing_of_another_one():
    bare = complete("x", Proxy(Bare()))
    saving = complete("x", Proxy(Saving()))
    assert (bare.reset(1), bare.valid_actions(), bare.secrets(), bare.limit) == ("begun", (), frozenset(), None)
    with pytest.raises(GameError, match="cannot be saved"):
        bare.save()
    assert (saving.save(), saving.secrets()) == (b"all", {"sesame"})


def test_an_environment_that_takes_no_attribute_can_be_limited():
    class Narrow(Bare):
        __slots__ = ()

    taken = complete("x", Narrow())
    taken.limit = 7
    assert taken.limit == 7


@pytest.mark.parametrize(("made", "says"), [(None, "no info and no abstractor and no reset and no step"),
                                            (Proxy(object()), "no info")])  # fmt: skip
def test_what_is_no_environment_is_refused_in_a_sentence(made, says):
    with pytest.raises(GameError, match=f"the environment mine:x has {says}"):
        complete("mine:x", made)


def test_a_class_without_what_it_must_have_is_refused_in_a_sentence():
    class Half(Environment):
        def reset(self, seed):
            return "begun"

    kind = Kind("mine", "", lambda name, context: Half(), ())
    with pytest.raises(GameError, match=r"the environment mine:x cannot be opened: .*Half"):
        kind.open("mine:x", None)
