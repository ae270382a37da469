"""Brings pages that lie outside of docs/ into the site, and links between both; mkdocs calls it."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "project"
PAGES = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "tools/embedded/README.md",
)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"{FOLDER}/{name}", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_other: object) -> str:
    """Links lead to where a page lies in the site; to what is no page of it, none leads."""
    here = page.file.src_uri
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [LINK.sub(lambda link: moved(link, here, files), part) for part in parts[::2]]
    return "".join(parts)


def moved(link: re.Match[str], here: str, files: Files) -> str:
    words, target, anchor = link.group(1), link.group(2), link.group(3) or ""
    there = in_site(posixpath.normpath(posixpath.join(at_home(here), "..", target)))
    if files.get_file_from_path(there) is None:
        return words if "../" in target or here.startswith(FOLDER) else link.group(0)
    return f"[{words}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor})"


def at_home(uri: str) -> str:
    """A page of the site -> its file in the project."""
    return uri.removeprefix(f"{FOLDER}/") if uri.startswith(f"{FOLDER}/") else f"docs/{uri}"


def in_site(path: str) -> str:
    return f"{FOLDER}/{path}" if path in PAGES else path.removeprefix("docs/")
