"""Scores tasks with WebArena-Verified's evaluators: one JSON request per line in, one JSON verdict per line out.

It runs in its own environment, because the package needs exact versions of others, and imports nothing of this
project. A request has `task` (as in the data set), `urls` (by site), `answer` (the agent's message: text, object or
null) and `entries` (of a HAR). It ends at the end of its input.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any


def main() -> int:
    """Answer requests until the input ends."""
    logging.disable(logging.CRITICAL)
    replies = sys.stdout
    sys.stdout = sys.stderr  # Output of the package must not mix with verdicts.
    for line in sys.stdin:
        try:
            reply = judge(json.loads(line))
        except Exception as error:
            reply = {"score": None, "error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    return 0


def judge(request: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on one request: `score`, `status`, `parts` (evaluator to score), `notes`, `error`."""
    from webarena_verified.api.internal.evaluator import WebArenaVerifiedEvaluator
    from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
    from webarena_verified.types.eval import TaskEvalContext
    from webarena_verified.types.task import WebArenaVerifiedTask
    from webarena_verified.types.tracing import NetworkTrace

    urls = {site: EnvironmentConfig(urls=[url]) for site, url in request["urls"].items()}
    config = WebArenaVerifiedConfig(environments=urls)
    task = WebArenaVerifiedTask.model_validate(request["task"])
    entries = request["entries"] or [_nothing(next(iter(request["urls"].values())))]
    context = TaskEvalContext(
        task=task,
        agent_response_raw=request["answer"],
        network_trace=NetworkTrace.from_content(entries),
        config=config,
    )
        # The reader holds the 812 published tasks. With a context it is not used, so other tasks can be judged, too.
    result = WebArenaVerifiedEvaluator(config=config, reader=None).evaluate_task(context=context)
    results = result.evaluators_results
    notes = [
        message
        for each in results
        for assertion in (each.assertions or ())
        if str(assertion.status) != "success"
        for message in (assertion.assertion_msgs or (assertion.assertion_name,))
    ]
    return {
        "score": float(result.score),
        "status": str(result.status),
        "parts": {each.evaluator_name: float(each.score) for each in results},
        "notes": notes[:10],
        "error": result.error_msg or "",
    }


def _nothing(url: str) -> dict[str, Any]:
    # A trace must not be empty. An agent that requested no page has failed, which is not an error of the judge.
    return {
        "request": {"method": "GET", "url": f"{url}/favicon.ico", "headers": []},
        "response": {"status": 0, "headers": [], "cookies": [], "redirectURL": ""},
    }


if __name__ == "__main__":
    sys.exit(main())
