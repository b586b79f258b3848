"""What the site needs beyond MkDocs: links that leave docs/, folders in nav.

The pages are written for a reader of the repository, whose links lead to any of its files. The site
holds docs/ alone, so

- a file outside that some page links to becomes a page under ``source/``: a document as it is, a
  notebook cell by cell, anything else as its text;
- a link whose text is the name of a page shows the title of the page;
- a folder in ``nav``, such as ``ecosystem/``, stands for its pages, the index first.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SOURCE = "source/"
TEXT = re.compile(
    r"(?P<code>^```.*?^```$)"
    r"|\[(?P<text>[^\]\[]*)\]\((?!\w+:)(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)
"""What of a document is looked at: code, which has no links, and links."""
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".jsonl": "json", ".js": "js"}


def on_config(config: Any) -> Any:
    """Name the pages of ``nav`` as the site does."""
    config.nav = named(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each file outside of the site that a page leads to."""
    from mkdocs.structure.files import File, InclusionLevel

    for path in outside_files(sorted(DOCS.rglob("*.md"))):
        content, level = source_page(path), InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, site_uri(path), content=content, inclusion=level))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Resolve the links of a page of docs/."""
    if page.file.src_uri.startswith(SOURCE):
        return markdown
    return resolved(markdown, DOCS / page.file.src_uri, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Name sources as the repository does; no marks of code in types, no dash before nothing."""
    if not page.file.src_uri.startswith("api/"):
        return html
    html = re.sub(r'\u2013(\s*<div class="doc-md-description">\s*</div>)', r"\1", html)
    html = html.replace("build/types/pocket_uno_env/agents/", "agents/")
    return html.replace("build/types/", "").replace("``", "")


def named(nav: Any) -> Any:
    """`nav` with folders as lists of their pages, and files outside of docs/ as the site's."""
    if isinstance(nav, list):
        return [named(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: named(value) for title, value in nav.items()}
    path = Path(os.path.normpath(DOCS / nav))
    if not nav.endswith("/"):
        return site_uri(path)
    pages = [page for page in path.iterdir() if page.suffix in {".md", ".ipynb"}]
    return [site_uri(page) for page in sorted(pages, key=lambda p: (p.stem != "index", p.stem))]


def pages_of(nav: Any) -> list[str]:
    """All pages in `nav`, in order."""
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [page for value in values for page in pages_of(value)]


def outside_files(waiting: list[Path]) -> list[Path]:
    """All files and folders outside of the site's pages that are linked to, by whatever way."""
    found: dict[Path, None] = {}
    for path in waiting:  # it grows
        for target in targets(path):
            if not is_page(target) and target not in found and target.exists():
                found[target] = None
                waiting.append(target)
    return list(found)


def is_page(path: Path) -> bool:
    """Whether MkDocs itself puts this file on the site: pages and pictures of docs/."""
    return path.is_relative_to(DOCS) and path.suffix in {".md", ".jpg", ".png"}


def targets(path: Path) -> Iterator[Path]:
    """What a document links to; a folder leads to its files."""
    if path.is_dir():
        yield from folder_files(path)
    elif path.suffix == ".md":
        for match in TEXT.finditer(path.read_text("utf-8")):
            if not match["code"]:
                yield Path(os.path.normpath(path.parent / match["target"]))


def folder_files(folder: Path) -> list[Path]:
    """The files of a folder that its page lists."""
    return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def site_uri(path: Path) -> str:
    """The place of a file on the site: as it is within docs/, below ``source/`` elsewhere."""
    if is_page(path):
        return path.relative_to(DOCS).as_posix()
    uri = SOURCE + path.relative_to(ROOT).as_posix()
    return uri if path.suffix in {".md", ".jpg", ".png"} else f"{uri}.md"


def source_page(path: Path) -> str | bytes:
    """What the site shows of a file outside of docs/."""
    name = path.relative_to(ROOT).as_posix()
    # Sources would bury what a search is for; and what README.md says stands on other pages, too.
    searched = path.suffix in {".md", ".ipynb"} and path.name != "README.md"
    head = "" if searched else "---\nsearch:\n  exclude: true\n---\n\n"
    if path.suffix in {".jpg", ".png"}:
        return path.read_bytes()
    if path.is_dir():
        lines = [f"- [{file.name}]({file.name})" for file in folder_files(path)]
        text = "\n".join([f"# {name}/", "", *lines, ""])
        return head + resolved(text, path / "index.md", site_uri(path))
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return head + resolved(text, path, site_uri(path))
    if path.suffix == ".ipynb":
        return head + notebook(json.loads(text))
    return f"{head}# {name}\n\n{fenced(text, LANGUAGES.get(path.suffix, 'text'))}\n"


def resolved(text: str, path: Path, uri: str) -> str:
    """The text of the document `path`, with its links as the page `uri` needs them."""

    def replace(match: re.Match[str]) -> str:
        if match["code"]:
            return match["code"]
        target = Path(os.path.normpath(path.parent / match["target"]))
        there = os.path.relpath(site_uri(target), os.path.dirname(uri))
        named = match["text"] in {match["target"], target.name} and target.suffix == ".md"
        shown = heading(target) if named and target.is_file() else match["text"]
        return f"[{shown}]({there}{match['anchor'] or ''})"

    return TEXT.sub(replace, text)


def heading(path: Path) -> str:
    """The title of a document."""
    return path.read_text("utf-8").splitlines()[0].lstrip("# ")


def notebook(content: dict[str, Any]) -> str:
    """A notebook as a page: its text, its code, and what it printed and drew."""
    parts = []
    for cell in content["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else fenced(text, "python"))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if picture := next((kind for kind in ("image/png", "image/gif") if kind in data), None):
                parts.append(f"![output](data:{picture};base64,{data[picture].strip()})")
            else:
                printed = output.get("text") or data.get("text/plain") or []
                parts.append(fenced(re.sub(r"\x1b\[[\d;]*m", "", "".join(printed)), "text"))
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str) -> str:
    """A block of code, whatever it contains."""
    return f"````{language}\n{text.rstrip()}\n````"
