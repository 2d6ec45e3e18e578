"""Writes the tasks of the forum and their solutions from its data: `python -m tests.web.write_forum_tasks`.

What is asked for is looked up in the data, so an answer is true by construction. Topics are chosen so that the answer
is the only one.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.web.sites.forum_data import AGENT, FIRST_FORUM, FORUMS, LETTERS, Post, Topic, forum_content
from engine.web.tasks.suites import LOCAL
from tests.web.solving import SOLUTIONS

NAME = "100-forum.json"
FIRST = 100
BASE = "__REDDIT__"
PAGE = 20
"""Topics on one page, and posts on one page."""

BOARD = forum_content()
PLACES = {forum.id: forum for forum in BOARD.forums}
IDS = {person.user: number for number, person in enumerate(BOARD.people, start=1)}
TOPICS = [topic for topic in BOARD.topics if topic.forum > FIRST_FORUM and len(topic.posts) <= PAGE]
THINGS = dict(
    zip(range(FIRST_FORUM + 1, FIRST_FORUM + 1 + len(FORUMS)), (t for _, t in FORUMS.values()), strict=True)
)


@dataclass
class Made:
    """One task without its number."""

    template: str
    values: dict[str, Any]
    kind: str
    checks: list[dict[str, Any]]
    right: list[Any]
    wrong: list[Any]
    start: str = "/"


def retrieve(template: str, values: dict[str, Any], answer: Any, right: list[Any], start: str = "/") -> Made:
    """Return a task with an answer: a number, or a text."""
    kind = "number" if isinstance(answer, int) else "string"
    check = {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "array", "items": {"type": kind}},
             "expected": {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [answer]}}  # fmt: skip
    wrong = str(answer + 1) if isinstance(answer, int) else "nobody"
    return Made(template, values, "retrieve", [check], right, [["answer", wrong]], start)


def _done(kind: str) -> dict[str, Any]:
    return {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"},
            "expected": {"task_type": kind, "status": "SUCCESS", "retrieved_data": None}}  # fmt: skip


def navigate(template: str, values: dict[str, Any], url: str, start: str = "/") -> Made:
    """Return a task whose end is a page."""
    check = {"evaluator": "NetworkEventEvaluator",
             "expected": {"url": BASE + url, "http_method": "GET", "response_status": 200}}  # fmt: skip
    wrong = [["get", f"{BASE}/topic/unread/"]]
    return Made(template, values, "navigate", [_done("navigate"), check], [["get", BASE + url]], wrong, start)


def mutate(
    template: str, values: dict[str, Any], query: str, rows: list[Any], right: list[Any], wrong: list[Any],
    start: str = "/",
) -> Made:  # fmt: skip
    """Return a task that changes the forum; its database is read afterwards."""
    check = {"evaluator": "StateEvaluator", "site": "reddit", "query": query, "expected": rows}
    return Made(template, values, "mutate", [_done("mutate"), check], right, wrong, start)


def place(topic: Topic) -> str:
    """Return the path of a topic."""
    return f"/topic/{topic.id}/{topic.slug}/"


def forum(topic: Topic) -> str:
    """Return the path of a topic's forum."""
    return f"/category/{topic.forum}/{re.sub('[^a-z]+', '-', PLACES[topic.forum].title.lower())}/"


def on_first_page(topic: Topic) -> bool:
    """Whether a topic is on the first page of its forum, where the ones are whose last post is new."""
    mates = sorted(
        (t for t in BOARD.topics if t.forum == topic.forum), key=lambda t: t.posts[-1].date, reverse=True
    )
    return topic in mates[:PAGE]


def begun_by(user: str) -> str:
    """Return the path of a topic that a user has started. The forum has no list of its users and no search for them."""
    return place(next(topic for topic in reversed(TOPICS) if topic.posts[0].user == user))


def misplaced(topic: Topic) -> bool:
    """Whether a topic stands in a forum about other things."""
    return not any(thing in topic.title for thing in THINGS[topic.forum])


def favourite(posts: tuple[Post, ...]) -> Post | None:
    """Return the post with the most likes, None if there are two."""
    order = sorted(posts, key=lambda post: -len(post.likes))
    return order[0] if len(order) > 1 and len(order[0].likes) > len(order[1].likes) else None


