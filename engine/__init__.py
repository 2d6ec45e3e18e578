"""The learner without a screen: records, Algorithm 1, memory, games, models, agents and the session loop."""

import sys
from pathlib import Path

_CARRIED = Path(__file__).with_name("carried")
"""Packages inside a wheel of jitrl (hatch_build.py). Those that are installed beside it come first."""
if _CARRIED.is_dir() and str(_CARRIED) not in sys.path:
    sys.path.append(str(_CARRIED))
