"""The numbers of the graph estimator: those of its decisions, and when what was learnt is kept, which changes none.

They are no settings of a session: nobody needs to change them, and all were chosen once, for all games. Unless another
source is named, a number was chosen by hand before the first results and kept because dungeons made by a program did
no better with other values (`python -m tests.bench.dungeons`, docs/results/ablations.md). The digest of this
folder is in the manifest of each run.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class OpeningNumbers(Group):
    """When what was learnt from a memory is kept beside it. Changes no decision."""

    relived_s: float = setting(
        2.0, "seconds of learning from remembered episodes after which what was learnt is kept", 0.0, 1e6
    )


@dataclass(frozen=True)
class PlanNumbers(Group):
    """What the estimator believes before it has seen anything, and how far and wide plans are searched."""

    # What things are worth
    new_place: float = setting(
        4.0, "points that discovering a place is worth; any other new word is worth 1", 0.0, 1e3
    )
    death_cost: float = setting(
        2.0, "points that dying costs beyond what the rest of the plan is worth; 8 was worse on ten dungeons", 0.0, 1e3
    )
    step_value: float = setting(
        0.08,
        "points that a step left over is worth: of equal plans the shorter one; and a step lost by dying, per unit of "
        "curiosity",
        0.0,
        1e3,
    )
    least: float = setting(0.02, "points below which a promise or a known gain is none", 0.0, 1e3)

    # What is believed
    doubt: float = setting(
        2.0, "occasions of what is believed at first that are added to those counted, of anything", 0.0, 1e3
    )
    unlikely: float = setting(
        0.05, "probability below which nothing is counted on, and dying is certain above the rest of 1", 0.0, 1.0
    )
    unmet: float = setting(0.5, "share of a danger left with something in hand or seen that never was there", 0.0, 1.0)
    deadly: float = setting(0.08, "share of deadly steps under an alias that makes what lifts it a light", 0.0, 1.0)
    lightless: float = setting(0.5, "probability of dying of having put out a light", 0.0, 1.0)
    first: float = setting(
        2.0, "points expected of trying an action of a class that was never tried", 0.0, 1e3
    )
    again: float = setting(
        0.3, "share of novelty of an action that was tried here in another situation", 0.0, 1.0
    )
    loss: float = setting(0.2, "things in hand that the first try of a class is taken to cost", 0.0, 1.0)
    opinion: float = setting(1.5, "most that a model's opinion changes the logarithm of a promise by", 0.0, 10.0)
    alike: float = setting(0.7, "similarity of what is seen above which a trail begins here", 0.0, 1.0)
    as_before: float = setting(
        4.0, "times that luck is taken to have fallen as before, for each that it fell otherwise", 0.0, 1e3
    )
    trust: float = setting(20.0, "points that a kind of plan is taken to have promised and brought at first", 0.0, 1e6)

    # How much is kept, and how far plans are searched
    kept: int = setting(
        24, "latest, or best, of anything that are kept: situations, occasions and looks of a place, trails", 1, 1e6
    )
    breadth: int = setting(
        4, "most of anything that is weighed at once: routes, sources of a thing, things tried on a visit", 1, 1e6
    )
    width: int = setting(2, "gains considered from each route", 1, 1e6)
    levels: int = setting(2, "things made or fetched, and ways opened, for the sake of one another", 0, 8)

    look_around: int = setting(3, "steps kept free for looking around where an untried move may lead", 0, 1e6)

    # Following plans
    patience: int = setting(
        3,
        "times that an action may do nothing in an episode before plans do without it, that a plan of one step is made "
        "in the same situation, and that an action is tried again at a place",
        1,
        1e6,
    )
    departures: int = setting(
        2, "times that a longer plan for the same thing begins in the same situation of an episode", 1, 1e6
    )
    dread: float = setting(
        0.3,
        "share of the plan's value that an action gives up by which one dies, or the game ends, for certain",
        0.0,
        1.0,
    )
    least_regret: float = setting(
        0.05, "share of the plan's value that any action outside it gives up", 0.0, 1.0
    )
