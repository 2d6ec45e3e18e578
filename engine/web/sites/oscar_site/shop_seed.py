"""Fills the shop with data: `python shop_seed.py`, with the settings' variables set. The data is always the same."""

from __future__ import annotations

import random
import secrets
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

SEED = 7770
CATEGORIES = {
    # name: (singular, lowest and highest price, words of the description)
    "Headphones": ("Headphones", 40, 260, "closed, light and quiet"),
    "Kettles": ("Kettle", 20, 90, "boils a litre in four minutes"),
    "Lamps": ("Lamp", 15, 140, "throws warm light on a desk"),
    "Backpacks": ("Backpack", 30, 180, "holds a laptop and lunch"),
    "Keyboards": ("Keyboard", 25, 210, "types softly, with a cable"),
    "Chairs": ("Chair", 60, 400, "made of ash, stacks four high"),
}
BRANDS = ("Bluefin", "Corvid", "Dunlin", "Eider", "Fulmar", "Gannet", "Heron", "Ibis")
CUSTOMERS = (
    ("anna.meyer@quayside.example", "Anna", "Meyer", "anna-pass"),
    ("ben.okoye@quayside.example", "Ben", "Okoye", "ben-pass"),
    ("clara.ruiz@quayside.example", "Clara", "Ruiz", "clara-pass"),
    ("david.kim@quayside.example", "David", "Kim", "david-pass"),
)
ADMIN = ("admin@quayside.example", "Ada", "Min", "admin-pass")
STATUSES = ("Pending",) * 13 + ("Being processed",) * 9 + ("Complete",) * 14 + ("Cancelled",) * 4
OPINIONS = {
    5: ("Excellent", "Better than anything I had before."),
    4: ("Good", "Does what it should, arrived quickly."),
    3: ("Fair", "All right for the price."),
    2: ("Poor", "It broke after two weeks."),
    1: ("Useless", "It never worked at all."),
}
START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)


def main() -> None:
    """Create the database and the search index."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from django.db import transaction

    rng = random.Random(SEED)
    with transaction.atomic():
        products = _products(rng)
        people = _people()
        _orders(rng, products, people)
        _reviews(rng, products, people)
    call_command("rebuild_index", interactive=False, verbosity=0)


def _products(rng: random.Random) -> list[Any]:
    from django.contrib.sites.models import Site
    from oscar.apps.catalogue.categories import create_from_breadcrumbs
    from oscar.core.loading import get_model

    Site.objects.update_or_create(id=1, defaults={"domain": "127.0.0.1", "name": "Quayside"})
    address = get_model("address", "Country")
    address.objects.create(
        iso_3166_1_a2="US", iso_3166_1_a3="USA", iso_3166_1_numeric="840", printable_name="United States",
        name="United States of America", is_shipping_country=True,
    )  # fmt: skip
    product_class = get_model("catalogue", "ProductClass").objects.create(
        name="Goods", requires_shipping=True, track_stock=True
    )
    partner = get_model("partner", "Partner").objects.create(name="Quayside Warehouse", code="quay")
    product_model, stock = get_model("catalogue", "Product"), get_model("partner", "StockRecord")
    products = []
    for row, (category, (single, low, high, words)) in enumerate(CATEGORIES.items()):
        node = create_from_breadcrumbs(category)
        for column, brand in enumerate(BRANDS):
            number = 100 + 10 * column + row
            product = product_model.objects.create(
                structure="standalone", product_class=product_class, title=f"{brand} {single} {number}",
                upc=f"Q{number}", description=f"The {brand} {number} {words}.",
            )  # fmt: skip
            product.categories.add(node)
            cents = rng.randint(low * 100, high * 100)
            stock.objects.create(
                product=product, partner=partner, partner_sku=f"W-{number}", price_currency="USD",
                price=Decimal(cents) / 100, num_in_stock=rng.choice((0, 3, 12, 25, 40)), low_stock_threshold=5,
            )  # fmt: skip
            products.append(product)
    return products


def _people() -> list[Any]:
    from django.contrib.auth import get_user_model

    user = get_user_model()
    people = [
        user.objects.create_user(email.partition("@")[0], email, password, first_name=first, last_name=last)
        for email, first, last, password in CUSTOMERS
    ]
    email, first, last, password = ADMIN
    user.objects.create_superuser("admin", email, password, first_name=first, last_name=last)
    return people


def _orders(rng: random.Random, products: list[Any], people: list[Any]) -> None:
    from oscar.apps.checkout.calculators import OrderTotalCalculator
    from oscar.apps.order.utils import OrderCreator
    from oscar.apps.partner.strategy import Default
    from oscar.apps.shipping.methods import Free
    from oscar.core.loading import get_model

    basket_model, country = get_model("basket", "Basket"), get_model("address", "Country").objects.get()
    address = get_model("order", "ShippingAddress")
    statuses = rng.sample(STATUSES, len(STATUSES))
    when = START
    for number, status in enumerate(statuses, start=10001):
        person = rng.choices(people, weights=(3, 6, 2, 4))[0]
        basket = basket_model.objects.create(owner=person)
        basket.strategy = Default()
        available = [p for p in products if p.stockrecords.get().net_stock_level >= 3]
        for product in rng.sample(available, rng.randint(1, 3)):
            basket.add_product(product, rng.randint(1, 2))
        charge = Free().calculate(basket)
        when += timedelta(hours=rng.randint(20, 160))
        where = address.objects.create(
            first_name=person.first_name, last_name=person.last_name, line1=f"{rng.randint(1, 99)} Pier Street",
            line4=rng.choice(("Portland", "Duluth", "Mobile", "Astoria")), state="", postcode="04101", country=country,
        )  # fmt: skip
        OrderCreator().place_order(
            basket, OrderTotalCalculator().calculate(basket, charge), Free(), charge, user=person,
            shipping_address=where, order_number=str(number), status=status, date_placed=when,
        )  # fmt: skip
        basket.submit()


def _reviews(rng: random.Random, products: list[Any], people: list[Any]) -> None:
    from oscar.core.loading import get_model

    review = get_model("reviews", "ProductReview")
    pairs = [(product, person) for product in products for person in people]
    when = START
    for number, (product, person) in enumerate(rng.sample(pairs, 60)):
        score = rng.choices((5, 4, 3, 2, 1), weights=(6, 6, 3, 3, 2))[0]
        title, body = OPINIONS[score]
        # Every tenth review waits for moderation.
        made = review.objects.create(
            product=product, user=person, score=score, title=f"{title}, {product.title}", body=body,
            status=review.FOR_MODERATION if number % 10 == 9 else review.APPROVED,
        )  # fmt: skip
        when += timedelta(hours=rng.randint(10, 60))
        review.objects.filter(pk=made.pk).update(date_created=when)
    for product in products:
        product.update_rating()


def secret(folder: Path) -> None:
    """Write the key that signs sessions; each build has its own."""
    (folder / "secret").write_text(secrets.token_hex(32))


if __name__ == "__main__":
    import os

    folder = Path(os.environ["JITRL_SHOP_DATA"])
    secret(folder)
    (folder / "media").mkdir(exist_ok=True)
    # Django serves the picture for products without one from the media folder.
    import oscar

    picture = Path(oscar.__path__[0]) / "static/oscar/img/image_not_found.jpg"
    (folder / "media" / picture.name).write_bytes(picture.read_bytes())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop_settings")
    main()
