"""Writes the map's tasks and their solutions from its data: `python -m tests.web.write_map_tasks`.

Answers come from the extract and from Dijkstra's algorithm on it, not from the site. The solutions read the site.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from engine.web.sites import encyclopedia_data as facts
from engine.web.sites.map_site import country
from engine.web.sites.map_site.extract import OsmNode
from tests.web.map_roads import Roads

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "engine/web/sites/tasks/200-map.json"
SOLUTIONS = ROOT / "tests/web/solutions/200-map.json"
FIRST = 200
STARTS = {"map": "__MAP__/", "wikipedia": "__WIKIPEDIA__/varland/Varland"}
READ = {
    "length": "Distance: ([^<]+)<", "time": "Time: ([^<]+)<", "phone": "<th>phone</th><td>([^<]+)<",
    "hours": "<th>opening_hours</th><td>([^<]+)<", "location": "<th>Location</th><td>([^<]+)<",
    "name": "<h2>([^<]+)</h2>",
}  # fmt: skip
MODES = {"car": "by car", "bicycle": "by bicycle", "foot": "on foot"}
TIGHT = 1.25
"""How much farther the second nearest place is at least."""


@dataclass(slots=True)
class Written:
    """The tasks and solutions so far."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    solutions: list[dict[str, Any]] = field(default_factory=list)
    templates: dict[str, int] = field(default_factory=dict)

    def add(
        self, template: str, values: Mapping[str, str], evaluation: Any, right: list[Any], wrong: list[Any],
        sites: Sequence[str] = ("map",),
    ) -> None:  # fmt: skip
        """Add a task and its solutions."""
        number = FIRST + len(self.tasks)
        intent = template
        for name, value in values.items():
            intent = intent.replace("{{" + name + "}}", value)
        self.tasks.append({
            "task_id": number, "sites": list(sites),
            "intent_template_id": self.templates.setdefault(template, FIRST + len(self.templates)),
            "start_urls": [STARTS[site] for site in sites], "intent": intent, "intent_template": template,
            "instantiation_dict": dict(values), "eval": evaluation, "revision": 1,
        })  # fmt: skip
        self.solutions.append({"task_id": number, "right": right, "wrong": wrong})


class Varland:
    """The map's data, asked in ways of its own."""

    def __init__(self) -> None:
        self.extract = country.make()
        self.rng = random.Random(2026)
        self.places = [node for node in self.extract.nodes if "name" in node.tags and "addr:city" in node.tags]
        self._roads: dict[str, Roads] = {}

    def route(self, mode: str, start: OsmNode, end: OsmNode) -> tuple[float, float]:
        """Return metres and minutes of the quickest route."""
        if mode not in self._roads:
            self._roads[mode] = Roads(self.extract, mode)
        return self._roads[mode].route((start.lat, start.lon), (end.lat, end.lon))

    def of(self, town: str, kind: str) -> list[OsmNode]:
        """Return the places of a sort, such as "amenity=cafe", in a town."""
        key, _, value = kind.partition("=")
        return [node for node in self.places if node.tags.get(key) == value and node.tags["addr:city"] == town]

    def draw(self, kind: str, wanted: Callable[[OsmNode], bool] = lambda node: True) -> OsmNode:
        """Return some place of a sort."""
        towns = list(facts.CITIES)
        self.rng.shuffle(towns)
        return next(node for town in towns for node in self.shuffled(self.of(town, kind)) if wanted(node))

    def shuffled(self, places: list[OsmNode]) -> list[OsmNode]:
        """Return the places in another order."""
        return self.rng.sample(places, len(places))

    def nearest(self, mode: str, start: OsmNode, others: Sequence[OsmNode]) -> list[tuple[float, OsmNode]]:
        """Return the metres to each of the places, the nearest first."""
        return sorted(((self.route(mode, start, one)[0], one) for one in others), key=lambda each: each[0])


def called(place: OsmNode) -> str:
    """Return how tasks name a place."""
    name, town = place.tags["name"], place.tags["addr:city"]
    return name if town in name else f"{name} in {town}"


def short(place: OsmNode) -> str:
    """Return the words that find a place, as somebody types them."""
    return f"{place.tags['name']}, {place.tags['addr:city']}"


def label(place: OsmNode) -> str:
    """Return words that find the place alone."""
    return f"{place.tags['name']}, {address(place)}, {place.tags['addr:city']}"


