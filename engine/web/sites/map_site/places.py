"""Places of interest in the houses of a town, with names, opening hours and telephone numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.web.sites import encyclopedia_data as facts
from engine.web.sites.map_site.extract import Extract, Point

PER_LOT = 7
"""One lot of so many has a place of interest."""
PARKS = (
    "Acorn", "Bramble", "Bandstand", "Coronation", "Deer", "Founders", "Heath", "Jubilee", "Lilac", "Mayor's",
    "Nightingale", "Pond", "Rampart", "Sundial", "Windmill", "Wishing",
)  # fmt: skip
SURNAMES = (
    "Marn", "Vell", "Hadley", "Storr", "Pike", "Brandt", "Winde", "Oram", "Quill", "Reeve", "Lisle", "Thane",
    "Abend", "Corrin", "Dray", "Ettrick", "Fallow", "Garrow", "Hollis", "Ingle", "Jessop", "Kerrow", "Lund",
    "Moray", "Nettle", "Osgood", "Penn", "Rusk", "Selby", "Tolland", "Umber", "Varley", "Wick", "Yarrow",
)  # fmt: skip
WORDS = (
    "Amber", "Blue", "Brass", "Copper", "Crooked", "Drowsy", "Early", "Golden", "Grey", "Hidden", "Honest", "Idle",
    "Jolly", "Little", "Lucky", "Merry", "Narrow", "Old", "Patient", "Quiet", "Red", "Silver", "Sleepy", "Tall",
    "Velvet", "White",
)  # fmt: skip
THINGS = (
    "Anchor", "Badger", "Barrel", "Boat", "Clock", "Compass", "Cormorant", "Fiddle", "Fox", "Gull", "Hare", "Heron",
    "Kettle", "Lamp", "Lantern", "Loom", "Miller", "Oar", "Otter", "Owl", "Pear", "Plough", "Spoon", "Swan",
    "Teapot", "Wheel",
)  # fmt: skip
CUISINES = ("fish", "italian", "vegetarian", "regional", "noodles", "pancakes", "grill", "soup", "pizza", "indian")

Naming = Callable[[random.Random, str], str]


@dataclass(frozen=True, slots=True)
class Lot:
    """Where a house is, and its address as tags."""

    place: Point
    address: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of place.

    Attributes:
        key: Its tag, such as "amenity=cafe".
        weight: How many there are, as a share.
        name: Makes a name from random numbers and the town's name.
        hours: Opening hours to choose from.
        extra: Further tags, with values to choose from.
        once: Whether a town has exactly one, or a few if it is large.
    """

    key: str
    weight: float
    name: Naming
    hours: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] | None = None
    once: bool = False


def _sign(kind: str = "") -> Naming:
    """Names such as "The Merry Otter"."""
    return lambda rng, town: " ".join(f"{kind} {rng.choice(WORDS)} {rng.choice(THINGS)}".split())


def _owner(kind: str) -> Naming:
    return lambda rng, town: f"{rng.choice(SURNAMES)}'s {kind}"


def _of_town(kind: str) -> Naming:
    return lambda rng, town: f"{town} {kind}"


def _thing(kind: str) -> Naming:
    return lambda rng, town: f"{rng.choice(THINGS)} {kind}"


