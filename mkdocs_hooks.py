"""What mkdocs does besides: pages at the root of the repository, and one of all keys, are pages of the site, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from jitrl_tui import keymap
from jitrl_tui.panes.registry import kinds

ROOT = Path(__file__).parent
OUTSIDE = {
    "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md", "README.md": "index.md",
}  # fmt: skip


def on_config(config: Any) -> Any:
    """Name headings as GitHub does, so that links to them hold in both places."""
    config.mdx_configs["toc"]["slugify"] = lambda text, _: re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for name, page in OUTSIDE.items():
        if not files.get_file_from_path(page):
            text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
            files.append(File.generated(config, page, content=_inside(text, "")))
    files.append(File.generated(config, "keys.md", content=keymap.page(keymap.tables(kinds()))))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files at the root lead to their pages."""
    return _inside(markdown, "../" * (page.file.src_uri.count("/") + 1))


def _inside(text: str, up: str) -> str:
    for name, page in OUTSIDE.items():
        text = text.replace(f"]({up}{name}", f"]({up.removesuffix('../')}{page}")
    return text
