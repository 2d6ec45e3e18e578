"""The uniform prior, which needs no model."""

from __future__ import annotations

import numpy as np

from engine.records import ActionRequest, Candidate, Proposal


class UniformPrior:
    """Draws distinct candidates uniformly from the valid actions; all logits are 0."""

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` actions."""
        drawn = rng.permutation(len(request.valid_actions))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], 0.0) for i in drawn))
