"""Articles about the cities, rivers and people of an invented country, made from a fixed seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

SEED = 8888
TITLE = "Encyclopedia of Varland"
CITIES = (
    "Arlow", "Belmere", "Cawdon", "Dunhaven", "Estrick", "Farrow", "Glenmoor", "Harwick", "Ivelstead", "Jorvale",
    "Kestrel Bay", "Lindor", "Marwen", "Norrick", "Ostby", "Pellworth", "Quarrow", "Rensford", "Saltmere", "Tarnholm",
    "Ulverby", "Vestrand", "Wenlow", "Yarrick", "Zellmoor", "Ashport", "Brackwater", "Corriedale", "Dovestone",
    "Elmsgate",
)  # fmt: skip
RIVERS = (
    "Ander",
    "Bryne",
    "Corle",
    "Dessel",
    "Evend",
    "Fenna",
    "Gorm",
    "Hale",
    "Isk",
    "Jarrow",
    "Kell",
    "Lorne",
)
PEOPLE = (
    "Tilda Marn", "Oskar Vell", "Ruth Hadley", "Emil Storr", "Agnes Pike", "Jonas Brandt", "Clara Winde", "Felix Oram",
    "Nora Quill", "Anton Reeve", "Hanna Lisle", "Victor Thane",
)  # fmt: skip
THINGS = (
    "tide clock", "folding bridge", "paper lamp", "steam plough", "glass flute", "weather kite", "diving bell",
    "rope railway", "salt press", "silent loom", "star table", "river dredger",
)  # fmt: skip
TRADES = ("salt", "timber", "glass", "wool", "herring", "slate", "cider", "clocks")


@dataclass(frozen=True, slots=True)
class Article:
    """One article: its title, and its text as HTML without the title."""

    title: str
    body: str

    @property
    def path(self) -> str:
        """Path within the archive."""
        return self.title.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class City:
    """Facts about a city."""

    name: str
    population: int
    founded: int
    river: str
    trade: str


def cities() -> tuple[City, ...]:
    """Return the cities. No two have the same population or founding year."""
    rng = random.Random(SEED)
    years = rng.sample(range(1102, 1890), len(CITIES))
    people = rng.sample(range(4_000, 400_000), len(CITIES))
    return tuple(
        City(name, count, year, rng.choice(RIVERS), rng.choice(TRADES))
        for name, count, year in zip(CITIES, people, years, strict=True)
    )


def articles() -> tuple[Article, ...]:
    """Return every article, the main page first."""
    rng = random.Random(SEED + 1)
    found = [_main_page()]
    for city in cities():
        found.append(Article(city.name, (
            f"<p>{city.name} is a city in Varland on the river {_link('River ' + city.river, city.river)}. "
            f"It was founded in {city.founded} and is known for its {city.trade}.</p>"
            f"<table><tr><th>Population</th><td>{city.population:,}</td></tr>"
            f"<tr><th>Founded</th><td>{city.founded}</td></tr><tr><th>Trade</th><td>{city.trade}</td></tr></table>"
        )))  # fmt: skip
    lengths = rng.sample(range(40, 900), len(RIVERS))
    for river, length in zip(RIVERS, lengths, strict=True):
        places = [city.name for city in cities() if city.river == river]
        towns = ", ".join(_link(place, place) for place in places) or "no city"
        found.append(Article(f"River {river}", (
            f"<p>The {river} is a river of Varland, {length} km long. On it lie: {towns}.</p>"
            f"<table><tr><th>Length</th><td>{length} km</td></tr></table>"
        )))  # fmt: skip
    for person, thing in zip(PEOPLE, THINGS, strict=True):
        born, home = rng.randint(1720, 1860), rng.choice(CITIES)
        found.append(Article(person, (
            f"<p>{person} was born in {_link(home, home)} in {born} and invented the {thing} "
            f"in {born + rng.randint(22, 50)}.</p>"
        )))  # fmt: skip
    return tuple(found)


def _main_page() -> Article:
    def listed(names: tuple[str, ...], prefix: str = "") -> str:
        return "<ul>" + "".join(f"<li>{_link(prefix + name, prefix + name)}</li>" for name in names) + "</ul>"

    return Article("Varland", (
        "<p>Varland is a country of thirty cities and twelve rivers.</p>"
        f"<h2>Cities</h2>{listed(CITIES)}<h2>Rivers</h2>{listed(RIVERS, 'River ')}<h2>People</h2>{listed(PEOPLE)}"
    ))  # fmt: skip


def _link(title: str, text: str) -> str:
    return f'<a href="{title.replace(" ", "_")}">{text}</a>'
