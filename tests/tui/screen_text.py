"""The one place that reads the screen's text."""

from __future__ import annotations

from textual._context import visible_screen_stack
from textual.app import App


def screen_text(app: App) -> str:
    """Return what the screen shows, line by line, without trailing blanks."""
    height = app.size.height
    visible_screen_stack.set(app._background_screens)  # what is seen behind a window
    compositor = app.screen._compositor
    lines = []
    for strips in compositor.render_strips(app.size):
        lines.append("".join(segment.text for segment in strips).rstrip())
    return "\n".join(lines[:height])
