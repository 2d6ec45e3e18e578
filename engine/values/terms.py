"""The four terms of Q: what each candidate is worth, given the one plan that was made.

docs/theory.md has the same as formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.planning import PlanNumbers
from engine.values.model import Model
from engine.values.plans import Plan
from engine.values.task import Task
from engine.values.text import Situation

TERMS = ("gain", "discovery", "delay", "risk")
"""Their names, in the order in which `Terms.of` returns them."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Values candidates against a plan.

    Attributes:
        collected: The part of the plan's known value that is collected already.
        price: Points that dying costs here, known gains apart.
    """

    model: Model
    numbers: PlanNumbers
    plan: Plan
    collected: float
    task: Task
    price: float

    def of(self, action: str, now: Situation) -> tuple[float, float, float, float]:
        """Return (gain, discovery, delay, risk) of one candidate; their sum is Q."""
        plan, task = self.plan, self.task
        # What the plan gained already is not to come any more; all else about it stands, and all candidates lose alike.
        to_come = plan.known - self.collected
        if plan.actions and action == plan.actions[0]:
            return to_come, plan.value - plan.known, 0.0, 0.0
        m, n, key, context = self.model, self.numbers, (now.place, action), now.context
        risk = m.death(key, context)
        liked = task.liking.get(now.place, {})
        own = m.novelty(key, task.curiosity, liked) / (1 + task.progress.tried[key])
        if not plan.actions:
            # Nothing is worth a plan: what was done least in just this situation may show something yet.
            rare = task.curiosity / (1.0 + m.tried_so[(now, action)])
            risk = max(risk, m.hazard(now.place, context, action), m.darkening(now.place, now.have, action))
            return 0.0, (1.0 - risk) * max(own, rare), 0.0, -risk * self.price
        # Whatever else is done first, the plan has to wait for it, and for the way back.
        if key in m.gains and key not in task.progress.gained:
            own += m.effects.gain(key, context)
        scale = abs(plan.value) + 1.0
        delay = max(n.least_regret * scale, plan.value * min(1.0, n.aside / max(1, task.steps)) - own)
        # Dying forfeits the plan. What it costs is left to the planner: all of it would stretch the scale here that
        # advantages are normalised by, until all living choices looked alike, and the prior's taste chose among them.
        return to_come, plan.value - plan.known, -delay, -n.dread * scale * risk
