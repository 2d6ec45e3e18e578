"""Fills the shop with data: `python shop_seed.py`, with the settings' variables set. The data is always the same.

Rows are written in bulk, as Oscar's own way of placing an order would take minutes. What Oscar derives from them is
written, too: ratings, stock alerts, and the counts of its reports.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import shop_data as data

ADMIN = ("admin@quayside.example", "Ada", "Min", "admin-pass")


def main() -> None:
    """Create the database and the search index."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from django.db import transaction

    shop = data.make()
    with transaction.atomic():
        country = _country()
        _products(shop.products)
        _people(shop.people, country)
        _orders(shop, country)
        _reviews(shop.reviews)
        _reports(shop)
        _offers()
        _pages()
    _index()


def _index() -> None:
    """Write the search index at once; `rebuild_index` looks for an older text of each product first."""
    from haystack import connections

    connection: Any = connections["default"]
    backend, product = connection.get_backend(), _model("catalogue", "Product")
    backend.clear()
    pages = connection.get_unified_index().get_index(product)
    writer = backend.index.writer(limitmb=256)
    for each in pages.index_queryset().order_by("pk"):
        text = {name: backend._from_python(value) for name, value in pages.full_prepare(each).items()}
        text.pop("boost", None)
        writer.add_document(**text)
    writer.commit()


def _model(app: str, name: str) -> Callable[..., Any]:
    from oscar.core.loading import get_model

    found: Callable[..., Any] = get_model(app, name)
    return found


def _store(model: Any, rows: Iterable[Any]) -> None:
    model.objects.bulk_create(rows, batch_size=500)


def _money(cents: int) -> Decimal:
    return Decimal(cents) / 100


def _country() -> Any:
    from django.contrib.sites.models import Site

    Site.objects.update_or_create(id=1, defaults={"domain": "127.0.0.1", "name": "Quayside"})
    country: Any = _model("address", "Country")
    return country.objects.create(
        iso_3166_1_a2="XV", iso_3166_1_a3="XVL", iso_3166_1_numeric="999", printable_name=data.COUNTRY,
        name=data.COUNTRY, is_shipping_country=True,
    )  # fmt: skip


def _products(products: Sequence[data.Product]) -> None:
    from django.utils.text import slugify
    from oscar.apps.catalogue.categories import create_from_breadcrumbs

    kinds: Any = _model("catalogue", "ProductClass")
    kind = kinds.objects.create(name="Goods", requires_shipping=True, track_stock=True)
    partners: Any = _model("partner", "Partner")
    partner = partners.objects.create(name="Quayside Warehouse", code="quay")
    nodes = {path: create_from_breadcrumbs(path).pk for path in data.CATEGORIES}
    product, shelf = _model("catalogue", "Product"), _model("catalogue", "ProductCategory")
    record, alert = _model("partner", "StockRecord"), _model("partner", "StockAlert")
    _store(product, (
        product(
            id=each.id, structure="standalone", product_class=kind, title=each.title, slug=slugify(each.title),
            upc=each.upc, description=each.description,
        )
        for each in products
    ))  # fmt: skip
    _store(shelf, (shelf(product_id=each.id, category_id=nodes[each.category]) for each in products))
    _store(record, (
        record(
            id=each.id, product_id=each.id, partner=partner, partner_sku=each.sku, price_currency="USD",
            price=_money(each.cents), num_in_stock=each.stock, num_allocated=each.allocated,
            low_stock_threshold=data.THRESHOLD,
        )
        for each in products
    ))  # fmt: skip
    scarce = [each for each in products if each.left < data.THRESHOLD]
    _store(alert, (alert(stockrecord_id=each.id, threshold=data.THRESHOLD) for each in scarce))


def _people(people: Sequence[data.Person], country: Any) -> None:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.hashers import make_password

    user: Any = get_user_model()
    _store(user, (
        user(
            id=each.id, username=each.email.partition("@")[0], email=each.email, first_name=each.first,
            last_name=each.last, password=make_password(each.password), date_joined=each.joined,
        )
        for each in people
    ))  # fmt: skip
    email, first, last, password = ADMIN
    user.objects.create_superuser("admin", email, password, first_name=first, last_name=last)
    home: Any = _model("address", "UserAddress")
    for each in people:  # Oscar makes the hash of an address when it is saved.
        home.objects.create(
            user_id=each.id, is_default_for_shipping=True, **_where(each, each.address, country)
        )


def _where(person: data.Person, address: data.Address, country: Any) -> dict[str, Any]:
    return {
        "first_name": person.first, "last_name": person.last, "line1": address.line1, "line4": address.city,
        "postcode": address.postcode, "country": country,
    }  # fmt: skip


