"""Reduces TextWorld's description of a game to the metadata that `engine.games.generated` needs.

It keeps the named entities with their types, the initial facts, and the rules of commands with their conditions.
Quests, grammar, source text and walkthrough are left out, so that no file read during play tells how to win.
"""

from __future__ import annotations

import re
from typing import Any

FORMAT = 1
_RULE = re.compile(r"^\s*([\w/']+)\s*::\s*(.+?)\s*->\s*(.*?)\s*;", re.M)
_COMMAND = re.compile(r'^\s*([\w/\']+)\s*::\s*"([^"]*)"\s*::', re.M)
_CONDITION = re.compile(r"(\$?)([\w/]+)\(([^)]*)\)")
_TYPE = re.compile(r"^type\s+(\w+)\s*(?::\s*(\w+))?\s*\{", re.M)
_DERIVED = re.compile(r"^\s*([\w/]+)\(([^)]*)\)\s*=\s*([^;]+);", re.M)
_SECRET = re.compile(r"ingredient_\d+$")
_IDLE = ("look", "inventory", "examine")
_REFUSED = ("drop", "close", "lock", "insert")


def slim(game: dict[str, Any], goal: str) -> dict[str, Any]:
    """Return the metadata for play.

    Its keys are `format`; `objective`; `max_score`; `types` (type to its parent, "" for none); `entities` (id, type,
    displayed name); `facts` (predicate, then ids); `rules` (name, command template, conditions with a mark for those
    that are kept, effects; all with typed placeholders `name:type`).

    Args:
        game: TextWorld's description of the game.
        goal: Id of the supporter that things may be put on, "" for none (see `engine.games.stories.texts.manners`).
    """
    logic = re.sub(r"#.*", "", game["KB"]["logic"])
    types = {name: parent or "" for name, parent in _TYPE.findall(logic)}
    derived = {name: (args, body) for name, args, body in _DERIVED.findall(logic)}
    commands = dict(_COMMAND.findall(logic))
    rules: list[list[Any]] = []
    for name, before, after in _RULE.findall(logic):
        template = commands.get(name, "")
        if not template or template.split()[0] in _IDLE or template.split()[0] in _REFUSED:
            continue
        if (name == "put" and not goal) or name.endswith("/burned"):
            continue
        conditions = _without_secrets(_conditions(before, derived, types))
        if name == "eat" and "meal" in types:
            conditions = [[part.replace("f:f", "f:meal") for part in condition] for condition in conditions]
        if name == "put":
            conditions.append(["$", "goal", "s:s"])
        effects = [[predicate, *arguments] for _, predicate, *arguments in _conditions(after, derived, types)]
        if not any(rule[1] == template and rule[2] == conditions for rule in rules):
            rules.append([name, template, conditions, effects])
    entities = [
        [key, infos["type"], infos["name"]]
        for key, infos in game["infos"]
        if infos.get("name") and infos["type"] not in ("P", "I")
    ]
    hidden = {key for key, infos in game["infos"] if infos["type"] == "ingredient"}
    facts = sorted(
        [fact["name"], *(argument["name"] for argument in fact["arguments"])]
        for fact in game["world"]
        if not _SECRET.match(fact["name"]) and not hidden & {part["name"] for part in fact["arguments"]}
    )
    if goal:
        facts.append(["goal", goal])
    return {
        "format": FORMAT,
        "objective": game["objective"],
        "max_score": sum(quest["reward"] for quest in game["quests"] if not quest["optional"]),
        "types": types,
        "entities": entities,
        "facts": facts,
        "rules": rules,
    }


def _conditions(text: str, derived: dict[str, tuple[str, str]], types: dict[str, str]) -> list[list[str]]:
    """Parse `$at(P, r) & in(o, I)` into [kept or consumed, predicate, placeholder:type, ...] items."""
    found: list[list[str]] = []
    for mark, predicate, arguments in _CONDITION.findall(text):
        names = [part.strip() for part in arguments.split(",")]
        if predicate in derived:
            formal, body = derived[predicate]
            rename = dict(zip([part.split(":")[0].strip() for part in formal.split(",")], names, strict=True))
            for _, inner, inner_args in _CONDITION.findall(body):
                inner_names = [part.strip() for part in inner_args.split(",")]
                found.append([mark, inner, *(_typed(rename.get(n, n), types) for n in inner_names)])
            continue
        found.append([mark, predicate, *(_typed(name, types) for name in names)])
    return found


def _without_secrets(conditions: list[list[str]]) -> list[list[str]]:
    """Remove conditions on ingredients, which would tell the foods that the recipe needs."""
    secret = {slot for _, name, *slots in conditions if _SECRET.match(name) for slot in slots}
    return [condition for condition in conditions if not secret & set(condition[2:])]


def _typed(name: str, types: dict[str, str]) -> str:
    """Return `name:type`. Unless given, the type is the name without primes and digits, or "object"."""
    if ":" in name:
        return ":".join(part.strip() for part in name.split(":"))
    kind = name.rstrip("'0123456789")
    return f"{name}:{kind if kind in types else 'object'}"
