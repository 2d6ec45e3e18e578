"""Fills the forum with what is on stdin: `python forum_seed.py`, with the settings' variables set."""

from __future__ import annotations

import json
import os
import secrets
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

PRIVATE = 1
"""Spirit's own category for private topics."""


def main(board: dict[str, Any]) -> None:
    """Create the database and the search index."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from django.db import transaction

    with transaction.atomic():
        people = _people(board)
        _topics(board, people)
    call_command("rebuild_index", interactive=False, verbosity=0)


def _people(board: dict[str, Any]) -> dict[str, Any]:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.hashers import make_password
    from spirit.user.models import UserProfile

    user = get_user_model()
    joined = _when(board["people"][0]["joined"])
    rows = [
        user(
            id=number, username=each["user"], email=f"{each['user']}@{board['domain']}", first_name=each["first"],
            last_name=each["last"], date_joined=_when(each["joined"]),
            password=make_password(each["password"] or None),
        )
        for number, each in enumerate(board["people"], start=1)
    ]
    user.objects.bulk_create(rows)
    UserProfile.objects.bulk_create([
        UserProfile(
            user=row, nickname=each["user"], location=each["city"], is_verified=True, is_moderator=each["moderates"]
        )
        for row, each in zip(rows, board["people"], strict=True)
    ])  # fmt: skip
    UserProfile.objects.update(last_seen=joined)
    return {row.username: row for row in rows}


def _topics(board: dict[str, Any], people: dict[str, Any]) -> None:
    from djconfig.models import Config
    from spirit.category.models import Category
    from spirit.comment.like.models import CommentLike
    from spirit.comment.models import Comment
    from spirit.topic.models import Topic
    from spirit.topic.notification.models import TopicNotification
    from spirit.topic.private.models import TopicPrivate

    for key, value in board["config"].items():
        Config.objects.update_or_create(key=key, defaults={"value": value})
    Category.objects.exclude(id=PRIVATE).delete()
    began = _when(board["people"][0]["joined"])
    Category.objects.update(reindex_at=began)
    Category.objects.bulk_create([
        Category(id=each["id"], title=each["title"], description=each["description"], sort=number, reindex_at=began)
        for number, each in enumerate(board["forums"])
    ])  # fmt: skip
    topics, comments, likes, members, notices = [], [], [], [], []
    for each in board["topics"]:
        posts, start = each["posts"], _when(each["date"])
        last = _when(posts[-1]["date"])
        topics.append(Topic(
            id=each["id"], category_id=each["forum"], user=people[posts[0]["user"]], title=each["title"], date=start,
            last_active=last, reindex_at=last, comment_count=len(posts), is_pinned=each["pinned"],
            is_closed=each["closed"],
        ))  # fmt: skip
        members += [TopicPrivate(user=people[name], topic=topics[-1], date=start) for name in each["members"]]
        for post in posts:
            comments.append(Comment(
                id=post["id"], topic=topics[-1], user=people[post["user"]], comment=post["text"],
                comment_html=f"<p>{post['text']}</p>", date=_when(post["date"]), likes_count=len(post["likes"]),
            ))  # fmt: skip
            likes += [
                CommentLike(user=people[name], comment=comments[-1], date=comments[-1].date + timedelta(hours=1))
                for name in post["likes"]
            ]
        notices += [
            TopicNotification(
                user=people[name], topic=topics[-1], comment=comments[-1], date=last, is_active=True, is_read=False,
                action=TopicNotification.COMMENT,
            )
            for name in each["members"]
            if name != posts[-1]["user"]
        ]  # fmt: skip
    for rows in (topics, comments, likes, members, notices):
        if rows:
            type(rows[0]).objects.bulk_create(rows, batch_size=500)


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)


if __name__ == "__main__":
    folder = Path(os.environ["JITRL_FORUM_DATA"])
    (folder / "secret").write_text(secrets.token_hex(32))  # the key that signs sessions; each build has its own
    (folder / "media").mkdir(exist_ok=True)
    main(json.load(sys.stdin))