def _orders(shop: data.Shop, country: Any) -> None:
    order, line, price = _model("order", "Order"), _model("order", "Line"), _model("order", "LinePrice")
    address = _model("order", "ShippingAddress")
    rows = list(enumerate(shop.orders, start=1))
    _store(address, (address(id=row, **_where(each.person, each.address, country)) for row, each in rows))
    _store(order, (
        order(
            id=row, number=str(each.number), site_id=1, user_id=each.person.id, currency="USD",
            total_incl_tax=_money(each.cents), total_excl_tax=_money(each.cents), shipping_incl_tax=0,
            shipping_excl_tax=0, shipping_address_id=row, shipping_method="Free shipping",
            shipping_code="free-shipping", status=each.status, date_placed=each.placed, analytics_tracked=True,
        )
        for row, each in rows
    ))  # fmt: skip
    lines = [(row, each, *what) for row, each in rows for what in each.lines]
    open_ones = ("Pending", "Being processed")
    _store(line, (
        line(
            id=at, order_id=row, partner_id=1, partner_name="Quayside Warehouse", partner_sku=product.sku,
            stockrecord_id=product.id, product_id=product.id, title=product.title, upc=product.upc,
            quantity=quantity, status="Pending",
            num_allocated=quantity if each.status in open_ones or each.number <= data.LAST_FIRST_ORDER else 0,
            unit_price_incl_tax=_money(product.cents), unit_price_excl_tax=_money(product.cents),
            **{
                f"line_price_{part}{tax}_tax": _money(product.cents * quantity)
                for part in ("", "before_discounts_")
                for tax in ("incl", "excl")
            },
        )
        for at, (row, each, product, quantity) in enumerate(lines, start=1)
    ))  # fmt: skip
    _store(price, (
        price(
            order_id=row, line_id=at, quantity=quantity, price_incl_tax=_money(product.cents),
            price_excl_tax=_money(product.cents),
        )
        for at, (row, _, product, quantity) in enumerate(lines, start=1)
    ))  # fmt: skip


def _reviews(reviews: Sequence[data.Review]) -> None:
    review: Any = _model("reviews", "ProductReview")
    _store(review, (
        review(
            id=each.id, product_id=each.product.id, user_id=each.person.id, score=each.score, title=each.title,
            body=each.body, status=review.APPROVED if each.approved else review.FOR_MODERATION,
        )
        for each in reviews
    ))  # fmt: skip
    rows = [review(id=each.id, date_created=each.written) for each in reviews]
    review.objects.bulk_update(rows, ["date_created"], batch_size=500)
    # Oscar would write the search index again for each product that is saved.
    product: Any = _model("catalogue", "Product")
    scores: dict[int, list[int]] = {}
    for each in reviews:
        if each.approved:
            scores.setdefault(each.product.id, []).append(each.score)
    rated = [product(id=number, rating=sum(given) / len(given)) for number, given in scores.items()]
    product.objects.bulk_update(rated, ["rating"], batch_size=500)


def _reports(shop: data.Shop) -> None:
    """Write what Oscar counts when an order is placed."""
    goods, buyers = _model("analytics", "ProductRecord"), _model("analytics", "UserRecord")
    sold: dict[int, int] = {}
    bought: dict[int, list[data.Order]] = {}
    for order in shop.orders:
        bought.setdefault(order.person.id, []).append(order)
        for product, quantity in order.lines:
            sold[product.id] = sold.get(product.id, 0) + quantity
    _store(goods, (goods(product_id=number, num_purchases=count) for number, count in sorted(sold.items())))
    _store(buyers, (
        buyers(
            user_id=number, num_orders=len(orders), num_order_lines=sum(len(order.lines) for order in orders),
            num_order_items=sum(quantity for order in orders for _, quantity in order.lines),
            total_spent=_money(sum(order.cents for order in orders)),
            date_last_order=max(order.placed for order in orders),
        )
        for number, orders in sorted(bought.items())
    ))  # fmt: skip


def _offers() -> None:
    """Write offers that a voucher can have, which no customer gets without one."""
    goods: Any = _model("offer", "Range")
    everything = goods.objects.create(name="Everything", slug="everything", includes_all_products=True)
    benefit, condition = _model("offer", "Benefit"), _model("offer", "Condition")
    offer = _model("offer", "ConditionalOffer")
    for number, (name, percent) in enumerate(data.OFFERS.items(), start=1):
        _store(benefit, [benefit(id=number, type="Percentage", value=percent, range=everything)])
        _store(condition, [condition(id=number, type="Count", value=1, range=everything)])
        _store(offer, [offer(
            id=number, name=name, slug=f"voucher-{percent}", offer_type="Voucher", benefit_id=number,
            condition_id=number,
        )])  # fmt: skip


def _pages() -> None:
    from django.contrib.flatpages.models import FlatPage

    for url, (title, content) in data.PAGES.items():
        FlatPage.objects.create(url=url, title=title, content=f"<p>{content}</p>").sites.set([1])


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