def address(place: OsmNode) -> str:
    """Return number and street."""
    return f"{place.tags['addr:housenumber']} {place.tags['addr:street']}"


def page(place: OsmNode) -> list[str]:
    """Return the step that opens a place."""
    return ["get", f"__MAP__/node/{place.id}"]


def way(mode: str, start: OsmNode | str, end: OsmNode | str) -> str:
    """Return the address of directions."""
    ends = [one if isinstance(one, str) else label(one) for one in (start, end)]
    return "__MAP__/directions?" + urlencode({"engine": mode, "from": ends[0], "to": ends[1]})


def retrieve(answer: Any, **schema: str) -> list[dict[str, Any]]:
    """Return the judge of an answer."""
    return [{
        "evaluator": "AgentResponseEvaluator",
        "results_schema": {"type": "array", "items": {"type": "string", **schema}},
        "expected": {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [answer]},
    }]  # fmt: skip


def navigate(path: str, **query: str) -> list[dict[str, Any]]:
    """Return the judge of a page that must be opened last of its kind."""
    wanted: dict[str, Any] = {"url": f"__MAP__/{path}", "http_method": "GET", "response_status": 200}
    if query:
        wanted["query_params"] = {name: [value] for name, value in query.items()}
    return [
        {
            "evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"},
            "expected": {"task_type": "navigate", "status": "SUCCESS", "retrieved_data": None},
        },
        {"evaluator": "NetworkEventEvaluator", "expected": wanted},
    ]  # fmt: skip


def classic(url: str = "", **answers: Any) -> dict[str, Any]:
    """Return a judge in WebArena's first form: the last page's address, or what the answer must have."""
    return {
        "eval_types": ["url_match"] if url else ["string_match"], "reference_answers": answers or None,
        "reference_url": url, "program_html": [],
    }  # fmt: skip


def kilometres(metres: float) -> str:
    """Return a distance as people write it."""
    return f"{metres / 1000:.1f} km"


def clear(metres: float) -> bool:
    """Whether rounding to 100 m is far from the next figure."""
    return metres > 1100 and 20 < (metres + 50) % 100 < 80


