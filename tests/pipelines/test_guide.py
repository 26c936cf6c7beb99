"""The guide's pages fit the code: what they change applies, what they write is Python, where they point to is there."""

import ast
import re
import shutil
from pathlib import Path

import pytest

from pipelines.docs_site.prompt_table import PAGE, prompt_table
from tests.support.guide import ROOT, fences, pages, write

GUIDE = ROOT / "pipelines" / "guide"
PAGES = [ROOT / "README.md", *(page for page in sorted(GUIDE.rglob("*.md")) if "decisions" not in page.parts)]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", pages())
def test_what_a_page_writes_and_changes_fits_the_repository(page: str, tmp_path: Path) -> None:
    told = [fence for fence in fences(pages()[page]) if fence.kind != "sh"]
    written = {fence.path for fence in told if fence.path}
    changed = {path for fence in told for path in re.findall(r"^\+\+\+ b/(.+)$", fence.text, re.MULTILINE)}
    for path in {"pyproject.toml", *changed} - written:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, tmp_path / path)
    for fence in told:
        write(fence, place=tmp_path)
    for path in sorted(written | changed):
        if path.endswith(".py"):
            ast.parse((tmp_path / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_where_a_page_points_to_is_there(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_table_of_prompts_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == prompt_table(), "`python -m pipelines.docs_site.prompt_table` writes it anew"
