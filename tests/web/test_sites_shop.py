"""The shop, the encyclopedia and MiniWoB++: real servers, with the data they are meant to have."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.paths import saves_folder
from engine.web.sites import encyclopedia_data
from engine.web.sites.django_sites import Shop
from engine.web.sites.encyclopedia import Encyclopedia
from engine.web.sites.manager import Sites
from engine.web.sites.miniwob import MiniWob, pages_folder
from engine.web.tasks import miniwob
from engine.web.tasks.suites import get, load
from engine.web.tasks.verdict import Scorer, verified_python
from tests.web.site_client import SiteClient
from tests.web.solving import HOW, borrow, built, solutions, trial

SAVES = saves_folder()
needs_shop = pytest.mark.skipif(bool(Shop().missing(SAVES)) or not built("shop", SAVES), reason=HOW)


@pytest.fixture(scope="module")
def saves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")


@pytest.fixture(scope="module")
def shop(saves: Path) -> Iterator[Sites]:
    with Sites(saves) as sites:
        (status,) = sites.up(("shop",), stay=False)
        assert status.state == "up", status.note
        yield sites


def _rows(saves: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(saves / "web" / "sites" / "shop" / "live" / "shop.sqlite3") as database:
        return database.execute(query).fetchall()


@needs_shop
def test_the_shop_has_the_goods_orders_and_reviews_it_should(shop: Sites) -> None:
    for table, count in (
        ("catalogue_product", 1500), ("order_order", 800), ("reviews_productreview", 6000),
        ("auth_user WHERE NOT is_staff", 400),
    ):  # fmt: skip
        assert _rows(shop.saves, f"SELECT count(*) FROM {table}") == [(count,)]
    assert _rows(shop.saves, "SELECT min(number), max(number) FROM order_order") == [("10001", "10800")]
    # Oscar's own rules: an order is the sum of its lines, what is set aside is there, ratings are means.
    assert _rows(
        shop.saves,
        """SELECT count(*) FROM order_order o WHERE abs(total_incl_tax - (
        SELECT sum(line_price_incl_tax) FROM order_line WHERE order_id = o.id)) > 0.001""",
    ) == [(0,)]
    assert _rows(
        shop.saves,
        """SELECT count(*) FROM partner_stockrecord s WHERE num_allocated > num_in_stock
        OR num_allocated != (SELECT coalesce(sum(num_allocated), 0) FROM order_line WHERE stockrecord_id = s.id)
        """,
    ) == [(0,)]
    assert _rows(
        shop.saves,
        """SELECT count(*) FROM catalogue_product p WHERE abs(rating - (
        SELECT avg(score) FROM reviews_productreview WHERE product_id = p.id AND status = 1)) > 0.001""",
    ) == [(0,)]
    answers = {
        25: """SELECT title FROM catalogue_product p JOIN partner_stockrecord s ON s.product_id = p.id
            JOIN catalogue_productcategory c ON c.product_id = p.id AND c.category_id = 2
            WHERE num_in_stock > num_allocated ORDER BY price LIMIT 1""",
        36: "SELECT count(*) FROM order_order WHERE status = 'Pending'",
        38: "SELECT count(*) FROM reviews_productreview WHERE status = 0",
    }
    for number, query in answers.items():
        said = get(f"local-{number}").raw["eval"][0]["expected"]["retrieved_data"]
        assert [tuple(said)] == _rows(shop.saves, query)


@needs_shop
def test_an_order_changed_in_the_dashboard_is_changed_in_the_database_and_put_back(shop: Sites) -> None:
    status = "SELECT status FROM order_order WHERE number = '10012'"
    client = SiteClient()
    base = shop.urls()["shopping_admin"]
    client.login(base, Shop.logins["shopping_admin"])
    client.get(f"{base}/orders/10012/")
    client.submit({"order_action": "change_order_status", "new_status": "Being processed"})
    assert _rows(shop.saves, status) == [("Being processed",)]
    shop.reset(("shop",))
    assert _rows(shop.saves, status) == [("Pending",)]
    # Whoever was logged in no longer is.
    client.get(f"{base}/orders/10012/")
    assert "/login" in client.url


@needs_shop
def test_reviews_stand_under_marketing_and_not_under_catalogue(shop: Sites) -> None:
    client = SiteClient()
    client.login(shop.urls()["shopping_admin"], Shop.logins["shopping_admin"])
    text = client.get("/dashboard/")
    menus = re.split(r'class="nav-item', text)
    with_reviews = [menu for menu in menus if 'href="/dashboard/reviews/"' in menu]
    assert len(with_reviews) == 1
    assert "Marketing" in with_reviews[0]
    assert "Catalogue" not in with_reviews[0]


@pytest.mark.skipif(bool(Encyclopedia().missing(SAVES)), reason=Encyclopedia().missing(SAVES) or "-")
def test_the_encyclopedia_shows_and_finds_its_articles(saves: Path) -> None:
    with Sites(saves) as sites:
        (status,) = sites.up(("encyclopedia",), stay=False)
        assert status.state == "up", status.note
        client = SiteClient()
        city = encyclopedia_data.cities()[16]
        assert f"{city.population:,}" in client.get(f"{status.url}/varland/{city.name}")
        found = client.get(f"{status.url}/search?books.name=varland&pattern=folding+bridge")
        assert "Oskar Vell" in found


def test_the_encyclopedia_is_of_one_piece() -> None:
    pages = encyclopedia_data.articles()
    paths = {page.path for page in pages}
    assert len(paths) == len(pages) >= 50
    links = {link for page in pages for link in re.findall(r'href="([^"]*)"', page.body)}
    assert links <= paths
    cities = encyclopedia_data.cities()
    assert len({city.founded for city in cities}) == len({city.population for city in cities}) == len(cities)
    assert pages == encyclopedia_data.articles()


@pytest.mark.skipif(bool(MiniWob().missing(SAVES)), reason=MiniWob().missing(SAVES) or "-")
def test_miniwob_pages_are_served(saves: Path) -> None:
    names = {path.stem for path in (pages_folder(saves) / "miniwob").glob("*.html")}
    assert set(miniwob.TASKS) <= names
    with Sites(saves) as sites:
        (status,) = sites.up(("miniwob",), stay=False)
        assert status.state == "up", status.note
        client = SiteClient()
        assert "core.getUtterance" in client.get(f"{status.url}/core/core.js")
        assert "genProblem" in client.get(f"{sites.urls()['miniwob']}/login-user.html")


@needs_shop
@pytest.mark.parametrize(
    ("site", "path"),
    [("shopping", "/catalogue/"), ("shopping", "/"), ("shopping_admin", "/"), ("shopping_admin", "/orders/")],
)
def test_the_shops_pages_ask_for_nothing_from_elsewhere(shop: Sites, site: str, path: str) -> None:
    client = SiteClient()
    base = shop.urls()[site]
    client.login(base, Shop.logins[site])
    text = client.get(base + path)
    asked = re.findall(
        r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=["']((?:https?:)?//[^"']*)""", text
    )
    assert [url for url in asked if not url.startswith(base.removesuffix("/dashboard"))] == []
    assert "jquery" in text


def test_the_tasks_are_those_that_the_data_give() -> None:
    """After a change of the data: python -m tests.web.write_shop_tasks."""
    from tests.web.write_shop_tasks import files  # makes the whole shop

    for path, text in files().items():
        assert path.read_text() == text
    for site in ("shopping", "shopping_admin"):
        assert sum(site in task.sites for task in load("local")) >= 40


@needs_shop
@pytest.mark.skipif(verified_python(SAVES) is None, reason=HOW)
def test_right_solutions_score_one_and_wrong_ones_nothing(shop: Sites) -> None:
    """One task of each kind; `python -m tests.bench.soak_sites --sites shop` plays all."""
    known, kinds = solutions(), set()
    with Scorer(shop.saves, shop.urls()) as scorer:
        for task in load("local"):
            if task.number < 300 or not task.site.startswith("shopping") or (task.site, task.kind) in kinds:
                continue
            kinds.add((task.site, task.kind))
            right, wrong = (trial(task, which, shop, scorer, known) for which in ("right", "wrong"))
            assert right.score == 1.0, (task.id, right.why)
            assert wrong.score == 0.0, task.id
    assert len(kinds) == 6