def single(map: Varland, out: Written) -> None:
    """Write tasks that one page answers."""
    for kind in ("amenity=pharmacy", "tourism=hotel", "amenity=dentist"):
        place = map.draw(kind)
        out.add("What is the phone number of {{place}}?", {"place": called(place)},
                retrieve(place.tags["phone"]), [page(place), ["read", READ["phone"]]],
                [["answer", "+999 1"]])  # fmt: skip
    for kind in ("tourism=museum", "shop=bakery"):
        place = map.draw(kind)
        out.add("Which opening hours does the map give for {{place}}? Answer as the map writes them.",
                {"place": called(place)}, retrieve(place.tags["opening_hours"]),
                [page(place), ["read", READ["hours"]]], [["answer", "24/7"]])  # fmt: skip
    for kind in ("shop=books", "amenity=theatre"):
        place = map.draw(kind)
        out.add("At which address is {{place}}? Answer with house number and street.", {"place": called(place)},
                retrieve(address(place)), [page(place), ["read", r"<th>Address</th><td>([^,<]+)"]],
                [["answer", "1 High Street"]])  # fmt: skip
    for kind in ("tourism=gallery", "amenity=townhall"):
        place = map.draw(kind)
        out.add("What are the coordinates of {{place}}? Answer with latitude and longitude.",
                {"place": called(place)}, retrieve(f"{place.lat:.5f}, {place.lon:.5f}", format="coordinates"),
                [page(place), ["read", READ["location"]]], [["answer", "47.0, -30.0"]])  # fmt: skip
    for kind in ("amenity=library", "amenity=hospital"):
        place = map.draw(kind)
        spot = f"{place.lat:.5f}, {place.lon:.5f}"
        out.add("What is the name of the place at {{spot}}?", {"spot": spot}, retrieve(place.tags["name"]),
                [["get", "__MAP__/search?" + urlencode({"query": spot})],
                 ["read", r"<ol start=\"1\"><li>[^<]+<a href=[^>]+>([^,<]+),"]], [["answer", "Arlow"]])  # fmt: skip
    for mode, kind, other in (
        ("foot", "railway=station", "amenity=library"), ("bicycle", "amenity=cinema", "leisure=sports_centre"),
        ("car", "amenity=hospital", "railway=station"),
    ):  # fmt: skip
        start, end = _pair(map, mode, kind, other, same=True)
        metres, _ = map.route(mode, start, end)
        out.add("How far is it {{mode}} from {{start}} to {{end}}? Answer with a unit.",
                {"mode": MODES[mode], "start": called(start), "end": called(end)},
                retrieve(kilometres(metres), format="distance"),
                [["get", way(mode, start, end)], ["read", READ["length"]]], [["answer", "12 km"]])  # fmt: skip
    for mode in ("car", "bicycle", "car"):
        start, end = _pair(map, mode, "railway=station", "railway=station", same=False)
        _, minutes = map.route(mode, start, end)
        out.add("How long does it take {{mode}} from {{start}} to {{end}}? Answer with a unit.",
                {"mode": MODES[mode], "start": called(start), "end": called(end)},
                retrieve(f"{round(minutes)} min", format="duration"),
                [["get", way(mode, start, end)], ["read", READ["time"]]], [["answer", "1 min"]])  # fmt: skip
    for words in ("museums in Saltmere", "hotels near Farrow Station"):
        out.add("Search the map for \"{{words}}\".", {"words": words}, navigate("search", query=words),
                [["get", "__MAP__/search?" + urlencode({"query": words})]],
                [["get", "__MAP__/search?query=Arlow"]])  # fmt: skip
    for kind in ("amenity=police", "tourism=guest_house"):
        place = map.draw(kind)
        out.add("Open the map's page of {{place}}.", {"place": called(place)}, navigate(f"node/{place.id}"),
                [page(place)], [["get", "__MAP__/search?query=Arlow"]])  # fmt: skip
    for mode, start, end in (
        ("bicycle", "Marwen Library", "Norrick Cinema"), ("foot", "Lindor Station", "Lindor Theatre"),
    ):  # fmt: skip
        out.add("Show the directions {{mode}} from \"{{start}}\" to \"{{end}}\".",
                {"mode": MODES[mode], "start": start, "end": end},
                navigate("directions", **{"engine": mode, "from": start, "to": end}),
                [["get", way(mode, start, end)]], [["get", way("car", start, end)]])  # fmt: skip
    for mode, start, end in (
        ("car", "Ostby Hospital", "Estrick Hospital"), ("foot", "Wenlow Cinema", "Wenlow Library"),
    ):  # fmt: skip
        query = urlencode({"engine": mode, "from": start, "to": end})
        out.add("Bring the route {{mode}} from \"{{start}}\" to \"{{end}}\" on the screen.",
                {"mode": MODES[mode], "start": start, "end": end}, classic(f"__MAP__/directions?{query}"),
                [["get", way(mode, start, end)]], [["get", way(mode, end, start)]])  # fmt: skip


def _pair(map: Varland, mode: str, kind: str, other: str, *, same: bool) -> tuple[OsmNode, OsmNode]:
    """Return two places of these sorts whose distance is far from the next figure."""
    while True:
        start = map.draw(kind)
        town = start.tags["addr:city"] if same else map.rng.choice(facts.CITIES)
        for end in map.of(town, other):
            if end is not start and clear(map.route(mode, start, end)[0]):
                return start, end


