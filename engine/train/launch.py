"""Starts a training process: `launch.py JOB`, with the Python of the training environment.

That environment has torch and what TRL needs. This project and its own packages are found where they are installed: the
variable JITRL_TRAIN_PATH has their folders, which come behind those of the environment. Processes of games are started
with the project's own Python, JITRL_TRAIN_PYTHON.
"""

import os
import sys

PATH, PYTHON = "JITRL_TRAIN_PATH", "JITRL_TRAIN_PYTHON"


def main() -> int:
    """Do the job; return the exit code."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    sys.path += [folder for folder in os.environ.get(PATH, "").split(os.pathsep) if folder not in sys.path]
    sys.executable = os.environ.get(PYTHON) or sys.executable
    from engine.train.work import work

    return work(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
