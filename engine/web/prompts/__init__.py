"""The prompts for web pages, one file each (App. F, WebArena)."""

from engine.llm.prompts import Folder

PAGES = Folder("engine.web.prompts")
