"""Data of the shop: goods, customers, orders and reviews of the invented country Varland.

Everything is made from a fixed seed, so ids, names, prices and dates are always the same. This module needs neither
Django nor anything of this project: the shop's seed writes what it makes, and tasks are derived from it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

SEED = 7770
COUNTRY = "Varland"
PRODUCTS, PEOPLE, ORDERS, REVIEWS = 1500, 400, 800, 6000
FIRST_ORDER, LAST_FIRST_ORDER = 10001, 10040
THRESHOLD = 5
"""A product with fewer pieces than this has a stock alert."""

CATEGORIES = {
    # path: (singular, lowest and highest price, words of the description)
    "Headphones": ("Headphones", 40, 260, "closed, light and quiet"),
    "Kettles": ("Kettle", 20, 90, "boils a litre in four minutes"),
    "Lamps": ("Lamp", 15, 140, "throws warm light on a desk"),
    "Backpacks": ("Backpack", 30, 180, "holds a laptop and lunch"),
    "Keyboards": ("Keyboard", 25, 210, "types softly, with a cable"),
    "Chairs": ("Chair", 60, 400, "made of ash, stacks four high"),
    "Kitchen > Teapots": ("Teapot", 14, 85, "pours without a drop on the cloth"),
    "Kitchen > Knives": ("Bread Knife", 9, 120, "cuts a crust without crumbs"),
    "Kitchen > Pans": ("Frying Pan", 18, 140, "heats evenly up to the rim"),
    "Kitchen > Scales": ("Kitchen Scale", 12, 70, "weighs up to five kilograms"),
    "Kitchen > Mugs": ("Mug", 5, 32, "keeps its handle cool"),
    "Garden > Watering Cans": ("Watering Can", 8, 65, "reaches the back row of pots"),
    "Garden > Spades": ("Spade", 16, 90, "goes through clay"),
    "Garden > Bird Feeders": ("Bird Feeder", 7, 55, "keeps squirrels out"),
    "Garden > Lanterns": ("Lantern", 10, 95, "burns on through wind and rain"),
    "Garden > Hammocks": ("Hammock", 25, 160, "carries two grown people"),
    "Office > Notebooks": ("Notebook", 3, 28, "has two hundred numbered pages"),
    "Office > Desk Clocks": ("Desk Clock", 12, 110, "ticks so softly that nobody hears it"),
    "Office > Staplers": ("Stapler", 5, 45, "takes thirty sheets at once"),
    "Office > Fountain Pens": ("Fountain Pen", 11, 190, "writes thin lines and never leaks"),
    "Outdoors > Tents": ("Tent", 70, 420, "stands in ten minutes"),
    "Outdoors > Flasks": ("Flask", 9, 60, "keeps tea hot for twelve hours"),
    "Outdoors > Compasses": ("Compass", 8, 85, "settles in two seconds"),
    "Outdoors > Sleeping Bags": ("Sleeping Bag", 35, 260, "is warm down to minus five degrees"),
    "Outdoors > Head Torches": ("Head Torch", 10, 90, "shines eighty metres far"),
    "Bathroom > Towels": ("Towel", 6, 48, "dries quickly on the rail"),
    "Bathroom > Mirrors": ("Mirror", 15, 170, "does not mist over"),
    "Bathroom > Soap Dishes": ("Soap Dish", 4, 30, "drains to one side"),
    "Bedroom > Blankets": ("Blanket", 18, 150, "is soft from the first night on"),
    "Bedroom > Pillows": ("Pillow", 12, 95, "keeps its shape until morning"),
    "Bedroom > Alarm Clocks": ("Alarm Clock", 9, 75, "wakes gently, then less gently"),
    "Tools > Hammers": ("Hammer", 9, 60, "lies well in the hand"),
    "Tools > Screwdrivers": ("Screwdriver Set", 10, 80, "has a tip for every screw of the house"),
    "Tools > Saws": ("Saw", 12, 85, "stays sharp for years"),
    "Toys > Kites": ("Kite", 8, 70, "flies in the lightest breeze"),
    "Toys > Puzzles": ("Puzzle", 6, 45, "has a thousand pieces and a poster"),
    "Toys > Wooden Trains": ("Wooden Train", 11, 120, "runs on all usual tracks"),
}
OLD = 6
"""How many of the categories have products of the first brands, and stand at the top."""
BRANDS = ("Bluefin", "Corvid", "Dunlin", "Eider", "Fulmar", "Gannet", "Heron", "Ibis")
MAKERS = (
    "Aldgate", "Birchwood", "Calder", "Drummond", "Elmer", "Foxglove", "Greyling", "Hartwell", "Inkpen", "Juniper",
    "Kittiwake", "Larkspur", "Millrace", "Nightjar", "Osprey", "Petrel", "Quill & Sons", "Redwing", "Sandpiper",
    "Thornbury", "Umber", "Vane", "Whimbrel", "Yewtree",
)  # fmt: skip
SERIES = (
    "Anchor", "Bramble", "Cove", "Drift", "Ember", "Fjord", "Grove", "Haven", "Islet", "Jetty", "Keel", "Ledge",
    "Meadow", "Northlight", "Orchard", "Pebble", "Quarry", "Reed", "Slate", "Tide", "Upland", "Valley", "Willow",
)  # fmt: skip
COLOURS = (
    "black", "white", "red", "green", "navy", "sand", "copper", "grey", "yellow", "plum", "teal", "ivory",
)  # fmt: skip
MATERIALS = (
    "ash wood", "steel", "aluminium", "stoneware", "linen", "wool", "bamboo", "brass", "recycled plastic", "cotton",
    "glass", "cork",
)  # fmt: skip
CARES = (
    "Wipe it with a damp cloth.", "Keep it dry.", "It may go into the dishwasher.", "Oil it once a year.",
    "Wash it by hand.", "Do not leave it in the sun.",
)  # fmt: skip
CUSTOMERS = (
    ("anna.meyer@quayside.example", "Anna", "Meyer", "anna-pass"),
    ("ben.okoye@quayside.example", "Ben", "Okoye", "ben-pass"),
    ("clara.ruiz@quayside.example", "Clara", "Ruiz", "clara-pass"),
    ("david.kim@quayside.example", "David", "Kim", "david-pass"),
)
FIRST_NAMES = (
    "Ada", "Aldo", "Beata", "Bram", "Carina", "Cosmo", "Dagny", "Dario", "Edda", "Elias", "Fenja", "Frode", "Greta",
    "Gustav", "Hedda", "Henrik", "Ida", "Ivo", "Jana", "Joris", "Karla", "Kaspar", "Linnea", "Ludo", "Maren", "Milan",
    "Nele", "Nils", "Odile", "Otto", "Pia", "Piet", "Rosa", "Rune", "Selma", "Stellan", "Tove", "Timo", "Ulla", "Viggo",
)  # fmt: skip
LAST_NAMES = (
    "Abram", "Brandt", "Carver", "Dahl", "Ekman", "Falk", "Garvey", "Holt", "Ibsen", "Janssen", "Keller", "Lisle",
    "Marn", "Norr", "Oram", "Pike", "Quill", "Reeve", "Storr", "Thane", "Ulver", "Vell", "Winde", "Yarrow", "Zell",
)  # fmt: skip
CITIES = (
    "Arlow", "Belmere", "Cawdon", "Dunhaven", "Estrick", "Farrow", "Glenmoor", "Harwick", "Ivelstead", "Jorvale",
    "Kestrel Bay", "Lindor", "Marwen", "Norrick", "Ostby", "Pellworth", "Quarrow", "Rensford", "Saltmere", "Tarnholm",
)  # fmt: skip
STREETS = (
    "Harbour Road", "Mill Lane", "Station Street", "Church Hill", "Market Square", "Orchard Row", "Bridge Street",
    "Quay Walk", "Linden Avenue", "Fell Road", "Castle Street", "Ropewalk",
)  # fmt: skip
STATUSES = ("Pending",) * 13 + ("Being processed",) * 9 + ("Complete",) * 14 + ("Cancelled",) * 4
OPINIONS = {
    5: ("Excellent", "Better than anything I had before."),
    4: ("Good", "Does what it should, arrived quickly."),
    3: ("Fair", "All right for the price."),
    2: ("Poor", "It broke after two weeks."),
    1: ("Useless", "It never worked at all."),
}
TITLES = {
    5: ("Delighted", "Would buy again", "Best of its kind", "A small wonder", "Worth every coin"),
    4: ("Happy with it", "Solid", "Well made", "Nearly perfect", "A good buy"),
    3: ("It will do", "Mixed feelings", "Neither good nor bad", "Average", "Has its limits"),
    2: ("Not convinced", "Expected more", "A let-down", "Second choice", "Disappointing"),
    1: ("Never again", "Sent it back", "A waste of money", "Broken on arrival", "Keep away"),
}
REMARKS = {
    # What people mention: what those say who like it, and those who do not.
    "parcel": ("The parcel came a day early.", "The parcel was torn open when it came."),
    "handle": ("The handle is made for large hands.", "The handle came loose after a week."),
    "smell": ("It has a pleasant smell of fresh wood.", "There is a smell of paint that does not go away."),
    "gift": ("I bought it as a gift for my sister, who loves it.", "As a gift it was embarrassing."),
    "scratch": ("After a year there is not one scratch on it.", "There was a scratch right across it."),
    "manual": ("The manual is short and clear.", "The manual is a puzzle of its own."),
    "colour": (
        "The colour is even nicer than in the picture.",
        "The colour has nothing to do with the picture.",
    ),
    "neighbours": ("The neighbours have ordered one, too.", "The neighbours have complained about it."),
    "guarantee": (
        "The guarantee was honoured without a question.",
        "Nobody wanted to hear of the guarantee.",
    ),
    "weight": ("Its weight makes it stand firmly.", "Its weight is twice what I expected."),
    "cat": ("The cat sleeps beside it.", "The cat has knocked it over twice."),
    "rust": ("No rust so far, and it is out in the rain.", "There is rust on it after the first rain."),
}
OFFERS = {"Ten per cent off": 10, "A quarter off": 25}
PAGES = {
    "/delivery/": ("Delivery", "Parcels leave the warehouse in Saltmere within two working days."),
    "/returns/": ("Returns", "Goods may be sent back within thirty days, with the bill."),
    "/about/": ("About Quayside", "We have sold things for the house since 1987."),
}
START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
ORDERS_FROM = datetime(2024, 10, 1, 8, 0, tzinfo=UTC)
ORDERS_DAYS = 728


@dataclass(slots=True)
class Product:
    """One product; `id` counts from 1 as the database does."""

    id: int
    title: str
    upc: str
    sku: str
    description: str
    category: str
    brand: str
    cents: int
    stock: int
    allocated: int = 0

    @property
    def left(self) -> int:
        """Pieces in stock that are not set aside for orders."""
        return self.stock - self.allocated


@dataclass(slots=True)
class Address:
    """Where somebody lives."""

    line1: str
    city: str
    postcode: str


@dataclass(slots=True)
class Customer:
    """One customer."""

    id: int
    email: str
    first: str
    last: str
    password: str
    joined: datetime
    address: Address

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"


@dataclass(slots=True)
class ShopOrder:
    """One order: products and how many of each."""

    number: int
    person: Customer
    status: str
    placed: datetime
    address: Address
    lines: list[tuple[Product, int]]

    @property
    def cents(self) -> int:
        """Its total."""
        return sum(product.cents * quantity for product, quantity in self.lines)


@dataclass(slots=True)
class Review:
    """One review; it waits for moderation unless it is approved."""

    id: int
    product: Product
    person: Customer
    score: int
    title: str
    body: str
    approved: bool
    written: datetime


@dataclass(slots=True)
class ShopData:
    """All data of the shop."""

    products: list[Product] = field(default_factory=list)
    people: list[Customer] = field(default_factory=list)
    orders: list[ShopOrder] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)


def make() -> ShopData:
    """Return the data, the same at each call.

    The first 48 products, 4 customers, 40 orders and 60 reviews are those of the shop's first version.
    """
    rng, shop = random.Random(SEED), ShopData()
    shop.products = _first_products(rng)
    shop.people = [
        Customer(number, *known, START, Address(f"{number} Pier Street", "Saltmere", "4101"))
        for number, known in enumerate(CUSTOMERS, start=1)
    ]
    first = list(shop.people)
    shop.orders = _first_orders(rng, shop.products, first)
    shop.reviews = _first_reviews(rng, shop.products, first)
    rng = random.Random(SEED + 1)
    goods = list(_products(rng))
    shop.people += _people(rng)
    shop.orders += _orders(rng, goods, shop.people)
    shop.reviews += _reviews(rng, goods, shop.people)
    shop.products += goods
    return shop


def _first_products(rng: random.Random) -> list[Product]:
    made: list[Product] = []
    for row, (category, (single, low, high, words)) in enumerate([*CATEGORIES.items()][:OLD]):
        for column, brand in enumerate(BRANDS):
            number = 100 + 10 * column + row
            cents = rng.randint(low * 100, high * 100)
            made.append(Product(
                len(made) + 1, f"{brand} {single} {number}", f"Q{number}", f"W-{number}",
                f"The {brand} {number} {words}.", category, brand, cents, rng.choice((0, 3, 12, 25, 40)),
            ))  # fmt: skip
    return made


def _first_orders(rng: random.Random, products: Sequence[Product], people: Sequence[Customer]) -> list[ShopOrder]:
    made: list[ShopOrder] = []
    when = START
    for number, status in enumerate(rng.sample(STATUSES, len(STATUSES)), start=FIRST_ORDER):
        person = rng.choices(people, weights=(3, 6, 2, 4))[0]
        chosen = rng.sample([each for each in products if each.left >= 3], rng.randint(1, 3))
        lines = [(product, rng.randint(1, 2)) for product in chosen]
        when += timedelta(hours=rng.randint(20, 160))
        house, city = rng.randint(1, 99), rng.choice(("Saltmere", "Ashport", "Lindor", "Ostby"))
        for product, quantity in lines:
            product.allocated += quantity
        made.append(ShopOrder(number, person, status, when, Address(f"{house} Pier Street", city, "4101"), lines))
    return made


def _first_reviews(rng: random.Random, products: Sequence[Product], people: Sequence[Customer]) -> list[Review]:
    made: list[Review] = []
    when = START
    pairs = [(product, person) for product in products for person in people]
    for number, (product, person) in enumerate(rng.sample(pairs, 60)):
        score = rng.choices((5, 4, 3, 2, 1), weights=(6, 6, 3, 3, 2))[0]
        title, body = OPINIONS[score]
        when += timedelta(hours=rng.randint(10, 60))
        # Every tenth review waits for moderation.
        made.append(
            Review(
                number + 1, product, person, score, f"{title}, {product.title}", body, number % 10 != 9, when
            )
        )
    return made


def _products(rng: random.Random) -> Iterable[Product]:
    paths, seen = list(CATEGORIES), set()
    number = len(BRANDS) * OLD
    while number < PRODUCTS:
        category = paths[number % len(paths)]
        single, low, high, words = CATEGORIES[category]
        brand, series, colour = rng.choice(MAKERS), rng.choice(SERIES), rng.choice(COLOURS)
        title = f"{brand} {series} {single}"
        if title in seen:
            continue
        seen.add(title)
        number += 1
        # Cheap ones are more frequent than dear ones, and prices end as shops like them to.
        cents = round(rng.triangular(low, high, low + (high - low) / 4)) * 100 - rng.choice((1, 5, 10, 50))
        text = (
            f"The {title} {words}. It is made of {rng.choice(MATERIALS)}, comes in {colour} and weighs "
            f"{rng.randint(8, 240) * 10} g. {rng.choice(CARES)} It has a guarantee of {rng.choice((1, 2, 3, 5))} years."
        ).replace("of 1 years", "of 1 year")
        stock = rng.choices((0, 2, 4, 8, 15, 30, 60, 120), weights=(4, 2, 3, 8, 20, 30, 20, 8))[0]
        yield Product(
            number, title, f"Q{number + 1000}", f"W-{number + 1000}", text, category, brand, cents, stock
        )


def _address(rng: random.Random) -> Address:
    city = rng.choice(CITIES)
    house, street = rng.randint(1, 140), rng.choice(STREETS)
    return Address(f"{house} {street}", city, str(1000 + 100 * CITIES.index(city) + rng.randint(0, 60)))


def _people(rng: random.Random) -> list[Customer]:
    names = rng.sample(
        [(first, last) for first in FIRST_NAMES for last in LAST_NAMES], PEOPLE - len(CUSTOMERS)
    )
    return [
        Customer(
            number, f"{first}.{last}@varland.example".lower(), first, last, f"{first}-pass".lower(),
            ORDERS_FROM + timedelta(minutes=rng.randrange(700 * 1440)), _address(rng),
        )
        for number, (first, last) in enumerate(names, start=len(CUSTOMERS) + 1)
    ]  # fmt: skip


def _orders(rng: random.Random, products: Sequence[Product], people: Sequence[Customer]) -> list[ShopOrder]:
    made: list[ShopOrder] = []
    count = ORDERS - len(STATUSES)
    weights = [30.0, 2.0, 2.0, 2.0, *(rng.paretovariate(1.6) for _ in people[4:])]
    moments = sorted(rng.sample(range(ORDERS_DAYS * 1440), count))
    for row, minute in enumerate(moments):
        person = rng.choices(people, weights)[0]
        late = row >= count - 90  # the last ones are not all on their way yet
        status = rng.choices(
            ("Pending", "Being processed", "Complete", "Cancelled"), (4, 3, 2, 1) if late else (0, 0, 9, 1)
        )[0]
        there = [each for each in products if each.left >= 3]
        chosen = rng.sample(there, rng.choices((1, 2, 3, 4, 5), (6, 5, 3, 2, 1))[0])
        lines = [(product, rng.choices((1, 2, 3), (6, 2, 1))[0]) for product in chosen]
        if status in ("Pending", "Being processed"):
            for product, quantity in lines:
                product.allocated += quantity
        where = person.address if rng.random() < 0.85 else _address(rng)
        number = FIRST_ORDER + len(STATUSES) + row
        made.append(ShopOrder(number, person, status, ORDERS_FROM + timedelta(minutes=minute), where, lines))
    return made


def _reviews(rng: random.Random, products: Sequence[Product], people: Sequence[Customer]) -> list[Review]:
    made: list[Review] = []
    taken: set[tuple[int, int]] = set()
    fame = [rng.paretovariate(1.2) for _ in products]
    liking = [rng.gauss(0, 0.8) for _ in products]
    count = REVIEWS - 60
    minutes = sorted(rng.sample(range(ORDERS_DAYS * 1440), count))
    rows = {product.id: row for row, product in enumerate(products)}
    while len(made) < count:
        product, person = rng.choices(products, fame)[0], rng.choice(people)
        if (product.id, person.id) in taken:
            continue
        taken.add((product.id, person.id))
        score = min(5, max(1, round(rng.gauss(3.7 + liking[rows[product.id]], 1.1))))
        topics = rng.sample(list(REMARKS), rng.choices((1, 2, 3), (5, 4, 2))[0])
        body = " ".join(REMARKS[topic][score + rng.choice((-1, 0, 0, 1)) < 3] for topic in topics)
        written = ORDERS_FROM + timedelta(minutes=minutes[len(made)])
        made.append(Review(
            60 + len(made) + 1, product, person, score, rng.choice(TITLES[score]), body,
            len(made) < count - 300 or rng.random() > 0.12, written,
        ))  # fmt: skip
    return made
