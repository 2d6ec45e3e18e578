"""Starts `jitrl` with the folders `engine` and `jitrl_tui` beside this file, whatever else is on the path."""

import os
import sys
from importlib import util


def own(name: str) -> None:
    """Import the package `name` that lies beside this file, unless one of that name is imported already."""
    if name in sys.modules:
        return
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    spec = util.spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = util.module_from_spec(spec)
    spec.loader.exec_module(module)


def main() -> int:
    """Run the command line and return the exit code."""
    own("jitrl_tui")
    from jitrl_tui.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
