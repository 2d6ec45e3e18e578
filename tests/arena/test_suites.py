"""Suites: which files are refused and with what words, and which cells a suite has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.bench import suite as suites
from engine.bench.plan import make_plan
from engine.bench.records import TEST, TRAIN
from engine.environments import resolve
from engine.errors import UsageError
from engine.kinds import EnvironmentContext
from tests.arena.running import SMALL


@pytest.mark.parametrize("name", suites.shipped_suites())
def test_shipped_suites_are_valid_and_keep_their_values_in_a_manifest(name):
    suite = suites.load(name)

    assert suite.about
    assert suites.read(suites.plain(suite), name, "the manifest") == suite


def test_the_suites_of_the_papers_tables_are_there():
    assert set(suites.shipped_suites()) >= {
        "jericho", "webarena", "webarena-lite", "backbones", "unseen-tasks", "memory-share", "prompt-update",
        "neighbours", "exploration", "bonus", "state", "logits", "unified", "steps", "scalability", "cost", "j-ttl",
        "quick",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds = 2", "seedz = 2", "there is no key 'seedz' (did you mean 'seeds'?)"),
        ('agent = "jitrl"', 'agent = "jitlr"', "arms[2]: agent: there is no 'jitlr' (did you mean 'jitrl'?)"),
        ("beta = 1.0", "betta = 1.0", "settings.betta: there is no setting 'betta' (did you mean 'beta'?)"),
        ("beta = 1.0", 'beta = "much"', "settings.beta: must be a number, not 'much'"),
        ("episodes = 3", "episodes = 0", "episodes: must be a whole number of at least 1"),
        ("seeds = 2", "seeds = [1, -1]", "seeds: must be a list of whole numbers"),
        ("seeds = 2", "seeds = true", "seeds: must be a list of whole numbers"),
        ('tasks = ["pantry"]', "tasks = []", "tasks: is empty"),
        ('tasks = ["pantry"]', 'tasks = "pantry"', "tasks: must be a list of names"),
        ("seeds = 2", 'protocol = "cross-task"', 'needs memory = "group" or "suite"'),
        ("seeds = 2", 'protocol = "split"', "needs train and train_episodes"),
        ("seeds = 2", 'train = ["pantry"]', 'belong to protocol = "split"'),
        ('name = "Static"', 'name = "Algorithm 1"', "two of them are named 'Algorithm 1'"),
        ("seeds = 2", "seeds = ", "is not valid TOML"),
        ("seeds = 2", '[report]\nmeasures = ["avgg"]', "measures: there is no 'avgg' (did you mean 'avg'?)"),
        ("reference = true", "reference = 1", "reference: must be true or false"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file(old, new, said):
    text = SMALL.replace(old, new, 1)
    if new.startswith("[report]"):
        text = SMALL + "\n" + new
    with pytest.raises(UsageError) as refused:
        suites.parse(text, "small", "small.toml")

    assert str(refused.value).startswith("small.toml")
    assert said in str(refused.value)


def test_a_setting_out_of_range_is_refused_before_anything_is_played(tmp_path):
    suite = suites.parse(SMALL.replace("beta = 1.0", "gamma = 7.0"), "small", "small.toml")

    with pytest.raises(UsageError, match="gamma"):
        _ = make_plan(suite, EnvironmentContext(tmp_path), "small.toml").cells


def cells(text: str, tmp_path):
    return make_plan(suites.parse(text, "small", "small.toml"), EnvironmentContext(tmp_path), "small.toml").cells


def test_consecutive_episodes_have_a_cell_for_each_task_arm_and_seed(tmp_path):
    found = cells(SMALL.replace('["pantry"]', '["pantry", "manor"]'), tmp_path)

    assert len(found) == len({cell.name for cell in found}) == 2 * 2 * 2
    assert all(len(cell.legs) == 1 and cell.legs[0].config.episodes == 3 for cell in found)
    assert all(cell.legs[0].config.settings.step_limit == 12 for cell in found)


def test_agents_without_a_model_are_played_once_whatever_models_there_are(tmp_path):
    text = SMALL.replace('["prior/verbs"]', '["prior/verbs", "prior/uniform"]').replace('"static"', '"random"')
    found = cells(text, tmp_path)

    assert [cell.model for cell in found if cell.arm == "Static"] == ["", ""]
    assert {cell.model for cell in found if cell.arm == "Algorithm 1"} == {"prior/verbs", "prior/uniform"}


def test_cross_task_plays_each_task_once_in_an_order_of_the_seed(tmp_path):
    text = SMALL.replace('["pantry"]', '["pantry", "manor", "feast"]').replace("episodes = 3", "episodes = 1")
    found = cells(text.replace("seeds = 2", 'seeds = 8\nprotocol = "cross-task"\nmemory = "suite"'), tmp_path)

    assert len(found) == 2 * 8
    for cell in found:
        assert sorted(leg.task for leg in cell.legs) == ["feast", "manor", "pantry"]
        assert all(leg.config.episodes == 1 for leg in cell.legs)
    assert len({tuple(leg.task for leg in cell.legs) for cell in found}) > 1
    assert len({leg.config.seed for cell in found for leg in cell.legs}) == 8 * 3


def test_split_learns_first_and_then_only_reads(tmp_path):
    more = 'seeds = 1\nprotocol = "split"\ntrain = ["pantry"]\ntrain_episodes = 4'
    found = cells(SMALL.replace("seeds = 2", more), tmp_path)

    for cell in found:
        assert [(leg.phase, leg.config.episodes, leg.config.frozen) for leg in cell.legs] == [
            (TRAIN, 4, False), (TEST, 3, True),
        ]  # fmt: skip


def test_split_refuses_test_tasks_that_no_training_task_shares_a_memory_with(tmp_path):
    more = 'seeds = 1\nprotocol = "split"\ntrain = ["manor"]\ntrain_episodes = 4'
    with pytest.raises(UsageError, match="no training task shares a memory with pantry"):
        cells(SMALL.replace("seeds = 2", more), tmp_path)


def test_split_does_not_train_on_the_originals_of_its_test_tasks(tmp_path, monkeypatch):
    def resolved(name):
        kind, full = resolve(name)
        return replace(kind, original=lambda task, places: {"pantry": "manor"}.get(task, "")), full

    monkeypatch.setattr("engine.bench.plan.resolve", resolved)
    more = 'seeds = 1\nprotocol = "split"\ntrain = ["manor", "feast"]\ntrain_episodes = 4\nmemory = "suite"'
    for cell in cells(SMALL.replace("seeds = 2", more), tmp_path):
        assert [leg.task for leg in cell.legs] == ["feast", "pantry"]


def test_changes_from_the_command_line_are_checked_like_a_file():
    suite = suites.parse(SMALL, "small", "small.toml")

    changed = suites.change_suite(
        suite, arms=("Static",), seeds=[7], settings={"temperature": 0.5}, models=("prior/uniform",)
    )
    assert [arm.name for arm in changed.arms] == ["Static"]
    assert changed.seeds == (7,)
    assert changed.settings == {"temperature": 0.5}
    assert changed.models == ("prior/uniform",)
    with pytest.raises(UsageError, match="has no arm 'Statik'"):
        suites.change_suite(suite, arms=("Statik",))


def test_a_method_that_writes_is_refused_with_a_prior_before_anything_is_played(tmp_path):
    with pytest.raises(UsageError, match=r"arms: Static: reflexion learns by what its model writes"):
        cells(SMALL.replace('agent = "static"', 'agent = "reflexion"'), tmp_path)
