"""The numbers of the graph estimator: those of its decisions, and when what was learnt is kept, which changes none.

They are no settings of a session: nobody needs to change them, and all were chosen once, for all games. Unless another
source is named, a number was chosen by hand before the first results and kept because dungeons made by a program did
no better with other values (`python -m tests.bench.dungeons`, docs/results/ablations.md). The digest of this
folder is in the manifest of each run.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class OpeningNumbers(SettingsGroup):
    """When what was learnt from a memory is kept beside it. Changes no decision."""

    relived_s: float = setting(
        2.0, "seconds of learning from remembered episodes after which what was learnt is kept", 0.0, 1e6
    )


@dataclass(frozen=True)
class PlanNumbers(SettingsGroup):
    """What the estimator believes before it has seen anything, and how far and wide plans are searched."""

    # What things are worth
    new_place: float = setting(
        4.0, "points that discovering a place is worth; any other new word is worth 1", 0.0, 1e3
    )
    death_cost: float = setting(
        2.0, "points that dying costs beyond what the rest of the plan is worth; 8 was worse on ten dungeons", 0.0, 1e3
    )
    spare: float = setting(
        0.05,
        "points that a step left over is worth: of equal plans the shorter one; fewer are no promise and no gain",
        0.0,
        1e3,
    )
    step_value: float = setting(
        0.08, "points that a step lost by dying was worth to discovery, per unit of curiosity", 0.0, 1e3
    )

    # Preconditions
    possible: float = setting(0.5, "occasions on which an action was possible, added to those counted", 0.0, 1e3)

    # Hazards
    doubt: float = setting(
        2.0, "occasions of what is believed at first that are added to those counted", 0.0, 1e3
    )
    unmet: float = setting(
        0.5, "share of a danger left with what never was there; probability of dying of putting out a light", 0.0, 1.0
    )

    # Novelty
    first: float = setting(
        2.0, "points expected of trying an action of a class that was never tried", 0.0, 1e3
    )
    again: float = setting(
        0.3, "share of novelty of an action that was tried here in another situation", 0.0, 1.0
    )
    loss: float = setting(0.2, "things in hand that the first try of a class is taken to cost", 0.0, 1.0)
    opinion: float = setting(1.5, "most that a model's opinion changes the logarithm of a promise by", 0.0, 10.0)

    # Replay
    alike: float = setting(0.7, "similarity of what is seen above which a trail begins here", 0.0, 1.0)
    unlikely: float = setting(
        0.05,
        "probability below which no trail is followed, no action taken to do what it did before, and no step survived, "
        "and from which an alias is deadly",
        0.0,
        1.0,
    )
    as_before: float = setting(
        4.0, "times that luck is taken to have fallen as before, for each that it fell otherwise", 0.0, 1e3
    )

    # Search
    overhead: float = setting(
        2.0,
        "steps added to the length of a leg when legs are compared, and that anything outside a plan costs it",
        0.0,
        1e3,
    )
    kept: int = setting(24, "occasions, looks, needs and trails that are kept: the latest, or the best", 1, 1e6)
    breadth: int = setting(
        4,
        "most of anything else that is weighed at once: sources, tries on a visit, parts; half as many gains, twice "
        "as many trails",
        2,
        1e6,
    )
    beam: int = setting(3, "routes kept after each further gain", 1, 1e6)
    levels: int = setting(
        2,
        "actions at a place done for the sake of one another before an action there; one less for a move on the way",
        0,
        8,
    )
    worthwhile: float = setting(
        0.2, "share of the best detour's points per step below which none is made", 0.0, 1.0
    )
    look_around: int = setting(3, "steps kept free for looking around where an untried move may lead", 0, 1e6)

    # Looking on when nothing new is gained
    trust: float = setting(20.0, "points that a kind of plan is taken to have promised and brought at first", 0.0, 1e6)

    # Following plans
    patience: int = setting(
        3,
        "times that an action may do nothing in an episode before plans do without it, that a plan for the same thing "
        "is made in the same situation (one of several steps once less), that an action is tried at a place, and half "
        "of the plans made at one step before it is taken without one",
        2,
        1e6,
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
