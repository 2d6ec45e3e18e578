"""The map: an invented country's data, its search and routes on real pages, and its tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from engine.paths import saves_folder
from engine.web.sites import encyclopedia_data as facts
from engine.web.sites.manager import Sites
from engine.web.sites.map import Map
from engine.web.tasks.suites import load
from tests.web import solving
from tests.web.site_client import SiteClient
from tests.web.write_map_tasks import Varland, made

SAVES = saves_folder()
needs_map = pytest.mark.skipif(bool(Map().missing(SAVES)), reason="apt install routino libjs-leaflet")


@pytest.fixture(scope="module")
def varland() -> Varland:
    return Varland()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with Sites(solving.borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")) as sites:
        (status,) = sites.up(("map",), stay=False)
        assert status.state == "up", status.note
        yield sites


@pytest.fixture(scope="module")
def base(sites: Sites) -> str:
    return sites.urls()["map"]


def test_the_country_is_as_large_as_it_should_be_and_has_the_encyclopedias_cities(varland: Varland) -> None:
    towns = {node.tags["name"]: node.tags["population"] for node in varland.extract.nodes if "place" in node.tags}
    assert towns == {city.name: str(city.population) for city in facts.cities()}
    addresses = [
        tuple(node.tags[key] for key in ("addr:city", "addr:street", "addr:housenumber"))
        for node in varland.extract.nodes
        if "addr:housenumber" in node.tags
    ]
    assert len(addresses) > 20_000
    assert len(set(addresses)) == len(addresses)
    assert len(varland.places) > 3_000
    assert max(Counter((one.tags["addr:city"], one.tags["name"]) for one in varland.places).values()) == 1
    assert {way.tags["name"] for way in varland.extract.ways if "waterway" in way.tags} == {
        f"River {name}" for name in facts.RIVERS
    }


def test_the_tasks_are_what_the_data_give() -> None:
    for file, text in made():
        assert file.read_text() == text, "write them again: python -m tests.web.write_map_tasks"


@needs_map
def test_routes_are_the_quickest_ones_and_differ_by_how_one_travels(varland: Varland, base: str) -> None:
    start, end = varland.of("Saltmere", "railway=station")[0], varland.of("Kestrel Bay", "amenity=library")[0]
    client, found = SiteClient(), {}
    for mode in ("car", "bicycle"):
        ends = {"engine": mode, "from": "Saltmere Station", "to": "Kestrel Bay Library"}
        client.get(f"{base}/directions")
        client.submit(ends, form="directions")
        metres, minutes = varland.route(mode, start, end)
        shown = [solving._amount(client.text, pattern) for pattern in ("Distance: ([^<]+)<", "Time: ([^<]+)<")]
        assert shown == [pytest.approx(metres, rel=0.01, abs=50), pytest.approx(minutes, rel=0.01, abs=1)]
        found[mode] = re.findall(r"<li>([^<]+)</li>", client.text)
        assert found[mode][-1] == "You have arrived"
    assert any("Greenway" in step for step in found["bicycle"])
    assert not any("Greenway" in step or "path" in step for step in found["car"])


@needs_map
def test_places_are_found_by_name_address_sort_nearness_and_coordinates(varland: Varland, base: str) -> None:
    station = varland.of("Harwick", "railway=station")[0]
    pharmacies = varland.of("Harwick", "amenity=pharmacy")
    client = SiteClient()

    def search(query: str) -> list[str]:
        client.get(f"{base}/")
        client.submit({"query": query}, form="search")
        return re.findall(r"<li>([^<]+) <a href=[^>]+>([^<]+)</a>", client.text)

    house = f"{station.tags['addr:housenumber']} {station.tags['addr:street']}"
    label = ("Railway station", f"Harwick Station, {house}, {station.tags['addr:postcode']} Harwick, Varland")
    for query in ("harwick station", "Train station in Harwick", f"{house}, Harwick", f"{station.lat}, {station.lon}"):
        assert search(query)[0] == label
    in_town = search("pharmacies in Harwick")
    assert sorted(name.partition(",")[0] for _, name in in_town) == sorted(one.tags["name"] for one in pharmacies)
    near = search("nearest pharmacy to Harwick Station")
    by_air = sorted(pharmacies, key=lambda one: (one.lat - station.lat) ** 2 + (one.lon - station.lon) ** 2 * 0.46)
    assert near[0][1].startswith(by_air[0].tags["name"])
    assert search("no such thing anywhere") == []
    assert "No results found" in client.text
    assert len(search("cafe")) == 10
    client.get(re.findall(r'href="(/search[^"]+)">More', client.text)[0].replace("&amp;", "&"))
    assert '<ol start="11">' in client.text


@needs_map
@pytest.mark.parametrize(
    "path",
    ["/node/999999999", "/node/x", "/way", "/query?lat=x", "/tiles/3/0/0", "/tiles/6/a/1", "/static/../server.py",
     "/directions?engine=rocket&from=Arlow&to=Lindor", "/directions?from=Nowhere+at+all&to=Lindor",
     "/search?query=%22+OR+%2A+NEAR%28", "/search?query=99999+99999&start=-3", "/query?lat=nan&lon=1e999"],
)  # fmt: skip
def test_what_makes_no_sense_gets_a_page(base: str, path: str) -> None:
    client = SiteClient()
    client.get(base + path)
    assert client.entries[-1]["response"]["status"] in (200, 404)
    client.get(f"{base}/")
    assert "Welcome" in client.text


@needs_map
def test_each_task_is_solved_as_written(base: str) -> None:
    known = solving.solutions()
    for task in (task for task in load("local") if task.sites == ("map",)):
        done = solving.play(task, known[task.number]["right"], {"map": base})
        checks = task.raw["eval"]
        if "eval_types" in checks:  # The classic checks need no other package.
            from engine.web.tasks.classic import score_classic

            assert score_classic(task.raw, done.answer, done.url, (), {"map": base}, None)[0] == 1.0, task.id
        elif task.kind == "retrieve":
            (wanted,) = checks[0]["expected"]["retrieved_data"]
            unit = r"([\d.]+ (?:km|m|h|min)\b.*)"
            if re.fullmatch(unit, str(wanted)):
                shown, right = (solving._amount(each, unit) for each in (done.answer, str(wanted)))
                assert shown == pytest.approx(right, rel=0.02, abs="min" in str(wanted)), task.id
            else:
                assert done.answer == str(wanted), task.id
        else:
            assert done.url.startswith(checks[1]["expected"]["url"].replace("__MAP__", base)), task.id


@needs_map
def test_a_browser_shows_the_tiles_and_keeps_the_view_in_the_address(base: str, browser_path: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, play.chromium.launch(executable_path=browser_path) as browser:
        page = browser.new_page(viewport={"width": 640, "height": 400})
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{base}/search?query=Harwick+Library")
        page.wait_for_function("document.getAnimations().length === 0 && document.querySelector('canvas')")
        colours = page.evaluate(
            "[...new Set([...document.querySelectorAll('canvas')].flatMap(one => "
            "[...new Uint32Array(one.getContext('2d').getImageData(0, 0, 256, 256).data.buffer)]))].length"
        )
        assert colours > 20
        zoom, lat, lon = re.findall(r"[\d.-]+", page.url.partition("#map=")[2])
        page.get_by_role("button", name="Zoom out").click()
        page.wait_for_url(re.compile(f"#map={int(zoom) - 1}/{lat}/{lon}$"))
        assert f"Zoom {int(zoom) - 1}, centre {lat}, {lon}" in page.get_by_role("status").inner_text()
        page.get_by_role("button", name="Where is this?").click()
        page.wait_for_url(re.compile(r"/query\?"))
        assert "Harwick Library" in page.get_by_role("region", name="Results").inner_text()
        page.locator("#map").click(button="right")
        page.get_by_role("link", name="Directions to here").click()
        page.wait_for_url(re.compile(r"/directions\?"))
        spot = [float(each) for each in page.get_by_role("textbox", name="To").input_value().split(", ")]
        assert spot == pytest.approx([float(lat), float(lon)], abs=0.01)
        assert wrong == []