_OFFICE = ("Mo-Fr 08:00-16:00", "Mo-Fr 09:00-17:00", "Mo-Th 08:30-16:30; Fr 08:30-13:00")
_SHOP = ("Mo-Sa 08:00-20:00", "Mo-Fr 09:00-18:00; Sa 09:00-14:00", "Mo-Fr 08:30-18:30; Sa 10:00-16:00")
_EVENING = ("Tu-Su 11:30-22:00", "Mo-Su 12:00-23:00", "We-Su 17:00-23:00", "Mo-Sa 11:00-21:30")
_MORNING = ("Mo-Sa 06:30-18:00", "Mo-Su 07:00-19:00", "Tu-Su 08:00-17:30", "Mo-Fr 06:00-15:00")
_FOOD = {"cuisine": CUISINES, "outdoor_seating": ("yes", "no"), "wheelchair": ("yes", "no", "limited")}
_ACCESS = {"wheelchair": ("yes", "no", "limited")}
SORTS = (
    Sort("amenity=cafe", 10, _sign("Cafe"), _MORNING, {**_ACCESS, "outdoor_seating": ("yes", "no")}),
    Sort("amenity=restaurant", 12, _sign("The"), _EVENING, _FOOD),
    Sort("amenity=fast_food", 5, _owner("Kitchen"), _EVENING, _FOOD),
    Sort("amenity=pub", 6, lambda rng, town: f"{rng.choice(THINGS)} and {rng.choice(THINGS)}", _EVENING, _ACCESS),
    Sort("amenity=pharmacy", 4, _thing("Pharmacy"), _SHOP, _ACCESS),
    Sort("amenity=bank", 3, lambda rng, town: f"{rng.choice(SURNAMES)} and {rng.choice(SURNAMES)} Bank", _OFFICE,
         {"atm": ("yes", "no")}),
    Sort("amenity=doctors", 4, lambda rng, town: f"Dr {rng.choice(SURNAMES)}", _OFFICE, _ACCESS),
    Sort("amenity=dentist", 3, lambda rng, town: f"{rng.choice(SURNAMES)} Dental Practice", _OFFICE, _ACCESS),
    Sort("amenity=school", 3, lambda rng, town: f"{rng.choice(SURNAMES)} School"),
    Sort("amenity=kindergarten", 2, _thing("Kindergarten")),
    Sort("amenity=fuel", 2, _thing("Filling Station"), ("24/7", "Mo-Su 06:00-23:00")),
    Sort("amenity=parking", 3, _thing("Car Park"), (), {"fee": ("yes", "no"), "capacity": ("40", "80", "120", "260")}),
    Sort("amenity=place_of_worship", 2, lambda rng, town: f"{rng.choice(WORDS)} Chapel"),
    Sort("tourism=hotel", 4, _sign("Hotel"), (), {**_ACCESS, "stars": ("2", "3", "4", "5"),
         "rooms": ("14", "22", "36", "58", "90")}),
    Sort("tourism=guest_house", 2, _owner("Guest House"), (), {"rooms": ("4", "6", "9")}),
    Sort("tourism=museum", 2, lambda rng, town: f"Museum of the {rng.choice(facts.THINGS).title()}",
         ("Tu-Su 10:00-17:00", "We-Su 11:00-18:00", "Tu-Sa 09:30-16:30"), {**_ACCESS, "fee": ("yes", "no")}),
    Sort("tourism=gallery", 1, _owner("Gallery"), ("We-Su 12:00-18:00",)),
    Sort("shop=supermarket", 5, lambda rng, town: f"{rng.choice(('Larder', 'Basketful', 'Corner Barrow'))} "
         f"{rng.choice(WORDS)}", _SHOP, _ACCESS),
    Sort("shop=bakery", 5, _owner("Bakery"), _MORNING),
    Sort("shop=books", 2, _sign("Books at the"), _SHOP),
    Sort("shop=bicycle", 2, _owner("Bicycles"), _SHOP),
    Sort("shop=clothes", 3, _owner("Clothes"), _SHOP),
    Sort("shop=hairdresser", 4, _owner("Scissors"), _SHOP),
    Sort("shop=florist", 2, _owner("Flowers"), _SHOP),
    Sort("shop=hardware", 2, _owner("Hardware"), _SHOP),
    Sort("amenity=townhall", 1, _of_town("Town Hall"), _OFFICE, once=True),
    Sort("amenity=library", 1, _of_town("Library"), ("Tu-Sa 10:00-18:00",), _ACCESS, once=True),
    Sort("amenity=hospital", 1, _of_town("Hospital"), ("24/7",), once=True),
    Sort("amenity=police", 1, _of_town("Police Station"), ("24/7",), once=True),
    Sort("amenity=fire_station", 1, _of_town("Fire Station"), once=True),
    Sort("amenity=post_office", 1, _of_town("Post Office"), _OFFICE, once=True),
    Sort("amenity=theatre", 1, _of_town("Theatre"), once=True),
    Sort("amenity=cinema", 1, _of_town("Cinema"), once=True),
    Sort("tourism=information", 1, _of_town("Tourist Information"), _SHOP, once=True),
    Sort("leisure=sports_centre", 1, _of_town("Swimming Pool"), ("Mo-Su 07:00-21:00",), once=True),
)  # fmt: skip
STATION = Sort("railway=station", 0, _of_town("Station"), once=True)


def fill(
    extract: Extract, rng: random.Random, town: str, number: int, lots: list[Lot], station: Lot | None
) -> int:
    """Add all lots of a town: houses with an address, and places of interest; return the node of the station."""
    once = [sort for sort in SORTS if sort.once]
    rest = [sort for sort in SORTS if not sort.once]
    count = max(len(lots) // PER_LOT, len(once) + 40)
    sorts = once + rng.choices(rest, [sort.weight for sort in rest], k=count - len(once))
    free = [lot for lot in lots if lot is not station]
    chosen = dict(zip(map(id, rng.sample(free, len(sorts))), sorts, strict=True))
    names: set[str] = set()
    phones: set[str] = set()
    found = 0
    for lot in lots:
        sort = STATION if lot is station else chosen.get(id(lot))
        tags = _tags(rng, sort, town, number, names, phones) if sort else {"building": "house"}
        node = extract.node(lot.place, {**tags, **lot.address})
        if lot is station:
            found = node
    return found


def _tags(
    rng: random.Random, sort: Sort, town: str, number: int, names: set[str], phones: set[str]
) -> dict[str, str]:
    key, _, value = sort.key.partition("=")
    name = sort.name(rng, town)
    while name in names:
        name = sort.name(rng, town)
    names.add(name)
    phone = ""
    while not phone or phone in phones:
        phone = f"+999 {number + 20} {rng.randint(100, 999)} {rng.randint(100, 999)}"
    phones.add(phone)
    tags = {key: value, "name": name}
    if sort.hours:
        tags["opening_hours"] = rng.choice(sort.hours)
    if sort.key not in ("amenity=parking", "amenity=place_of_worship"):
        tags["phone"] = phone
    if sort.extra:
        tags |= {extra: rng.choice(values) for extra, values in sort.extra.items()}
    return tags
