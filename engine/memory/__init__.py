"""What the agent has learnt: journal on disk, index in memory."""

from engine.memory.store import Memory

__all__ = ["Memory"]
