"""Training of weights: SFT and GRPO with the field's own trainers, in an environment of their own.

jitrl itself imports no torch. `trainers.py` starts `launch.py` with the Python of the training environment, and what
runs there is in `work.py`, `models.py`, `policy.py`, `rollouts.py`, `monitor.py`, `grpo.py`, `export.py` and
`run_*.py`. All other modules of this folder are used on both sides, and need nothing of that environment.
"""
