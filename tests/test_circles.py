"""No module imports itself by way of others, and no package of the screens does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import grimp
import pytest


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """What each module imports: at its top, inside functions, and for type checkers alone."""
    graph = grimp.build_graph("engine", "jitrl_tui", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(imports: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one module (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in imports.get(module, ()):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            component = set(path[path.index(module) :])
            del path[path.index(module) :]
            if len(component) > 1:
                found.append(component)

    for module in imports:
        if module not in order:
            visit(module)
    return found


def test_circles_are_found():
    assert circles({"a": "b", "b": "c", "c": "ad", "d": "e", "e": ""}) == [{"a", "b", "c"}]
    assert circles({"a": "bc", "b": "d", "c": "d", "d": ""}) == []


def test_no_module_imports_itself_by_way_of_others(imports):
    assert len(imports) > 100
    found = [sorted(circle) for circle in circles(imports)]
    assert not found, f"these modules import one another: {found}"


def test_no_package_of_the_screens_imports_itself_by_way_of_others(imports):
    packages: dict[str, set[str]] = {}
    for module, others in imports.items():
        package = ".".join(module.split(".")[:2])
        packages.setdefault(package, set()).update(".".join(other.split(".")[:2]) for other in others)
    screens = {name: others - {name} for name, others in packages.items() if name.startswith("jitrl_tui.")}
    assert "jitrl_tui.widgets" in screens["jitrl_tui.screens"]
    found = [sorted(circle) for circle in circles(screens)]
    assert not found, f"these packages import one another: {found}"
