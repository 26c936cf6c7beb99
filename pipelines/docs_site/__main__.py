"""`python -m pipelines.docs_site FOLDER`: lays out the pages of the site, in the folders that they have in the repository.

The pages keep their names, so that links from one to another hold. What a link to code leads to is not in the site: its words
stay. A link to nothing ends it with exit status 1. `make docs` makes the site of them with Zensical.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pipelines.docs_site.notebook import page_of
from pipelines.docs_site.reference import PAGES

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).parent / "zensical.toml"
LINK = re.compile(r"(?P<words>\[[^\]]*\])\((?P<path>(?!https?:|mailto:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NOTEBOOK = ".ipynb"
KEPT = (".md", ".png", ".svg", NOTEBOOK)


def main(folder: Path) -> int:
    """Write pages, pictures and configuration into `folder`; the exit status. Says each link that leads nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    dead = list(lay_out(pages))
    for name, page in PAGES.items():
        path = pages / "reference" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")
    shutil.copyfile(CONFIGURATION, folder / CONFIGURATION.name)
    print("\n".join(dead), file=sys.stderr)
    return 1 if dead else 0


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
    """The files of the site in the repository: pages, and the pictures of the guide."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *(path for path in sorted((ROOT / "pipelines").rglob("*")) if path.suffix in KEPT)]


def dead_links(text: str, *, page: Path) -> Iterator[str]:
    """A sentence for each link of a page to a file that is not in the repository."""
    for part in FENCE.split(text)[::2]:
        for link in LINK.finditer(part):
            if not (page.parent / link["path"]).exists():
                yield f"{page.relative_to(ROOT)} links to {link['path']}, which is not there."


def without_links_to_code(text: str, *, page: Path) -> str:
    """The page's text; of a link to what is no page of the site, its words."""

    def kept(link: re.Match[str]) -> str:
        target = page.parent / link["path"]
        if target.suffix in KEPT:
            return link[0].replace(NOTEBOOK, ".md") if target.suffix == NOTEBOOK else link[0]
        name = target.resolve().relative_to(ROOT)
        return f"`{name}`" if link["words"].strip("[`]") in str(name) else f"{link['words'][1:-1]} (`{name}`)"

    parts = FENCE.split(text)
    return "".join(part if number % 2 else LINK.sub(kept, part) for number, part in enumerate(parts))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
