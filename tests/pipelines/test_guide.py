"""The guide's pages fit the code: what they change applies, what they write is Python, where they point to is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.guide import ROOT, copy_of_the_repository, fences, pages, write

GUIDE = ROOT / "pipelines" / "guide"
PAGES = [ROOT / "README.md", *sorted(GUIDE.glob("*.md")), *sorted((GUIDE / "using").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", pages())
def test_what_a_page_writes_and_changes_fits_the_repository(page: str, tmp_path: Path) -> None:
    place = copy_of_the_repository(tmp_path / "copy")
    told = [fence for fence in fences(pages()[page]) if fence.kind != "sh"]
    for fence in told:
        write(fence, place=place)
    written = {fence.path for fence in told if fence.path}
    changed = {path for fence in told for path in re.findall(r"^\+\+\+ b/(.+)$", fence.text, re.MULTILINE)}
    for path in sorted(written | changed):
        if path.endswith(".py"):
            ast.parse((place / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_where_a_page_points_to_is_there(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []
