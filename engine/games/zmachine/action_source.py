"""Chooses what finds a story's valid actions: its own grammar, or Jericho's list for it."""

from __future__ import annotations

from typing import Any

from engine.games.actions.search import ActionFinder
from engine.games.actions.templates import TemplateFinder
from engine.games.zmachine.analysis import Analysis


def finder_of(
    analysis: Analysis, bindings: dict[str, Any] | None, poison: frozenset[str]
) -> ActionFinder | TemplateFinder | None:
    """Return what finds actions in a story, None if nothing can.

    Args:
        analysis: What is known of the story.
        bindings: What Jericho knows of it, None for a story that it does not know.
        poison: Commands that are never tried.
    """
    if analysis.story is None:
        return None
    if analysis.grammar is not None and analysis.bearings and analysis.bearings.noun_globals:
        return ActionFinder(
            analysis.story,
            analysis.grammar,
            analysis.bearings,
            player=analysis.player,
            poison=poison,
        )
    if bindings:
        from jericho.template_action_generator import TemplateActionGenerator

        templates = list(TemplateActionGenerator(bindings).templates)
        return TemplateFinder(analysis.story, templates, analysis.words, player=analysis.player, poison=poison)
    return None