def several(map: Varland, out: Written) -> None:
    """Write tasks that need several pages."""
    for mode, kind, word, around in (
        ("foot", "amenity=pharmacy", "pharmacy", "tourism=hotel"),
        ("foot", "shop=supermarket", "supermarket", "railway=station"),
        ("bicycle", "shop=bicycle", "bicycle shop", "tourism=guest_house"),
        ("car", "amenity=fuel", "fuel station", "amenity=theatre"),
        ("foot", "amenity=cafe", "cafe", "amenity=library"),
    ):
        start, ranked = _clearest(map, mode, kind, around)
        routes = {one.tags["name"]: way(mode, start, one) for _, one in ranked[:3]}
        names = dict(zip(("one", "two", "three"), sorted(short(one) for _, one in ranked[:3]), strict=True))
        out.add("Which {{kind}} has the shortest way {{mode}} from \"{{start}}\": \"{{one}}\", \"{{two}}\" or "
                "\"{{three}}\"? Answer with its name, without the town.",
                {"kind": word, "mode": MODES[mode], "start": short(start), **names},
                retrieve(ranked[0][1].tags["name"]), [["least", READ["length"], routes]],
                [["answer", ranked[1][1].tags["name"]]])  # fmt: skip
    for mode, kind, word, around in (
        ("foot", "amenity=pharmacy", "pharmacy", "railway=station"),
        ("foot", "shop=bakery", "bakery", "tourism=hotel"),
        ("bicycle", "amenity=pub", "pub", "amenity=cinema"),
    ):
        start, ranked = _clearest(map, mode, kind, around)
        goal = ranked[0][1]
        names = dict(zip(("one", "two"), sorted(short(one) for _, one in ranked[:2]), strict=True))
        out.add("Which {{kind}} is nearer {{mode}} to \"{{start}}\": \"{{one}}\" or \"{{two}}\"? Answer with its "
                "phone number.",
                {"kind": word, "mode": MODES[mode], "start": short(start), **names},
                retrieve(goal.tags["phone"]),
                [["least", READ["length"], {one.tags["name"]: way(mode, start, one) for _, one in ranked[:2]}],
                 page(goal), ["read", READ["phone"]]],
                [page(ranked[1][1]), ["read", READ["phone"]]])  # fmt: skip
    for town, kind, word in (("Quarrow", "tourism=hotel", "hotel"), ("Jorvale", "amenity=restaurant", "restaurant")):
        goal, extra = _only(map, town, kind)
        out.add("Open the page of the only {{kind}} in {{town}} that has {{extra}}.",
                {"kind": word, "town": town, "extra": extra}, navigate(f"node/{goal.id}"), [page(goal)],
                [page(next(one for one in map.of(town, kind) if one is not goal))])  # fmt: skip
    for town, kind, word in (
        ("Pellworth", "tourism=hotel", "hotel"), ("Tarnholm", "amenity=restaurant", "restaurant"),
        ("Elmsgate", "tourism=hotel", "hotel"),
    ):  # fmt: skip
        goal, extra = _only(map, town, kind)
        out.add("What is the phone number of the only {{kind}} in {{town}} that has {{extra}}?",
                {"kind": word, "town": town, "extra": extra},
                classic(must_include=[goal.tags["phone"]]), [page(goal), ["read", READ["phone"]]],
                [["answer", "+999 1"]])  # fmt: skip
    for town, kind, word in (
        ("Vestrand", "shop=books", "bookshops"), ("Farrow", "amenity=pub", "pubs"),
        ("Ulverby", "tourism=museum", "museums"),
    ):  # fmt: skip
        count = len(map.of(town, kind))
        query = urlencode({"query": f"{word} in {town}"})
        pages = [f"__MAP__/search?{query}&start={start}" for start in range(0, count, 10)]
        out.add("How many {{kind}} in {{town}} does the map have?", {"kind": word, "town": town},
                retrieve(count, type="number"),
                [["sum", f"<li>{_word(kind)} <a", pages]], [["answer", str(count + 1)]])  # fmt: skip
    for mode, kinds in (
        ("car", ("amenity=hospital", "railway=station", "amenity=library")),
        ("bicycle", ("amenity=cinema", "amenity=townhall", "amenity=theatre")),
    ):
        first, second = _pair(map, mode, kinds[0], kinds[1], same=True)
        _, third = _pair(map, mode, kinds[1], kinds[2], same=False)
        metres = sum(round(map.route(mode, *ends)[0], -2) for ends in ((first, second), (second, third)))
        out.add("How far is it {{mode}} in all from {{first}} to {{second}} and on to {{third}}? Answer with a unit.",
                {"mode": MODES[mode], "first": called(first), "second": called(second), "third": called(third)},
                retrieve(kilometres(metres), format="distance"),
                [["total", READ["length"], [way(mode, first, second), way(mode, second, third)], "km", 1]],
                [["get", way(mode, first, second)], ["read", READ["length"]]])  # fmt: skip
    for towns in (("Harwick", "Ivelstead"), ("Cawdon", "Estrick"), ("Dovestone", "Elmsgate")):
        start, end = (map.of(town, "railway=station")[0] for town in towns)
        quick = {mode: map.route(mode, start, end)[1] for mode in ("car", "foot")}
        out.add("How much longer does the way on foot from {{start}} to {{end}} take than by car? Answer with a unit.",
                {"start": called(start), "end": called(end)},
                retrieve(f"{round(quick['foot']) - round(quick['car'])} min", format="duration"),
                [["total", READ["time"], [way("foot", start, end), way("car", start, end)], "min", -1]],
                [["get", way("car", start, end)], ["read", READ["time"]]])  # fmt: skip
    for start_town, others in (
        ("Lindor", ("Ashport", "Harwick", "Pellworth")), ("Marwen", ("Norrick", "Ostby", "Ulverby")),
        ("Yarrick", ("Wenlow", "Vestrand", "Brackwater")),
    ):  # fmt: skip
        start = map.of(start_town, "railway=station")[0]
        stations = [map.of(town, "railway=station")[0] for town in others]
        ranked = sorted(stations, key=lambda one: map.route("car", start, one)[1])
        routes = {one.tags["addr:city"]: way("car", start, one) for one in stations}
        out.add("Which of these stations is reached soonest by car from {{start}}: {{one}}, {{two}} or {{three}}? "
                "Answer with the town's name.",
                {"start": called(start), **dict(zip(("one", "two", "three"), map.shuffled(list(others)), strict=True))},
                retrieve(ranked[0].tags["addr:city"]), [["least", READ["time"], routes]],
                [["answer", ranked[-1].tags["addr:city"]]])  # fmt: skip
    for number in (3, 26, 28):
        city = facts.cities()[number]
        start, end = map.of(city.name, "amenity=library")[0], map.of("Kestrel Bay", "railway=station")[0]
        _, minutes = map.route("car", start, end)
        out.add("How long does it take by car from the library of the city that the encyclopedia says was founded in "
                "{{year}} to Kestrel Bay Station? Answer with a unit.", {"year": str(city.founded)},
                retrieve(f"{round(minutes)} min", format="duration"),
                [["get", f"__WIKIPEDIA__/varland/{city.name}"], ["get", way("car", start, end)],
                 ["read", READ["time"]]], [["answer", "1 min"]], ("wikipedia", "map"))  # fmt: skip
    for town, kind, word, day, hours in (
        ("Dovestone", "shop=bakery", "bakeries", "Sundays", "(?:Mo|Tu)-Su"),
        ("Pellworth", "amenity=restaurant", "restaurants", "Mondays", "Mo"),
    ):
        found = map.of(town, kind)
        count = sum(re.match(hours, one.tags["opening_hours"]) is not None for one in found)
        out.add("How many {{kind}} in {{town}} are open on {{day}}?", {"kind": word, "town": town, "day": day},
                retrieve(count, type="number"),
                [["sum", f"<th>opening_hours</th><td>{hours}", [page(one)[1] for one in found]]],
                [["answer", str(len(found))]])  # fmt: skip


