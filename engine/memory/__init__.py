"""Episodic memory: a journal of episodes on disk and an index of their steps in process memory."""

from engine.memory.store import Memory

__all__ = ["Memory"]
