"""Data of the forum: the people of the encyclopedia's country, and what they write to each other, from a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

from engine.web.sites.encyclopedia_data import CITIES

SEED = 9999
DOMAIN = "commons.example"
CONFIG = {"site_name": "Varland Commons", "site_description": "Where Varland talks", "topics_per_page": "20",
          "comments_per_page": "20"}  # fmt: skip
AGENT, PASSWORD = "iver_tolland", "iver-pass"
PEOPLE, TOPICS, REPLIES, LIKES = 300, 1500, 8000, 12000
START = datetime.fromisoformat("2024-01-08T07:00:00+00:00")

_FIRST = (
    "Abel", "Britta", "Cora", "Dag", "Edda", "Finn", "Greta", "Hugo", "Ida", "Jory", "Karla", "Leif", "Maud", "Nils",
    "Odette", "Per", "Quentin", "Rikke", "Sten", "Thea", "Ulf", "Vera", "Wilma", "Ylva", "Zeno",
)  # fmt: skip
_LAST = (
    "Alder", "Birk", "Crane", "Dorn", "Ekholm", "Fane", "Garland", "Hallow", "Ivers", "Jessen", "Kirkwood", "Lund",
    "Marsh", "Norling", "Oakes", "Pell", "Rowan", "Sandal", "Thorne", "Vane",
)  # fmt: skip
FORUMS: dict[str, tuple[str, tuple[str, ...]]] = {
    # title: (description, what people talk about there)
    "Clock Making": ("Movements, cases and the right time", (
        "tide clock", "pendulum", "cuckoo clock", "mainspring", "brass case", "dial", "station clock")),
    "Cycling": ("On two wheels from the coast to the hills", (
        "cargo bike", "saddle", "touring bicycle", "hand pump", "mountain road", "child seat", "dynamo lamp")),
    "Gardening": ("Beds, pots and allotments", (
        "apple tree", "greenhouse", "compost heap", "rose bush", "rain barrel", "bean pole", "hedge")),
    "Glass and Slate": ("Craft and repair", (
        "glass flute", "roof slate", "window pane", "lead frame", "glass oven", "slate table", "lantern")),
    "Harbours and Boats": ("Herring, tides and moorings", (
        "rowing boat", "mooring", "herring net", "diving bell", "sail", "life jacket", "outboard motor")),
    "Home Cooking": ("Recipes and pans", (
        "herring pie", "cider cake", "cast-iron pan", "sourdough", "plum jam", "fish smoker", "bread knife")),
    "Housing": ("Rooms, roofs and landlords", (
        "furnished room", "tile stove", "attic flat", "garden shed", "front door", "shared kitchen", "cellar")),
    "Knitting and Wool": ("From fleece to scarf", (
        "wool scarf", "silent loom", "spinning wheel", "pair of mittens", "knitting pattern", "fleece", "pullover")),
    "Libraries and Books": ("What to read, and where to borrow it", (
        "library card", "old atlas", "crime novel", "reading circle", "book binder", "travel guide", "dictionary")),
    "Music": ("Playing, listening, dancing", (
        "accordion", "brass band", "choir", "fiddle", "dance evening", "drum", "concert ticket")),
    "Photography": ("Light, lenses and darkrooms", (
        "tripod", "darkroom", "field camera", "lens", "photo walk", "album", "light meter")),
    "Railways": ("Lines, timetables and stations", (
        "rope railway", "night train", "season ticket", "station buffet", "branch line", "sleeping car", "timetable")),
    "Schools and Courses": ("Learning at any age", (
        "evening course", "swimming lesson", "pottery class", "exam", "school bus", "language course", "workshop")),
    "Weather": ("Storms, frost and forecasts", (
        "weather kite", "barometer", "flood warning", "first frost", "lightning rod", "rain gauge", "sea fog")),
}  # fmt: skip
META = ("Notice Board", "News of the forum and its rules")
FIRST_FORUM = 11
"""Number of the first forum; smaller numbers belong to Spirit itself."""
_TITLES = (
    "Looking for {a} {thing} in {city}", "What did you pay for {a} {thing} in {city}",
    "My {thing} from {city} is broken", "{A} {thing} for beginners near {city}",
    "Is {a} {thing} from {city} worth the money", "Two questions about {a} {thing} in {city}",
    "{city} and the best {thing} I ever had", "Who repairs {a} {thing} around {city}",
    "Giving away {a} {thing} in {city}",
)  # fmt: skip
_OPENINGS = (
    "I have thought about this for {n} weeks and would like to hear from people in {city}.",
    "We moved to {city} last year and nobody on our street knows anything about it.",
    "My neighbour in {city} says it cannot be done, and I do not believe it.",
    "There were {n} of them at the market in {city} and I could not decide.",
)
_REPLIES = (
    "I paid {n} crowns for {a} {thing} like that, and would do it again.",
    "Ask at the market in {other}, they know about every {thing} there is.",
    "Ours is {n} years old and still does its work.",
    "The one from {other} fell apart after {n} days. Stay away from it.",
    "I would wait until spring, prices fall by {n} percent then.",
    "My aunt in {other} has {a} {thing} she never uses. Shall I ask her?",
    "Same question here. I read on.",
    "Good luck with it, and tell us how it went.",
    "You can borrow mine for {n} days if you come to {other}.",
    "It took me {n} hours and two cups of cider, but then it worked.",
)


@dataclass(frozen=True, slots=True)
class ForumMember:
    """Somebody with an account. Only those with a password can log in."""

    user: str
    first: str
    last: str
    city: str
    joined: str
    password: str = ""
    moderates: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """One post of a topic; the first one opens it."""

    id: int
    user: str
    text: str
    date: str
    likes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. Those with members are private, and only their members can read them."""

    id: int
    forum: int
    title: str
    date: str
    posts: tuple[Post, ...]
    pinned: bool = False
    closed: bool = False
    members: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The end of its address, as Spirit makes it from the title."""
        return slug(self.title)


@dataclass(frozen=True, slots=True)
class Category:
    """A forum for one subject."""

    id: int
    title: str
    description: str


@dataclass(frozen=True, slots=True)
class ForumContent:
    """The whole forum."""

    domain: str
    config: dict[str, str]
    people: tuple[ForumMember, ...]
    forums: tuple[Category, ...]
    topics: tuple[Topic, ...]


def slug(text: str) -> str:
    """Return the end of the address of a page with this title."""
    kept = "".join(c for c in text.lower() if c.isalnum() or c in " -_")
    return "-".join(kept.split())[:50].strip("-")


@dataclass(slots=True)
class _Draft:
    forum: int
    title: str
    posts: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """User, text, and who likes it."""
    pinned: bool = False
    closed: bool = False
    members: tuple[str, ...] = ()


@cache
def forum_content() -> ForumContent:
    """Return the forum; it is the same in each call."""
    rng = random.Random(SEED)
    people = tuple(_people(rng))
    forums = tuple(
        Category(FIRST_FORUM + number, title, text)
        for number, (title, text) in enumerate([META, *((name, text) for name, (text, _) in FORUMS.items())])
    )
    users = [person.user for person in people]
    drafts = _drafts(rng, users)
    _reply(rng, users, drafts)
    _like(rng, users, drafts)
    drafts[300:300] = _notices()
    drafts += _letters(users)
    return ForumContent(DOMAIN, CONFIG, people, forums, tuple(_numbered(rng, drafts)))


def _people(rng: random.Random) -> Iterator[ForumMember]:
    pairs = [(first, last) for first in _FIRST for last in _LAST]
    yield ForumMember("keeper", "Una", "Keeper", CITIES[0], START.isoformat(), "keeper-pass", True)
    yield ForumMember(AGENT, "Iver", "Tolland", CITIES[3], START.isoformat(), PASSWORD)
    when = START
    for first, last in rng.sample(pairs, PEOPLE - 2):
        when += timedelta(hours=1)
        yield ForumMember(f"{first}_{last}".lower(), first, last, rng.choice(CITIES), when.isoformat())


def _drafts(rng: random.Random, users: list[str]) -> list[_Draft]:
    busy = [rng.paretovariate(1.3) for _ in users]
    places = [(number, title, thing, city)
              for number, (_, things) in enumerate(FORUMS.values(), start=FIRST_FORUM + 1)
              for title in _TITLES for thing in things for city in CITIES]  # fmt: skip
    drafts = []
    for number, title, thing, city in rng.sample(places, TOPICS - len(_NOTICES)):
        text = rng.choice(_OPENINGS).format(n=rng.randint(2, 40), city=city)
        who = AGENT if rng.random() < 0.008 else rng.choices(users, busy)[0]
        # One topic in twenty stands in a forum where nobody would look for it.
        forum = number if rng.random() > 0.05 else FIRST_FORUM + rng.randint(1, len(FORUMS))
        drafts.append(_Draft(forum, title.format(**_named(thing), city=city), [(who, text, [])]))
    return drafts


def _named(thing: str) -> dict[str, str]:
    article = "an" if thing[0] in "aeiou" else "a"
    return {"thing": thing, "a": article, "A": article.capitalize()}


def _reply(rng: random.Random, users: list[str], drafts: list[_Draft]) -> None:
    busy = [rng.paretovariate(1.3) for _ in users]
    things = {number: things for number, (_, things) in enumerate(FORUMS.values(), start=FIRST_FORUM + 1)}
    weights = [min(8.0, rng.paretovariate(1.2)) for _ in drafts]
    for draft in rng.choices(drafts, weights, k=REPLIES):
        thing = next((each for each in things[draft.forum] if each in draft.title), "thing")
        text = rng.choice(_REPLIES).format(n=rng.randint(2, 60), **_named(thing), other=rng.choice(CITIES))
        said = {text for _, text, _ in draft.posts}
        who = AGENT if rng.random() < 0.008 else rng.choices(users, busy)[0]
        draft.posts.append((who, text if text not in said else f"{text} Really.", []))


def _like(rng: random.Random, users: list[str], drafts: list[_Draft]) -> None:
    posts = [post for draft in drafts for post in draft.posts]
    weights = [min(20.0, rng.paretovariate(0.9)) for _ in posts]
    for user, _, likes in rng.choices(posts, weights, k=LIKES):
        fan = rng.choice(users)
        if fan != user and fan not in likes:
            likes.append(fan)


_NOTICES = (
    ("Rules of the Commons", "Be kind. Posts have at most 4 links. Adverts are taken down after 36 hours. Who is "
     "warned 5 times has to leave.", True),
    ("Meeting of the Commons in spring", "We meet on 14 May in Pellworth, in the reading room above the station. Bring "
     "cake.", False),
    ("New forum for weather", "You have asked for it for years. Edda Marsh looks after it.", False),
    ("Server moves in autumn", "The forum is silent for 7 hours on 2 October while it moves to Ostby.", True),
    ("Lost and found after the fair", "A red umbrella, a fiddle case and 3 left gloves wait at the station of Lindor.",
     False),
)  # fmt: skip


def _notices() -> list[_Draft]:
    return [_Draft(FIRST_FORUM, title, [("keeper", text, [])], pinned) for title, text, pinned in _NOTICES]


LETTERS = (
    ("Key for the boat shed", "The key hangs behind the third board. The lock is number 417."),
    ("Saturday", "We start at the station of Tarnholm at half past nine. Bring the long ladder."),
    ("Your old fiddle", "I would give 85 crowns for it, with the case."),
    ("Recipe for cider cake", "Two cups of flour, 6 eggs, one cup of cider. An hour in the oven."),
)
"""Title and text of private topics to the person who does the tasks."""


def _letters(users: list[str]) -> list[_Draft]:
    return [
        _Draft(1, title, [(user, text, [])], members=(AGENT, user))
        for (title, text), user in zip(LETTERS, users[10:], strict=False)
    ]


def _numbered(rng: random.Random, drafts: list[_Draft]) -> Iterator[Topic]:
    """Give numbers in the order of time. Who answers does so within nine days, and no two posts have the same time."""
    when, post_id = START + timedelta(days=14), 0
    for topic_id, draft in enumerate(drafts, start=1):
        when += timedelta(minutes=rng.randint(60, 900))
        then, posts = when, []
        for user, text, likes in draft.posts:
            post_id += 1
            posts.append(Post(post_id, user, text, then.isoformat(), tuple(sorted(likes))))
            then += timedelta(minutes=rng.randint(5, 1300), seconds=topic_id % 60)
        yield Topic(topic_id, draft.forum, draft.title, when.isoformat(), tuple(posts), draft.pinned, draft.closed,
                    draft.members)  # fmt: skip
