"""The two themes of our own; the terminal's own colours come with Textual (ansi-dark, ansi-light)."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="jitrl-dark",
    primary="#7aa2f7",
    secondary="#5a6ea8",
    accent="#e0af68",
    warning="#ff9e64",
    error="#f7768e",
    success="#9ece6a",
    foreground="#d5d9e8",
    background="#16181f",
    surface="#1c1f28",
    panel="#2a2f3d",
    dark=True,
)

LIGHT = Theme(
    name="jitrl-light",
    primary="#2458b3",
    secondary="#5873a8",
    accent="#8a5a00",
    warning="#a8480b",
    error="#b3213d",
    success="#2f6f12",
    foreground="#1d2230",
    background="#f4f3ef",
    surface="#fbfaf7",
    panel="#dedbd2",
    dark=False,
)

CYCLE = ("jitrl-dark", "jitrl-light", "ansi-dark", "ansi-light")
"""What the theme key goes through."""