def quoted(text: str) -> str:
    """Return a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


class Picker:
    """Gives each topic to one task only."""

    def __init__(self) -> None:
        self._left = random.Random(1).sample(TOPICS, len(TOPICS))

    def take(
        self,
        *,
        near: bool = True,
        odd: bool = False,
        mine: bool | None = False,
        most: int = 12,
        **wanted: Any,
    ) -> Topic:
        """Return a topic.

        Args:
            near: Whether it is on the first page of its forum.
            odd: Whether it stands in a forum about other things.
            mine: Whether the person who does the tasks has opened it.
            most: Most posts.
            wanted: `best` asks for one reply that is liked most, `spoken` for an own reply.
        """
        for topic in self._left:
            users = Counter(post.user for post in topic.posts)
            first = topic.posts[0]
            if (
                len(topic.posts) > most or len(topic.posts) < 3 or misplaced(topic) != odd
                or (first.user == AGENT) != mine
                or (wanted.get("best") and favourite(topic.posts[1:]) is None)
                or (wanted.get("spoken", False) != any(post.user == AGENT for post in topic.posts[1:]))
                or (not mine and AGENT in first.likes)
                or (not mine and not wanted.get("spoken") and not odd and on_first_page(topic) != near)
                or users[first.user] > 1
            ):  # fmt: skip
                continue
            self._left.remove(topic)
            return topic
        raise LookupError(f"no topic is left: {near=} {odd=} {mine=} {wanted}")


def tasks() -> Iterator[Made]:
    """Yield all tasks."""
    pick = Picker()
    yield from _asked(pick)
    yield from _opened(pick)
    yield from _changed(pick)
    yield from _several(pick)


def _likes(post: Post) -> str:
    return rf'data-pk="{post.id}".*?like \((\d+)\)'


def _asked(pick: Picker) -> Iterator[Made]:
    for near in (True, False):
        topic = pick.take(near=near)
        yield retrieve(
            'How many likes has the first post of the topic "{{title}}"?',
            {"title": topic.title},
            len(topic.posts[0].likes),
            [["get", BASE + place(topic)], ["read", _likes(topic.posts[0])]],
        )
    for near in (True, False):
        topic = pick.take(near=near)
        yield retrieve(
            'Who started the topic "{{title}}"? Give the user name.',
            {"title": topic.title},
            topic.posts[0].user,
            [["get", BASE + place(topic)], ["read", r"username__link.*?<span>(\w+)<"]],
        )
    for near in (True, False):
        topic = pick.take(near=near, best=True)
        best = favourite(topic.posts[1:])
        assert best is not None
        yield retrieve(
            'Who wrote the reply with the most likes in the topic "{{title}}"? Give the user name.',
            {"title": topic.title},
            best.user,
            [["get", BASE + place(topic)], ["read", rf'data-pk="{best.id}".*?<span>(\w+)<']],
        )
    for near in (True, False):
        topic = pick.take(near=near)
        yield retrieve(
            'How many posts has the topic "{{title}}", the first one included?',
            {"title": topic.title},
            len(topic.posts),
            [["get", BASE + place(topic)], ["count", r'class="comments_list__comment']],
        )
    for _ in range(2):
        topic = pick.take(odd=True)
        yield retrieve(
            'In which forum is the topic "{{title}}"?',
            {"title": topic.title},
            PLACES[topic.forum].title,
            [["get", BASE + place(topic)], ["read", r'href="/category/\d+/[\w-]+/"[^>]*>([^<]+)<']],
        )
    opened = Counter(topic.posts[0].user for topic in BOARD.topics)
    few = sorted(user for user, count in opened.items() if 3 <= count <= 9 and user != AGENT)
    for user in (few[3], few[30]):
        yield retrieve(
            "How many topics has the user {{user}} started?",
            {"user": user},
            opened[user],
            [["get", f"{BASE}/user/topics/{IDS[user]}/"], ["count", r'class="topic__title"']],
            start=begun_by(user),
        )
    for title, question, answer, pattern in (
        ("Key for the boat shed", "What is the number of the lock of the boat shed", 417, r"number (\d+)"),
        ("Recipe for cider cake", "How many eggs does the cider cake take", 6, r"(\d+) eggs"),
    ):  # fmt: skip
        letter = next(topic for topic in BOARD.topics if topic.title == title and topic.members)
        yield retrieve(
            f"{question}, according to the private message that I got?",
            {},
            answer,
            [["get", f"{BASE}/topic/private/{letter.id}/{letter.slug}/"], ["read", pattern]],
        )
    for title, question, answer, pattern in (
        ("Rules of the Commons", "How many links may a post have by the rules?", 4, r"at most (\d+) links"),
        ("Server moves in autumn", "To which city does the server of this site move?", "Ostby", r"moves to (\w+)\."),
        ("Lost and found after the fair",
         "In which city are the things found after the fair?", "Lindor", r"station of (\w+)"),
    ):  # fmt: skip
        notice = next(topic for topic in BOARD.topics if topic.title == title)
        yield retrieve(question, {}, answer, [["get", BASE + place(notice)], ["read", pattern]])


def _opened(pick: Picker) -> Iterator[Made]:
    for number in (3, 9):
        topic = next(topic for topic in TOPICS if topic.forum == FIRST_FORUM + number)
        yield navigate("Open the forum {{forum}}.", {"forum": PLACES[topic.forum].title}, forum(topic))
    for near in (True, False):
        topic = pick.take(near=near)
        yield navigate(
            'Open the topic "{{title}}" of the forum {{forum}}.',
            {"title": topic.title, "forum": PLACES[topic.forum].title},
            place(topic),
        )
    for _ in range(2):
        topic = pick.take(odd=True)
        yield navigate('Open the topic "{{title}}".', {"title": topic.title}, place(topic))
    user = pick.take().posts[0].user
    yield navigate(
        "Open the list of what the user {{user}} likes.",
        {"user": user},
        f"/user/likes/{IDS[user]}/{user}/",
        start=begun_by(user),
    )
    user = pick.take().posts[0].user
    yield navigate(
        "Open the list of the topics that the user {{user}} has started.",
        {"user": user},
        f"/user/topics/{IDS[user]}/{user}/",
        start=begun_by(user),
    )
    yield navigate("Open the list of my private messages.", {}, "/topic/private/")
    yield navigate("Open the page where I can change my password.", {}, "/user/password-change/")
    first = max((t for t in BOARD.topics if t.forum == FIRST_FORUM + 5), key=lambda t: t.posts[-1].date)
    yield navigate(
        "Open the topic of the forum {{forum}} in which somebody wrote last.",
        {"forum": PLACES[first.forum].title},
        place(first),
    )


def _posts(where: str) -> str:
    return ("SELECT c.comment FROM spirit_comment_comment c JOIN auth_user u ON u.id = c.user_id "
            "JOIN spirit_topic_topic t "
            f"ON t.id = c.topic_id WHERE u.username = {quoted(AGENT)} AND {where} ORDER BY c.id")  # fmt: skip


def _liked(post: Post) -> str:
    return ("SELECT count(*) FROM spirit_comment_like_commentlike l JOIN auth_user u ON u.id = l.user_id "
            f"WHERE u.username = {quoted(AGENT)} AND l.comment_id = {post.id}")  # fmt: skip


def _like(post: Post) -> list[Any]:
    return [["get", f"{BASE}/comment/like/{post.id}/create/"], ["submit", {}, ".", "post"]]


def _reply(topic: Topic, text: str) -> list[Any]:
    return [["get", BASE + place(topic)], ["submit", {"comment": text}, f"/comment/{topic.id}/publish", ""]]


def _changed(pick: Picker) -> Iterator[Made]:
    for title, text, number in (
        ("Snow in Norrick", "Half a metre since noon.", 14), ("Choir in Ostby", "We look for two basses.", 10),
        ("Old maps of Wenlow", "Who has one from before the flood?", 9),
    ):  # fmt: skip
        where = FIRST_FORUM + number
        publish = f"{BASE}/topic/publish/{where}/"
        yield mutate(
            'Start a topic "{{title}}" in the forum {{forum}} with the text "{{text}}".',
            {"title": title, "forum": PLACES[where].title, "text": text},
            "SELECT t.category_id, c.comment FROM spirit_topic_topic t "
            "JOIN spirit_comment_comment c ON c.topic_id = t.id "
            f"WHERE t.title = {quoted(title)}", [[where, text]],
            [["get", publish], ["submit", {"title": title, "category": str(where), "comment": text}, ".", ""]],
            [["get", publish], ["submit", {"title": title, "category": str(where - 1), "comment": text}, ".", ""]],
        )  # fmt: skip
    for near, text in (
        (True, "The ferry takes it along."),
        (False, "I can bring it on Friday."),
        (False, "Try vinegar."),
    ):
        topic = pick.take(near=near)
        yield mutate(
            'Reply "{{text}}" to the topic "{{title}}".',
            {"text": text, "title": topic.title},
            _posts(f"t.id = {topic.id}"),
            [[text]],
            _reply(topic, text),
            _reply(topic, text + " No."),
        )
    for near in (True, False):
        topic = pick.take(near=near)
        yield mutate(
            'Like the first post of the topic "{{title}}".',
            {"title": topic.title},
            _liked(topic.posts[0]),
            [[1]],
            _like(topic.posts[0]),
            _like(topic.posts[1]),
        )
    topic = next(
        t for t in TOPICS if AGENT in t.posts[0].likes and on_first_page(t) and t.posts[0].user != AGENT
    )
    yield mutate(
        'Take back my like of the first post of the topic "{{title}}".',
        {"title": topic.title},
        _liked(topic.posts[0]),
        [[0]],
        [
            ["get", BASE + place(topic)],
            ["follow", rf'data-pk="{topic.posts[0].id}".*?href="(/comment/like/\d+/delete/)"'],
            ["submit", {}, ".", "post"],
        ],
        [["get", BASE + place(topic)]],
    )
    for text in ("It is settled, thank you all.", "I have found one in Marwen."):
        topic = pick.take(spoken=True)
        mine = next(post for post in topic.posts if post.user == AGENT)
        update = f"{BASE}/comment/{mine.id}/update/"
        yield mutate(
            'Change the text of my post in the topic "{{title}}" to "{{text}}".',
            {"title": topic.title, "text": text},
            f"SELECT comment FROM spirit_comment_comment WHERE id = {mine.id}",
            [[text]],
            [["get", update], ["submit", {"comment": text}, ".", ""]],
            [["get", update], ["submit", {"comment": "Never mind."}, ".", ""]],
        )
    for title in ("Solved, thank you", "Found one at the fair of Corriedale"):
        topic = pick.take(mine=True)
        update = f"{BASE}/topic/update/{topic.id}/"
        yield mutate(
            'Change the title of my topic "{{title}}" to "{{new}}".',
            {"title": topic.title, "new": title},
            f"SELECT title FROM spirit_topic_topic WHERE id = {topic.id}",
            [[title]],
            [["get", update], ["submit", {"title": title}, ".", ""]],
            [["get", update], ["submit", {"title": title + "!"}, ".", ""]],
        )
    topic = pick.take()
    bad = topic.posts[0]
    report = f"{BASE}/comment/flag/{bad.id}/create/"
    yield mutate(
        'Report the first post of the topic "{{title}}" as spam.',
        {"title": topic.title},
        "SELECT f.reason, u.username FROM spirit_comment_flag_flag f JOIN auth_user u ON u.id = f.user_id "
        f"WHERE f.comment_id = {bad.id}",
        [[0, AGENT]],
        [["get", report], ["submit", {"reason": "0"}, ".", "post"]],
        [["get", report], ["submit", {"reason": "1"}, ".", "post"]],
    )
    topic = pick.take()
    told = ("SELECT n.is_active FROM spirit_topic_notification_topicnotification n "
            "JOIN auth_user u ON u.id = n.user_id "
            f"WHERE u.username = {quoted(AGENT)} AND n.topic_id = {topic.id}")  # fmt: skip
    yield mutate(
        'Have me notified of new posts in the topic "{{title}}".',
        {"title": topic.title},
        told,
        [[1]],
        [["get", BASE + place(topic)], ["submit", {}, "/topic/notification/", ""]],
        [["get", BASE + place(topic)]],
    )
    for city in ("Tarnholm", "Kestrel Bay"):
        yield mutate(
            "Set the location in my preferences to {{city}}.",
            {"city": city},
            "SELECT p.location FROM spirit_user_userprofile p JOIN auth_user u ON u.id = p.user_id "
            f"WHERE u.username = {quoted(AGENT)}",
            [[city]],
            [["get", f"{BASE}/user/"], ["submit", {"location": city}, ".", ""]],
            [["get", f"{BASE}/user/"], ["submit", {"location": "Arlow"}, ".", ""]],
        )
    for title, text in (("Sunday", "The tide is at four."), ("Your ladder", "May I borrow it until Monday?")):
        user = pick.take().posts[0].user
        yield _message(
            'Send the user {{user}} a private message "{{title}}" with the text "{{text}}".',
            {"user": user, "title": title, "text": text},
            user,
            title,
            text,
        )


def _message(template: str, values: dict[str, Any], user: str, title: str, text: str) -> Made:
    publish = f"{BASE}/topic/private/publish/{IDS[user]}/"
    query = ("SELECT c.comment FROM spirit_topic_private_topicprivate p JOIN spirit_topic_topic t ON t.id = p.topic_id "
             "JOIN auth_user u ON u.id = p.user_id JOIN spirit_comment_comment c ON c.topic_id = t.id "
             f"WHERE u.username = {quoted(user)} AND t.title = {quoted(title)}")  # fmt: skip
    return mutate(
        template,
        values,
        query,
        [[text]],
        [["get", publish], ["submit", {"title": title, "users": user, "comment": text}, ".", ""]],
        [["get", publish], ["submit", {"title": title, "users": "keeper", "comment": text}, ".", ""]],
    )


def _several(pick: Picker) -> Iterator[Made]:
    """Tasks in which one page says what is to be done on another."""
    for near, text in ((True, "I think so, too."), (False, "Where exactly was that?")):
        topic = pick.take(near=near, best=True)
        best = favourite(topic.posts[1:])
        assert best is not None
        yield _message(
            'Send a private message "{{title}}" with the text "{{text}}" to who wrote the reply with the most '
            'likes in the topic "{{topic}}".',
            {"title": "Your reply", "text": text, "topic": topic.title},
            best.user,
            "Your reply",
            text,
        )
    for near in (True, False):
        topic = pick.take(near=near, best=True)
        best = favourite(topic.posts[1:])
        assert best is not None
        other = next(
            post for post in topic.posts[1:] if post != best and AGENT not in (post.user, *post.likes)
        )
        if AGENT in (best.user, *best.likes):
            raise LookupError("the best reply is liked already")
        yield mutate(
            'Like the reply that has the most likes in the topic "{{title}}".',
            {"title": topic.title},
            _liked(best),
            [[1]],
            _like(best),
            _like(other),
        )
    letter = next(topic for topic in BOARD.topics if topic.title == LETTERS[2][0] and topic.members)
    yield mutate(
        'Answer the private message "{{title}}" with "{{text}}".',
        {"title": letter.title, "text": "It is yours."},
        _posts(f"t.id = {letter.id}"),
        [["It is yours."]],
        [
            ["get", f"{BASE}/topic/private/{letter.id}/{letter.slug}/"],
            ["submit", {"comment": "It is yours."}, f"/comment/{letter.id}/publish", ""],
        ],
        [["get", f"{BASE}/topic/private/"]],
    )
    for number in (6, 12):
        last = max(
            (t for t in BOARD.topics if t.forum == FIRST_FORUM + number), key=lambda t: t.posts[-1].date
        )
        yield mutate(
            'Reply "{{text}}" to the topic of the forum {{forum}} in which somebody wrote last.',
            {"text": "Count me in.", "forum": PLACES[last.forum].title},
            _posts(f"t.id = {last.id}"),
            [[post.text] for post in last.posts if post.user == AGENT] + [["Count me in."]],
            _reply(last, "Count me in."),
            [["get", BASE + place(last)]],
        )
    topic = pick.take(odd=True)
    yield retrieve(
        'Who wrote last in the topic "{{title}}"? Give the user name.',
        {"title": topic.title},
        topic.posts[-1].user,
        [["get", BASE + place(topic)], ["read", r".*username__link.*?<span>(\w+)<"]],
    )
    opened = Counter(topic.posts[0].user for topic in BOARD.topics)
    liked = (t for t in TOPICS if 3 <= opened[t.posts[0].user] <= 9 and t.posts[0].user != AGENT)
    for topic in [next(liked), *[each for each in liked][40:41]]:
        user = topic.posts[0].user
        own = sorted((t for t in BOARD.topics if t.posts[0].user == user), key=lambda t: -len(t.posts))
        if len(own[0].posts) > len(own[1].posts):
            yield retrieve(
                "What is the title of the topic with the most posts that the user {{user}} has started?",
                {"user": user},
                own[0].title,
                [
                    ["get", f"{BASE}/user/topics/{IDS[user]}/"],
                    ["read", rf">\s*({re.escape(own[0].title)})\s*<"],
                ],
                start=begun_by(user),
            )


def written() -> tuple[str, str]:
    """Return the two files: tasks and solutions."""
    templates: dict[str, int] = {}
    listed, solved = [], []
    for number, made in enumerate(tasks(), start=FIRST):
        intent = made.template
        for key, value in made.values.items():
            intent = intent.replace("{{" + key + "}}", str(value))
        listed.append({
            "task_id": number, "sites": ["reddit"],
            "intent_template_id": FIRST + templates.setdefault(made.template, len(templates)),
            "start_urls": [BASE + made.start], "intent": intent, "intent_template": made.template,
            "instantiation_dict": made.values, "eval": made.checks, "revision": 1,
        })  # fmt: skip
        solved.append({"task_id": number, "right": made.right, "wrong": made.wrong})
    return _lines(listed), _lines(solved)


def _lines(items: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]\n"


def files() -> dict[Path, str]:
    """Return what each file has to contain."""
    return dict(zip((LOCAL / NAME, SOLUTIONS / NAME), written(), strict=True))


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
