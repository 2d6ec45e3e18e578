"""The plain mode, which prints labelled lines, for screen readers, pipes and simple terminals."""

from jitrl_tui.plain.choices import candidate_lines
from jitrl_tui.plain.run import PlainRun, refuse_to_wait, run_plain, run_recording_plain, run_saved_plain
from jitrl_tui.plain.terminal import wants_plain

__all__ = [
    "PlainRun", "candidate_lines", "refuse_to_wait", "run_plain", "run_recording_plain", "run_saved_plain",
    "wants_plain",
]  # fmt: skip
