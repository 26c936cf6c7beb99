"""The site has every page, its reference pages follow from the code, and links that lead nowhere are told."""

import json
import re
import tomllib
from base64 import b64encode
from pathlib import Path

import pytest

from assets.recipe.config_schema import recipe_fields
from assets.recipe.registry import RECIPE_TYPES
from pipelines.benchmarks import BENCHMARKS
from pipelines.cli.main import COMMANDS
from pipelines.docs_site.__main__ import ROOT, dead_links, main, page_of, without_links_to_code
from pipelines.docs_site.reference import assets_page, commands_page, recipe_page, records_page, table

SHELVES = ("Start", "Make", "Score", "Tracks", "Extend")
DECISIONS = ROOT / "pipelines" / "guide" / "decisions"
HERE = ROOT / "pipelines" / "guide" / "extend" / "check.md"


def test_every_page_is_on_a_shelf_of_the_site_and_decisions_are_in_their_list(tmp_path: Path) -> None:
    assert main(tmp_path) == 0
    shelves = tomllib.loads((tmp_path / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert [title for shelf in shelves for title in shelf] == [*SHELVES, "Reference", "All pages"]
    named = {name for shelf in shelves for pages in shelf.values() for page in pages for name in page.values()}
    laid = {str(path.relative_to(tmp_path / "pages")) for path in (tmp_path / "pages").rglob("*.md")}
    decisions = {name for name in laid if re.fullmatch(r"pipelines/guide/decisions/.+/.+", name)}
    assert named == laid - decisions
    listed = (DECISIONS / "README.md").read_text(encoding="utf-8")
    assert [name for name in decisions if f"]({Path(ROOT / name).relative_to(DECISIONS)})" not in listed] == []


def test_a_link_that_leads_nowhere_is_told_with_its_page() -> None:
    text = "[here](stage.md#3) [there](https://example.org) [gone](nowhere.md)\n```\n[z](in-a-fence.md)\n```\n"
    assert list(dead_links(text, page=HERE)) == ["pipelines/guide/extend/check.md links to nowhere.md, which is not there."]


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[`contract.py`](../../memories/contract.py)", "`pipelines/memories/contract.py`"),
        ("[the contract](../../memories/contract.py)", "the contract (`pipelines/memories/contract.py`)"),
        ("[a stage](stage.md#2)", "[a stage](stage.md#2)"),
        ("![life](../pictures/life.png)", "![life](../pictures/life.png)"),
        ("[the notebook](../notebook.ipynb)", "[the notebook](../notebook.md)"),
    ],
)
def test_a_link_to_code_becomes_its_words_and_path(link: str, shown: str) -> None:
    assert without_links_to_code(link, page=HERE) == shown


def test_a_notebook_becomes_a_page_with_what_its_cells_showed(tmp_path: Path) -> None:
    table = "<div>\n<style>td {}</style>\n<table border=\"1\" class='dataframe'>\n  <tr><td>7</td></tr>\n</table>\n</div>"
    outputs = [
        {"output_type": "stream", "text": ["said\n"]},
        {"output_type": "execute_result", "data": {"text/html": [table], "text/plain": ["7"]}},
        {"output_type": "display_data", "data": {"image/png": b64encode(b"drawn").decode(), "text/plain": ["<Figure>"]}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
        {"cell_type": "code", "id": "c1", "source": ["print(7)"], "outputs": outputs},
    ]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    page = page_of(path, pictures=tmp_path)
    assert page.startswith("# Title\nWords.\n\n```python\nprint(7)\n```\n\n```text\nsaid\n")
    assert "\n<table><tr><td>7</td></tr></table>\n" in page
    assert page.endswith('<img src="book-c1.png" alt="What the cell above draws">\n')
    assert (tmp_path / "book-c1.png").read_bytes() == b"drawn"


def test_reference_pages_name_every_command_field_stage_table_and_column() -> None:
    commands = commands_page()
    assert [name for name in COMMANDS if f"### amemgym {name}\n" not in commands] == []
    assert "`--set FIELD=VALUE`" in commands
    assert "amemgym cache prune" in commands
    fields = [field.path for kind in RECIPE_TYPES.values() for field in recipe_fields(kind)]
    recipe, assets, records = recipe_page(), assets_page(), records_page()
    assert [name for name in fields if f"`{name}`" not in recipe] == []
    for benchmark in (entry.benchmark for entry in BENCHMARKS.values()):
        names = [*benchmark.stage_names, *benchmark.tables]
        assert [name for name in names if f"`{name}`" not in assets] == []
        assert f"## {benchmark.name}: one {benchmark.noun}" in records


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    assert table(("a", "b"), [("1", "2")]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |", ""]
    for line in recipe_page().splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 7, line
