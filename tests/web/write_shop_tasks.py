"""Writes more tasks of the shop and its dashboard from the shop's data: `python -m tests.web.write_shop_tasks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.web.sites.oscar_site import shop_data

ROOT = Path(__file__).parents[2]
FIRST = 300


def made() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the tasks and their solutions."""
    tasks: list[dict[str, Any]] = []
    solutions: list[dict[str, Any]] = []
    templates: dict[str, int] = {}
    shop = shop_data.make()

    def add(
        site: str, template: str, values: dict[str, str], answer: Any, page: str, pattern: str, wrong: str
    ) -> None:
        number, base = FIRST + len(tasks), f"__{site.upper()}__"
        intent = template
        for name, value in values.items():
            intent = intent.replace("{{" + name + "}}", value)
        kind = "number" if isinstance(answer, int) else "string"
        expected = {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [answer]}
        schema = {"type": "array", "items": {"type": kind}}
        judge = {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": expected}
        tasks.append({
            "task_id": number, "sites": [site], "start_urls": [f"{base}/"],
            "intent_template_id": templates.setdefault(template, FIRST + len(templates)), "intent": intent,
            "intent_template": template, "instantiation_dict": values, "eval": [judge], "revision": 1,
        })  # fmt: skip
        right = [["get", base + page], ["read", pattern]]
        solutions.append({"task_id": number, "right": right, "wrong": [["answer", wrong]]})

    for noun, word in (("Teapot", "teapot"), ("Tent", "tent"), ("Hammock", "hammock")):
        found = [one for one in shop.products if one.category.endswith(f"> {noun}s")]
        dearest = max(found, key=lambda one: one.cents)
        add("shopping", "What is the full name of the dearest {{kind}} of the shop, in stock or not?", {"kind": word},
            dearest.title, f"/search/?q={word}&sort_by=price-desc", r'title="([^"]+)"',
            min(found, key=lambda one: one.cents).title)  # fmt: skip
    for status in ("Complete", "Cancelled", "Being processed"):
        count = sum(one.status == status for one in shop.orders)
        add("shopping_admin", "How many orders have the status {{status}}?", {"status": status}, count,
            f"/orders/?order_number=&name=&status={status.replace(' ', '+')}", r"Select all (\d+) Orders",
            "20")  # fmt: skip
    for month, first, last in (
        ("March 2026", "2026-03-01", "2026-03-31"),
        ("June 2025", "2025-06-01", "2025-06-30"),
    ):
        count = sum(first <= one.placed.date().isoformat() <= last for one in shop.orders)
        add("shopping_admin", "How many orders were placed in {{month}}?", {"month": month}, count,
            f"/orders/?date_from={first}&date_to={last}&response_format=html", r"Select all (\d+) Orders",
            "20")  # fmt: skip
    for number in (10050, 10321, 10655):
        order = next(one for one in shop.orders if one.number == number)
        add("shopping_admin", "What is the e-mail address of the customer who placed the order {{order}}?",
            {"order": str(number)}, order.person.email, f"/orders/{number}/", r"<td>(\S+@\S+)</td>",
            "nobody@varland.example")  # fmt: skip
    return tasks, solutions


if __name__ == "__main__":
    for folder, items in zip(("engine/web/sites/tasks", "tests/web/solutions"), made(), strict=True):
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        (ROOT / folder / "300-shop.json").write_text(f"[\n{lines}\n]\n")
