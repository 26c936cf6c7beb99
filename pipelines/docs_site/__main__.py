"""`python -m pipelines.docs_site FOLDER`: lays out the pages of the site, in the folders that they have in the repository.

The pages keep their names, so that links from one to another hold. What a link to code leads to is not in the site: its words
stay. A link to nothing ends it with exit status 1. `make docs` makes the site of them with Zensical.
"""

import json
import re
import shutil
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipelines.docs_site.reference import PAGES

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "pipelines" / "guide" / "README.md"
CONFIGURATION = Path(__file__).parent / "zensical.toml"
SEARCH = Path(__file__).parent / "search_from_disk.js"
LINK = re.compile(r"(?P<words>\[[^\]]*\])\((?P<path>(?!https?:|mailto:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
SHELF_OR_PAGE = re.compile(r"^## (?P<shelf>.+)$|^- \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)", re.MULTILINE)
NO_PAGES = "nav = []"
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NOTEBOOK = ".ipynb"
PROMPTS = ROOT / "prompts"  # Markdown, but code
KEPT = (".md", ".png", ".svg", NOTEBOOK)


def main(folder: Path) -> int:
    """Write pages, pictures and configuration into `folder`; the exit status. Says each link that leads nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    dead = list(lay_out(pages))
    for name, page in PAGES.values():
        path = pages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")
    # TOML's inline tables are JSON's objects with another sign.
    listed = json.dumps(navigation(), separators=(", ", " = "), ensure_ascii=False)
    configuration = CONFIGURATION.read_text(encoding="utf-8").replace(NO_PAGES, f"nav = {listed}")
    (folder / CONFIGURATION.name).write_text(configuration, encoding="utf-8")
    shutil.copyfile(SEARCH, pages / "iframe-worker.js")
    print("\n".join(dead), file=sys.stderr)
    return 1 if dead else 0


def navigation() -> list[dict[str, list[dict[str, str]]]]:
    """Return the site's pages shelf by shelf, by title: the guide's list, then pages that are read off the code."""
    shelves: list[dict[str, list[dict[str, str]]]] = []
    pages: list[dict[str, str]] = []
    for found in SHELF_OR_PAGE.finditer(GUIDE.read_text(encoding="utf-8")):
        if found["shelf"]:
            pages = []
            shelves.append({found["shelf"]: pages})
        else:
            page = (GUIDE.parent / found["path"]).resolve().relative_to(ROOT)
            pages.append({found["title"]: str(page.with_suffix(".md"))})
    pages += [{title: name} for title, (name, _) in PAGES.items()]
    return [*shelves, {"All pages": [{"Guide": str(GUIDE.relative_to(ROOT))}]}]


def lay_out(pages: Path) -> Iterator[str]:
    """Copy the repository's pages and their pictures; yield a sentence for each link that leads nowhere."""
    for source in sources():
        target = pages / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix in (".md", NOTEBOOK):
            is_notebook = source.suffix == NOTEBOOK
            text = page_of(source, pictures=target.parent) if is_notebook else source.read_text(encoding="utf-8")
            yield from dead_links(text, page=source)
            target.with_suffix(".md").write_text(without_links_to_code(text, page=source), encoding="utf-8")
        else:
            shutil.copyfile(source, target)


def sources() -> list[Path]:
    """Return the files of the site in the repository: pages, and the pictures of the guide."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    for path in sorted((ROOT / "pipelines").rglob("*")):
        if path.suffix in KEPT:
            found.append(path)
    return found


def dead_links(text: str, *, page: Path) -> Iterator[str]:
    """Yield a sentence for each link of a page to a file that is not in the repository."""
    # FENCE has a group, so that every second part is a block of code, whose brackets are no links.
    for part in FENCE.split(text)[::2]:
        for link in LINK.finditer(part):
            if not (page.parent / link["path"]).exists():
                yield f"{page.relative_to(ROOT)} links to {link['path']}, which is not there."


def without_links_to_code(text: str, *, page: Path) -> str:
    """Return the page's text; of a link to what is no page of the site, its words."""

    def words(link: re.Match[str]) -> str:
        target = page.parent / link["path"]
        if target.suffix == NOTEBOOK:
            return link[0].replace(NOTEBOOK, ".md")
        if target.suffix in KEPT and not target.resolve().is_relative_to(PROMPTS):
            return link[0]
        name = target.resolve().relative_to(ROOT)
        if link["words"].strip("[`]") in str(name):
            return f"`{name}`"
        return f"{link['words'][1:-1]} (`{name}`)"

    parts = FENCE.split(text)
    for number in range(0, len(parts), 2):
        parts[number] = LINK.sub(words, parts[number])
    return "".join(parts)


def page_of(notebook: Path, *, pictures: Path) -> str:
    """Return the notebook as Markdown. The pictures of its cells are written into `pictures`, the folder of the page."""
    parts: list[str] = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        parts += _parts(cell, pictures=pictures, name=notebook.stem)
    return "\n".join(parts)


def _parts(cell: Mapping[str, Any], *, pictures: Path, name: str) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield f"{source}\n"
        return
    yield f"```python\n{source}\n```\n"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            picture = pictures / f"{name}-{cell['id']}.png"
            picture.write_bytes(b64decode(data["image/png"]))
            yield f'<img src="{picture.name}" alt="What the cell above draws">\n'
        elif "text/html" in data:
            yield _table("".join(data["text/html"]))
        else:
            yield f"```text\n{''.join(output.get('text') or data['text/plain'])}\n```\n"


def _table(html: str) -> str:
    """Return the table on one line, as Markdown keeps it, and as plain as the site's style wants it."""
    _, tag, rows = html[: html.index("</table>")].partition("<table")
    rows = rows.partition(">")[2]
    return f"{tag}>{''.join(line.strip() for line in rows.splitlines())}</table>\n"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
