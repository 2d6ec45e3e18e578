"""Writes more tasks of the shop and its dashboard from the shop's data: `python -m tests.web.write_shop_tasks`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.web.sites.oscar_site.shop_data import REMARKS, Customer, Product, Review, make
from engine.web.tasks.suites import LOCAL
from tests.web.solving import SOLUTIONS

NAME = "300-shop.json"
FIRST = 300
SHOP = make()
ANNA = SHOP.people[0]
MINE = [order for order in SHOP.orders if order.person is ANNA]


class Written:
    """The tasks and solutions so far."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.solutions: list[dict[str, Any]] = []
        self._templates: dict[str, int] = {}

    def add(
        self,
        site: str,
        template: str,
        values: Mapping[str, str],
        checks: list[Any],
        right: list[Any],
        wrong: list[Any],
        start: str = "/",
    ) -> None:
        """Add a task and its solutions."""
        number, intent = FIRST + len(self.tasks), template
        for name, value in values.items():
            intent = intent.replace("{{" + name + "}}", value)
        self.tasks.append({
            "task_id": number, "sites": [site], "start_urls": [base(site) + start],
            "intent_template_id": self._templates.setdefault(template, FIRST + len(self._templates)),
            "intent": intent, "intent_template": template, "instantiation_dict": dict(values), "eval": checks,
            "revision": 1,
        })  # fmt: skip
        self.solutions.append({"task_id": number, "right": right, "wrong": wrong})

    def ask(
        self, site: str, template: str, values: Mapping[str, str], answer: Any, page: str, step: list[Any], wrong: str
    ) -> None:  # fmt: skip
        """Add a task with an answer (a number, a text, or a list of texts), which `step` finds on a page."""
        kind = "number" if isinstance(answer, int) else "string"
        said = answer if isinstance(answer, list) else [answer]
        expected = {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": said}
        schema = {"type": "array", "items": {"type": kind}}
        judge = {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": expected}
        pages = [["get", base(site) + page]] if page else []
        self.add(site, template, values, [judge], [*pages, step], [["answer", wrong]])

    def go(self, site: str, template: str, values: Mapping[str, str], page: str) -> None:
        """Add a task that ends on a page."""
        expected = {"url": base(site) + page, "http_method": "GET", "response_status": 200}
        checks = [done("navigate"), {"evaluator": "NetworkEventEvaluator", "expected": expected}]
        self.add(site, template, values, checks, [["get", base(site) + page]], [])

    def change(
        self, site: str, template: str, values: Mapping[str, str], query: str, rows: list[Any], right: list[Any],
        wrong: list[Any], start: str = "/",
    ) -> None:  # fmt: skip
        """Add a task that changes the shop, whose database is read afterwards. A step's "/" is the site's address."""
        check = {"evaluator": "StateEvaluator", "site": site, "query": query, "expected": rows}
        played = [
            [[s[0], base(site) + s[1]] if s[0] == "get" else s for s in steps] for steps in (right, wrong)
        ]
        self.add(site, template, values, [done("mutate"), check], played[0], played[1], start)


def base(site: str) -> str:
    """Return the placeholder of a site's address."""
    return f"__{site.upper()}__"


def done(kind: str) -> dict[str, Any]:
    """Return the check that the agent reports success."""
    expected = {"task_type": kind, "status": "SUCCESS", "retrieved_data": None}
    return {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": expected}


def made() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the tasks and their solutions."""
    written = Written()
    _first(written)
    _asked_of_the_shop(written)
    _changed_in_the_shop(written)
    _asked_of_the_dashboard(written)
    _changed_in_the_dashboard(written)
    return written.tasks, written.solutions


def _page(product: Product) -> str:
    slug = "".join(c if c.isalnum() else "-" if c in " -" else "" for c in product.title.lower())
    return f"/catalogue/{'-'.join(filter(None, slug.split('-')))}_{product.id}/"


def _named(title: str) -> Product:
    return next(product for product in SHOP.products if product.title == title)


def _of(kind: str) -> list[Product]:
    return [product for product in SHOP.products if product.category.endswith(kind)]


def _money(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02}"


def _reviews(product: Product) -> list[Review]:
    return [review for review in SHOP.reviews if review.product is product and review.approved]


def _mention(product: Product, topic: str) -> list[Review]:
    return [review for review in _reviews(product) if any(remark in review.body for remark in REMARKS[topic])]


def _talked_about(few: int, most: int, **mentions: int) -> list[tuple[Product, str]]:
    """Return products with that many reviews, each with a topic that a given number of them mention."""
    counts = Counter(review.product.id for review in SHOP.reviews if review.approved)
    return [
        (product, topic)
        for product in SHOP.products
        if few <= counts[product.id] <= most
        for topic in REMARKS
        if len({review.person.id for review in _mention(product, topic)}) == mentions["by"]
    ]


def _basket(person: Customer) -> str:
    return (
        "SELECT l.product_id, l.quantity FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id "
        f"WHERE b.owner_id = {person.id} AND b.status = 'Open' ORDER BY l.product_id"
    )


def _put(product: Product, quantity: int = 1) -> list[Any]:
    return [
        ["get", _page(product)],
        ["submit", {"quantity": str(quantity)}, f"/basket/add/{product.id}/"],
    ]


def _first(written: Written) -> None:
    for noun, word in (("Teapot", "teapot"), ("Tent", "tent"), ("Hammock", "hammock")):
        found = [one for one in SHOP.products if one.category.endswith(f"> {noun}s")]
        dearest = max(found, key=lambda one: one.cents)
        written.ask("shopping", "What is the full name of the dearest {{kind}} of the shop, in stock or not?",
            {"kind": word}, dearest.title, f"/search/?q={word}&sort_by=price-desc", ["read", r'title="([^"]+)"'],
            min(found, key=lambda one: one.cents).title)  # fmt: skip
    for status in ("Complete", "Cancelled", "Being processed"):
        count = sum(one.status == status for one in SHOP.orders)
        written.ask("shopping_admin", "How many orders have the status {{status}}?", {"status": status}, count,
            f"/orders/?order_number=&name=&status={status.replace(' ', '+')}", ["read", r"Select all (\d+) Orders"],
            "20")  # fmt: skip
    for month, first, last in (
        ("March 2026", "2026-03-01", "2026-03-31"),
        ("June 2025", "2025-06-01", "2025-06-30"),
    ):
        count = sum(first <= one.placed.date().isoformat() <= last for one in SHOP.orders)
        written.ask("shopping_admin", "How many orders were placed in {{month}}?", {"month": month}, count,
            f"/orders/?date_from={first}&date_to={last}&response_format=html", ["read", r"Select all (\d+) Orders"],
            "20")  # fmt: skip
    for number in (10050, 10321, 10655):
        order = next(one for one in SHOP.orders if one.number == number)
        written.ask("shopping_admin", "What is the e-mail address of the customer who placed the order {{order}}?",
            {"order": str(number)}, order.person.email, f"/orders/{number}/", ["read", r"<td>(\S+@\S+)</td>"],
            "nobody@varland.example")  # fmt: skip


def _asked_of_the_shop(written: Written) -> None:
    shop = "shopping"
    last = MINE[-1]
    dearest = max(last.lines, key=lambda line: line[0].cents)[0]
    written.ask(shop, "How much did I pay for my order {{order}}?", {"order": str(MINE[-7].number)},
                _money(MINE[-7].cents), f"/accounts/orders/{MINE[-7].number}/",
                ["read", rf"({re.escape(_money(MINE[-7].cents))})"], "$1.00")  # fmt: skip
    written.ask(shop, "What is the status of my latest order?", {}, last.status, f"/accounts/orders/{last.number}/",
                ["read", rf"({last.status})"], "Complete")  # fmt: skip
    written.ask(
        shop,
        "Which is the dearest thing in my latest order? Give its full name.",
        {},
        dearest.title,
        f"/accounts/orders/{last.number}/",
        ["read", rf"({dearest.title})"],
        last.lines[0][0].title,
    )
    for year in ("2025", "2026"):
        count = sum(str(order.placed.year) == year for order in MINE)
        url = f"__SHOPPING__/accounts/orders/?date_from={year}-01-01&date_to={year}-12-31&page="
        pages = [f"{url}{page}" for page in range(1, -(-count // 20) + 1)]
        written.ask(shop, "How many orders did I place in {{year}}?", {"year": year}, count, "",
                    ["sum", r'<a href="/accounts/orders/\d+/"', pages], "20")  # fmt: skip
    other = next(order for order in MINE[8:] if order.address.city not in ("Saltmere", last.address.city))
    bought = other.lines[0][0].title
    written.ask(shop, "Which thing did I buy with my order {{order}}? Give its full name.",
                {"order": str(other.number)}, bought, f"/accounts/orders/{other.number}/", ["read", rf"({bought})"],
                "Heron Chair 165")  # fmt: skip
    for product in (_of("> Kites")[7], _of("> Compasses")[12]):
        weight = int(product.description.partition("weighs ")[2].partition(" g")[0])
        written.ask(shop, "How many grams does the {{product}} weigh?", {"product": product.title}, weight,
                    _page(product), ["read", r"weighs (\d+) g"], "1")  # fmt: skip
    for product, topic in _talked_about(5, 9, by=1)[20:120:40]:
        review = _mention(product, topic)[0]
        remark = next(text for text in REMARKS[topic] if text in review.body)
        after = rf"{re.escape(remark)}.*?by\s*<strong>([^<]+)<"
        written.ask(shop, "Which reviewer of the {{product}} mentions the {{topic}}? Give first and last name.",
                    {"product": product.title, "topic": topic}, review.person.name,
                    f"{_page(product)}reviews/", ["read", after], "Anna Nobody")  # fmt: skip
    for product, topic in _talked_about(8, 14, by=3)[3:20:9]:
        names = [review.person.name for review in _mention(product, topic)]
        words = "|".join(re.escape(text) for text in REMARKS[topic])
        after = rf"(?:{words}).*?by\s*<strong>([^<]+)<"
        written.ask(shop, "Who of the reviewers of the {{product}} mention the {{topic}}? Give a list of full names.",
                    {"product": product.title, "topic": topic}, names, f"{_page(product)}reviews/", ["all", after],
                    json.dumps(names[:1]))  # fmt: skip
    written.go(shop, "Open the page of my order {{order}}.", {"order": str(MINE[3].number)},
               f"/accounts/orders/{MINE[3].number}/")  # fmt: skip
    written.go(shop, "Open the list of the e-mails that the shop has sent me.", {}, "/accounts/emails/")
    written.go(shop, "Open the list of the products about which I asked to be told when they are in stock again.", {},
               "/accounts/alerts/")  # fmt: skip


def _vote(written: Written, product: Product) -> None:
    worst = min(_reviews(product), key=lambda review: review.score)
    vote = f"{_page(product)}reviews/{worst.id}/vote/"
    written.change(
        "shopping", 'Mark the review "{{title}}" by {{person}} of the {{product}} as helpful.',
        {"title": worst.title, "person": worst.person.name, "product": product.title},
        "SELECT review_id, delta FROM reviews_vote WHERE user_id = 1", [[worst.id, 1]],
        [["get", f"{_page(product)}reviews/"], ["submit", {"delta": "1"}, vote]],
        [["get", f"{_page(product)}reviews/"]],
    )  # fmt: skip


ADDRESS = "SELECT first_name, last_name, line1, line4, postcode FROM address_useraddress WHERE user_id = 1"


def _changed_in_the_shop(written: Written) -> None:
    shop = "shopping"
    for first, last, line, city, postcode in (
        ("Ivo", "Holt", "12 Mill Lane", "Arlow", "1017"), ("Greta", "Falk", "77 Ropewalk", "Norrick", "2433"),
    ):  # fmt: skip
        fields = {"first_name": first, "last_name": last, "line1": line, "line4": city, "postcode": postcode,
                  "country": "XV"}  # fmt: skip
        written.change(
            shop, "Add an address to my address book: {{first}} {{last}}, {{line}}, {{city}}, postcode {{postcode}}, "
            "Varland.", {"first": first, "last": last, "line": line, "city": city, "postcode": postcode},
            f"{ADDRESS} AND id > 400", [[first, last, line, city, postcode]],
            [["get", "/accounts/addresses/add/"], ["submit", fields]],
            [["get", "/accounts/addresses/add/"], ["submit", {**fields, "postcode": "9999"}]],
            "/accounts/addresses/",  # From the shop's first page it takes more than ten actions.
        )  # fmt: skip
    written.change(
        shop, "I have moved within {{city}}: change the street in my address book to {{line}}.",
        {"city": "Saltmere", "line": "9 Quay Walk"}, ADDRESS, [["Anna", "Meyer", "9 Quay Walk", "Saltmere", "4101"]],
        [["get", "/accounts/addresses/1/"], ["submit", {"line1": "9 Quay Walk"}]],
        [["get", "/accounts/addresses/1/"], ["submit", {"line1": "9 Quay Street"}]],
    )  # fmt: skip
    written.change(
        shop, "Remove the only address from my address book.", {}, ADDRESS, [],
        [["get", "/accounts/addresses/1/delete/"], ["submit", {}, "="]], [["get", "/accounts/addresses/1/delete/"]],
    )  # fmt: skip
    wishes = "SELECT name, visibility FROM wishlists_wishlist WHERE owner_id = 1"
    for name, how in (("Garden party", "Public"), ("For Ben", "Shared")):
        written.change(
            shop, "Create a wish list with the name {{name}} and the visibility {{how}}.", {"name": name, "how": how},
            wishes, [[name, how]],
            [["get", "/accounts/wishlists/create/"], ["submit", {"name": name, "visibility": how}]],
            [["get", "/accounts/wishlists/create/"], ["submit", {"name": name, "visibility": "Private"}]],
        )  # fmt: skip
    for kind, word, quantity in (("> Lanterns", "lantern", 2), ("> Mugs", "mug", 4)):
        there = sorted((p for p in _of(kind) if p.left > quantity), key=lambda product: product.cents)
        written.change(
            shop, "Add {{count}} of the cheapest {{word}} that is in stock to the basket.",
            {"count": str(quantity), "word": word}, _basket(ANNA), [[there[0].id, quantity]],
            _put(there[0], quantity), _put(there[1], quantity),
        )  # fmt: skip
    pair = sorted((_of("> Kites")[3], _of("> Blankets")[5]), key=lambda product: product.id)
    written.change(
        shop, "Add one {{one}} and one {{other}} to the basket.", {"one": pair[0].title, "other": pair[1].title},
        _basket(ANNA), [[product.id, 1] for product in pair], [*_put(pair[0]), *_put(pair[1])], _put(pair[0]),
    )  # fmt: skip
    ordered = ("SELECT o.status, l.product_id, l.quantity, a.line1 FROM order_order o JOIN order_line l "
               "ON l.order_id = o.id JOIN order_shippingaddress a ON a.id = o.shipping_address_id "
               "WHERE o.user_id = 1 AND CAST(o.number AS integer) > 10800")  # fmt: skip
    checkout = [
        ["get", "/checkout/shipping-address/"], ["submit", {"action": "ship_to", "address_id": "1"}],
        ["get", "/checkout/preview/"], ["submit", {"action": "place_order"}],
    ]  # fmt: skip
    for product, quantity in ((_of("> Teapots")[9], 1), (_of("> Flasks")[4], 3)):
        written.change(
            shop, "Order {{count}} of the {{product}} and have it sent to my address in Saltmere.",
            {"count": str(quantity), "product": product.title}, ordered,
            [["Pending", product.id, quantity, "1 Pier Street"]], [*_put(product, quantity), *checkout],
            _put(product, quantity),
        )  # fmt: skip
    for product, _ in _talked_about(3, 4, by=1)[30:90:40]:
        _vote(written, product)
    latest = max(MINE[-1].lines, key=lambda line: line[0].cents)[0]
    review = {"title": "Dry inside", "score": "5", "body": "It rained all night."}
    page = f"{_page(latest)}reviews/add/"
    written.change(
        shop, 'Write a review of the dearest thing in my latest order with {{score}} stars, the title "{{title}}" and '
        'the text "{{body}}".', review,
        "SELECT product_id, score, title, body FROM reviews_productreview WHERE user_id = 1 AND id > 6000",
        [[latest.id, 5, review["title"], review["body"]]], [["get", page], ["submit", review, "#addreview"]],
        [["get", page], ["submit", {**review, "score": "4"}, "#addreview"]],
    )  # fmt: skip
    again = MINE[-2]
    mixed = sorted([product.id, quantity] for product, quantity in again.lines)
    written.change(
        shop, "Put everything of my order {{order}} into the basket again.", {"order": str(again.number)},
        _basket(ANNA), mixed,
        [["get", f"/accounts/orders/{again.number}/"], ["submit", {"order_id": str(again.number - 10000)}]],
        _put(again.lines[0][0]),
    )  # fmt: skip


def _asked_of_the_dashboard(written: Written) -> None:
    admin = "shopping_admin"
    buyers = Counter(order.person.id for order in SHOP.orders[40:])
    for number, count in [each for each in buyers.most_common(60) if 4 <= each[1] <= 9][:2]:
        person = SHOP.people[number - 1]
        written.ask(admin, "How many orders has the customer {{name}} placed?", {"name": person.name}, count,
                    f"/users/{person.id}/", ["count", r'<a href="/dashboard/orders/\d+/">'], "99")  # fmt: skip
    spent = Counter({p.id: sum(o.cents for o in SHOP.orders if o.person is p) for p in SHOP.people})
    rich = SHOP.people[spent.most_common(2)[1][0] - 1]
    written.ask(admin, "Which customer has spent the second most in all? Give the e-mail address.", {}, rich.email,
                "/reports/?report_type=user_analytics&date_from=&date_to=", ["read", rf"({re.escape(rich.email)})"],
                "nobody@varland.example")  # fmt: skip
    for number in (10222, 10499):
        order = SHOP.orders[number - 10001]
        written.ask(admin, "Which customer placed the order {{order}}? Give first and last name.",
                    {"order": str(number)}, order.person.name, f"/orders/{number}/",
                    ["read", rf"({order.person.name})"], "Nobody")  # fmt: skip
    for product in (_of("> Saws")[11], _of("> Towels")[6]):
        written.ask(admin, "How many pieces of the {{product}} are in stock, before anything is set aside?",
                    {"product": product.title}, product.stock, f"/catalogue/products/{product.id}/",
                    ["read", r'name="stockrecords-0-num_in_stock" value="(\d+)"'], "7")  # fmt: skip
    waiting = [review for review in SHOP.reviews[60:] if not review.approved]
    title = waiting[3]
    written.ask(
        admin,
        'Which customer wrote the review "{{title}}" of the {{product}}, which waits for moderation? '
        "Give the e-mail address.",
        {"title": title.title, "product": title.product.title},
        title.person.email,
        f"/users/{title.person.id}/",
        ["read", r"<td>(\S+@varland\.example)"],
        "nobody@varland.example",
    )
    written.go(
        admin, "Open the list of the products about which customers asked to be told.", {}, "/users/alerts/"
    )
    written.go(
        admin, "Open the figures of all orders: revenue, customers, best days.", {}, "/orders/statistics/"
    )


def _changed_in_the_dashboard(written: Written) -> None:
    admin = "shopping_admin"
    for product, price in ((_of("> Kites")[9], "31.40"), (_of("> Staplers")[2], "12.75")):
        page = f"/catalogue/products/{product.id}/"
        written.change(
            admin, "Set the price of the {{product}} to ${{price}}.", {"product": product.title, "price": price},
            f"SELECT price FROM partner_stockrecord WHERE product_id = {product.id}", [[float(price)]],
            [["get", page], ["submit", {"stockrecords-0-price": price}, "", "action"]],
            [["get", page], ["submit", {"stockrecords-0-price": "1.00"}, "", "action"]],
        )  # fmt: skip
    product = _of("> Mirrors")[4]
    page = f"/catalogue/products/{product.id}/"
    fields = {"stockrecords-0-num_in_stock": "75", "stockrecords-0-low_stock_threshold": "12"}
    written.change(
        admin, "Set the number in stock of the {{product}} to 75 and its low stock threshold to 12.",
        {"product": product.title},
        f"SELECT num_in_stock, low_stock_threshold FROM partner_stockrecord WHERE product_id = {product.id}",
        [[75, 12]], [["get", page], ["submit", fields, "", "action"]],
        [["get", page], ["submit", {"stockrecords-0-num_in_stock": "75"}, "", "action"]],
    )  # fmt: skip
    product = _of("> Soap Dishes")[8]
    page = f"/catalogue/products/{product.id}/delete/"
    written.change(
        admin, "Delete the product {{product}}.", {"product": product.title},
        f"SELECT count(*) FROM catalogue_product WHERE id = {product.id}", [[0]],
        [["get", page], ["submit", {}, "="]], [["get", page]],
    )  # fmt: skip
    for order, status in (
        (next(o for o in SHOP.orders[100:] if o.status == "Pending"), "Being processed"),
        (next(o for o in reversed(SHOP.orders) if o.status == "Being processed"), "Complete"),
    ):
        page = f"/orders/{order.number}/"
        written.change(
            admin, "Set the status of the order that {{name}} placed on {{day}} to {{status}}.",
            {"name": order.person.name, "day": order.placed.strftime("%d %B %Y"), "status": status},
            f"SELECT status FROM order_order WHERE number = '{order.number}'", [[status]],
            [["get", page], ["submit", {"order_action": "change_order_status", "new_status": status}]],
            [["get", page], ["submit", {"order_action": "change_order_status", "new_status": "Cancelled"}]],
        )  # fmt: skip
    for name, code, offer, number in (
        ("Harbour fair", "FAIR26", "Ten per cent off", "1"), ("Sorry", "SORRY", "A quarter off", "2"),
    ):  # fmt: skip
        fields = {
            "name": name, "code": code, "start_datetime": "2026-12-01 00:00", "end_datetime": "2026-12-31 00:00",
            "usage": "Once per customer", "offers": number,
        }  # fmt: skip
        written.change(
            admin, 'Add a voucher with the name "{{name}}" and the code {{code}} for the offer "{{offer}}", valid from '
            "2026-12-01 00:00 to 2026-12-31 00:00, which each customer can use once.",
            {"name": name, "code": code, "offer": offer},
            "SELECT v.name, v.code, v.usage, substr(v.start_datetime, 1, 10), substr(v.end_datetime, 1, 10), "
            "o.conditionaloffer_id FROM voucher_voucher v JOIN voucher_voucher_offers o ON o.voucher_id = v.id",
            [[name, code, "Once per customer", "2026-12-01", "2026-12-31", int(number)]],
            [["get", "/vouchers/create/"], ["submit", fields]],
            [["get", "/vouchers/create/"], ["submit", {**fields, "usage": "Multi-use"}]],
            "/vouchers/",  # From the dashboard's first page it takes more than ten actions.
        )  # fmt: skip
    written.change(
        admin, 'Change the title of the page "Returns" to "{{title}}".', {"title": "Sending things back"},
        "SELECT title FROM django_flatpage WHERE url = '/returns/'", [["Sending things back"]],
        [["get", "/pages/update/2/"], ["submit", {"title": "Sending things back"}]],
        [["get", "/pages/update/1/"], ["submit", {"title": "Sending things back"}]],
    )  # fmt: skip
    fields = {"title": "Opening hours", "url": "/hours/", "content": "From nine to six."}
    written.change(
        admin, 'Add a page with the title "Opening hours", the URL /hours/ and the text "From nine to six.".', {},
        "SELECT title, content LIKE '%From nine to six.%' FROM django_flatpage WHERE url = '/hours/'",
        [["Opening hours", 1]], [["get", "/pages/create/"], ["submit", fields]],
        [["get", "/pages/create/"], ["submit", {**fields, "content": "From ten to six."}]],
    )  # fmt: skip
    written.change(
        admin, "Delete the page {{title}}.", {"title": "About Quayside"},
        "SELECT title FROM django_flatpage ORDER BY id", [["Delivery"], ["Returns"]],
        [["get", "/pages/delete/3/"], ["submit", {}, "="]], [["get", "/pages/delete/2/"], ["submit", {}, "="]],
    )  # fmt: skip
    for name in ("Umber Workshop", "Fell Road Mill"):
        written.change(
            admin, "Add the fulfilment partner {{name}}.", {"name": name},
            "SELECT name FROM partner_partner WHERE id > 1", [[name]],
            [["get", "/partners/create/"], ["submit", {"name": name}]],
            [["get", "/partners/create/"], ["submit", {"name": "Nobody"}]],
        )  # fmt: skip
    written.change(
        admin, "Add the category {{name}} below Garden.", {"name": "Rain Barrels"},
        "SELECT p.name FROM catalogue_category c JOIN catalogue_category p ON p.path = substr(c.path, 1, 4) "
        "WHERE c.name = 'Rain Barrels' AND c.depth = 2", [["Garden"]],
        [["get", "/catalogue/categories/create/13/"], ["submit", {"name": "Rain Barrels", "treebeard_ref_node": "13"}]],
        [["get", "/catalogue/categories/create/"], ["submit", {"name": "Rain Barrels"}]],
    )  # fmt: skip
    waiting = [review for review in SHOP.reviews[60:] if not review.approved]
    for review, word, number in ((waiting[7], "Approve", 1), (waiting[14], "Reject", 2)):
        page = f"/reviews/{review.id}/"
        written.change(
            admin, "{{word}} the review that {{name}} wrote of the {{product}}.",
            {"word": word, "name": review.person.name, "product": review.product.title},
            f"SELECT status FROM reviews_productreview WHERE id = {review.id}", [[number]],
            [["get", page], ["submit", {"status": str(number)}]], [["get", page], ["submit", {"status": "0"}]],
        )  # fmt: skip


def files() -> dict[Path, str]:
    """Return what each file has to contain."""
    return {
        folder / NAME: "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]\n"
        for folder, items in zip((LOCAL, SOLUTIONS), made(), strict=True)
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