def _word(kind: str) -> str:
    return {"shop=books": "Bookshop", "amenity=pub": "Pub", "tourism=museum": "Museum"}[kind]


def _only(map: Varland, town: str, kind: str) -> tuple[OsmNode, str]:
    """Return a place that alone of its sort in a town has some number of stars or rooms, or a cuisine."""
    places = map.of(town, kind)
    for key, text in (("stars", "{} stars"), ("rooms", "{} rooms"), ("cuisine", "the cuisine \"{}\"")):
        for place in map.shuffled(places):
            value = place.tags.get(key)
            if value and sum(one.tags.get(key) == value for one in places) == 1:
                return place, text.format(value)
    raise ValueError(f"no {kind} of {town} is alone of its sort")


def _clearest(map: Varland, mode: str, kind: str, around: str) -> tuple[OsmNode, list[tuple[float, OsmNode]]]:
    """Return a place, and those of another sort around it, the first of which is clearly the nearest."""
    while True:
        start = map.draw(around, lambda node: len(map.of(node.tags["addr:city"], around)) > 0)
        others = map.of(start.tags["addr:city"], kind)
        if not 3 <= len(others) <= 12:
            continue
        ranked = map.nearest(mode, start, others)
        if ranked[0][0] > 150 and ranked[1][0] > ranked[0][0] * TIGHT:
            return start, ranked


def made() -> Iterator[tuple[Path, str]]:
    """Yield the files with their text."""
    map, out = Varland(), Written()
    single(map, out)
    several(map, out)
    for file, items in ((TASKS, out.tasks), (SOLUTIONS, out.solutions)):
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        yield file, f"[\n{lines}\n]\n"


if __name__ == "__main__":
    for file, text in made():
        file.write_text(text)
        print(file.relative_to(ROOT), len(text.splitlines()) - 2)
