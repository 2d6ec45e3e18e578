"""The table of waits: for what jitrl waits that may never answer, how long, and what it does then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """One row of the table.

    Attributes:
        what: What is waited for.
        seconds: How long.
        then: What is done after that.
    """

    what: str
    seconds: float
    then: str


# The database of a shared memory, and of sessions that are followed
DATABASE_CONNECT = Wait("a connection to a database", 2.0, "the database counts as away")
DATABASE_WRITE = Wait(
    "a write to a shared memory, all tries together", 2.0, "it waits on this machine's disk, and is sent later"
)
DATABASE_ANSWER = Wait(
    "a sign of life of a database that was asked", 10.0, "the connection is closed, and this machine's replica is read"
)
DATABASE_HURRY = Wait("a database, once a run was interrupted", 0.3, "as above")

# How long a decision waits for its model is the setting `deadline_s`

# Stories
STORY_LOAD = Wait("a story that starts", 120.0, "its process is killed, and a sentence says so")
STORY_STEP = Wait("one command of a story", 15.0, "its process is killed, and the command counts as one that breaks it")
STORY_ACTIONS = Wait("the valid actions of a place", 120.0, "its process is killed, and started anew")
STORY_EXIT = Wait("the exit of a story's process that closed its line", 2.0, "it is killed")
STORY_FETCH = Wait("a download of stories", 30.0, "a sentence says so")
STORY_COMPILE = Wait("the compiler of a story", 60.0, "it is killed, and a sentence says so")
STORY_BUILD = Wait("a program that makes stories", 600.0, "it is killed, and a sentence says so")

# Gymnasium and BrowserGym, each in a process of its own
GYM_OPEN = Wait("a package that makes an environment", 180.0, "its process is killed, and a sentence says so")
GYM_RESET = Wait("the beginning of an episode", 60.0, "its process is killed, and a sentence says so")
GYM_STEP = Wait("one step", 30.0, "its process is killed, and the episode ends")
BROWSERGYM_OPEN = Wait("BrowserGym's benchmarks", 180.0, "its process is killed, and a sentence says so")
BROWSERGYM_RESET = Wait("a task that logs in", 180.0, "its process is killed, and a sentence says so")
BROWSERGYM_STEP = Wait("one step of BrowserGym", 90.0, "its process is killed, and the episode ends")

# The browser
BROWSER_START = Wait("a browser that starts", 30.0, "a sentence says so")
BROWSER_ACTION = Wait("one action, such as a click", 5.0, "the agent is told that it failed")
BROWSER_LOAD = Wait("a page that loads", 20.0, "the page is read as it is")
BROWSER_SETTLE = Wait("a page that still changes", 3.0, "the page is read as it is")
BROWSER_SNAPSHOT = Wait("the reading of a page", 10.0, "the page counts as one that hangs")
BROWSER_ELEMENT = Wait("one element of a page that changes while it is read", 1.0, "it is left out")
BROWSER_MARGIN = Wait("the browser itself, beyond each of these", 5.0, "it counts as hung, and is replaced")
BROWSER_EPISODE = Wait("the browser, in all of one episode", 300.0, "the episode ends")
BROWSER_END = Wait("a browser that closes", 5.0, "it is left behind, and ends with the process")

# Local web sites
SITE_START = Wait("a site that starts", 40.0, "it is killed, and a sentence says so")
SITE_STOP = Wait("a site that ends", 5.0, "it is killed")
SITE_ANSWER = Wait("an answer of a site that starts, is asked for or prepared", 20.0, "a sentence says so")
SITE_BUILD = Wait("the data of a site", 300.0, "it is killed, and a sentence says so")
SITE_INSTALL = Wait("the packages of the sites", 1200.0, "it is killed, and a sentence says so")
EXTRA_INSTALL = Wait("the packages of an extra", 1800.0, "it is killed, and a sentence says so")
EXTRA_LOAD = Wait("the modules of an extra", 120.0, "a sentence says so")
SYSTEM_LOOK = Wait("a look at limits, or by `ps` at processes", 20.0, "a sentence says so, or there are none")
VERDICT = Wait("a verdict of WebArena-Verified", 60.0, "its process is killed; the episode is kept without it")

# Ray
RAY_ANSWER = Wait("a head node that is joined", 10.0, "a sentence says so")
RAY_HEAD = Wait("a head node that stopped answering", 20.0, "the run ends, and can be resumed")
RAY_NODE = Wait("a node that imports jitrl", 120.0, "a sentence says so")
RAY_NODE_GONE = Wait("a node that the head node has given up", 6.0, "its cells are lost, and played elsewhere")
RAY_CELL = Wait("the former worker of a cell", 120.0, "the cell is played by the new one")
RAY_DESK = Wait("an answer whether to stop", 30.0, "the question is asked again")
RAY_PACE = Wait("leave for a call of a model", 10.0, "the worker keeps to a pace of its own")

# Screens, plain lines, and the end of a process
INTERRUPT = Wait("the end of a run after Ctrl-C", 1.5, "a sentence says for what it waits, and a second Ctrl-C ends it")
LEAVE = Wait("a session that ends when its screen is left", 1.5, "the screen says what it waits for")
LEFT = Wait("the same, after the screen has said so", 60.0, "the screen is left, and the process ends with the session")
SCREEN_FAILED = Wait("a session or a run whose screen failed", 10.0, "the process ends; finished steps are stored")
LINES_END = Wait("a session whose plain lines are left", 30.0, "the process ends; finished steps are stored")
BENCH_LEFT = Wait("a benchmark whose screen was left", 90.0, "the process ends; finished steps are stored")
TERMINAL_STORE = Wait("a session whose terminal closed", 2.5, "it is left behind")
TERMINAL_END = Wait("the process whose terminal closed", 3.5, "it ends; finished steps are stored")
FOLLOWED_ANSWER = Wait("a followed session that was told something", 20.0, "a sentence says that it does not answer")
FOLLOWED_PARTING = Wait("a followed session that is handed back", 0.5, "it goes on by itself once nobody is there")

# Visitors of `jitrl serve`
VISITOR_HEAD = Wait("the first request of a connection", 10.0, "the connection is closed")
VISITOR_IDLE = Wait("another request, or a sign of life of a visitor", 15.0, "the connection is closed")
VISITOR_CLOSE = Wait("a browser that is told that its visit is over", 2.0, "the connection is closed")
VISITOR_QUIT = Wait("the process of a visitor who left", 5.0, "it gets SIGTERM")
VISITOR_END = Wait("the same, after SIGTERM", 2.0, "it is killed, with all that it has begun")
VISITORS_END = Wait("all visits, when `jitrl serve` ends", 10.0, "their connections are closed")

# Runs, threads and files
WORKERS_END = Wait("workers that were asked to stop", 60.0, "they are killed; what they played is kept")
THREAD_END = Wait("a thread, at the end of what it works for", 1.0, "it is left behind, and ends with the process")
TRAIN_INSTALL = Wait("the packages for training", 3600.0, "the installer is killed, and a sentence says so")
TRAIN_ASK = Wait("the training environment's versions", 60.0, "it counts as broken")
LOCK = Wait("a file that another process has locked", 30.0, "a sentence says which, and nothing is changed")
SQLITE = Wait("a small database that another process has locked", 2.0, "it is done without")
