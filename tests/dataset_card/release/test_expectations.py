"""A release checks its own tables: by Great Expectations alone, where nothing of this program can be imported."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataset_card.release.manifest import CARD
from dataset_card.release.verify import verify_release
from dataset_card.release_store.folder import Release, write_release
from tests.dataset_card.card.test_loading_snippets import snippets
from tests.support.commands import clean_environment
from tests.support.releases import all_bytes, content, report

# Without `site` the packages' folder has to be named, and the file in it that leads to this repository is not read.
ALONE = f"""
import sys
from importlib.util import find_spec
sys.path.append({sysconfig.get_path("purelib")!r})
assert not any(map(find_spec, ("prompts", "assets", "validation", "dataset_card", "pipelines")))
"""


def checked(home: Path, *folders: Path) -> list[str]:
    """What the card's snippet prints in each release folder, by one process, as the library takes seconds to import."""
    card = (folders[0] / CARD).read_text(encoding="utf-8")
    (code,) = [one for one in snippets(card, "python") if "great_expectations" in one]
    everywhere = f"import os\nfor folder in {list(map(str, folders))!r}:\n    os.chdir(folder)\n    exec({code!r}, {{}})\n"
    line = [sys.executable, "-I", "-S", "-c", ALONE + everywhere]
    done = subprocess.run(
        line, cwd=folders[0], env=clean_environment(home), capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return [told for told in done.stdout.splitlines() if told.startswith(("passed ", "broken "))]


@pytest.fixture
def whole(tmp_path: Path) -> Release:
    return write_release(content(report=report()), root=tmp_path / "releases")


def spoil(folder: Path, table: str, column: str, value: object) -> None:
    """Put another value into the first row of a table."""
    path = folder / "tables" / "demo" / f"{table}.parquet"
    rows = pq.read_table(path)  # pyright: ignore[reportUnknownMemberType]
    changed = rows.to_pylist()
    changed[0][column] = value
    pq.write_table(pa.Table.from_pylist(changed, schema=rows.schema), path)  # pyright: ignore[reportUnknownMemberType]


def test_the_card_s_snippet_passes_a_release_and_leaves_it_whole_and_no_table_that_was_changed_afterwards_passes(
    whole: Release, tmp_path: Path
) -> None:
    before = all_bytes(whole.folder)
    changed = shutil.copytree(whole.folder, tmp_path / "changed")
    spoil(changed, "users", "age", 200)
    told, other = checked(tmp_path, whole.folder, changed)
    assert other.startswith("broken ")
    site = whole.folder / "demo" / "gx" / "uncommitted" / "data_docs" / "local_site"
    assert told == f"passed {(site / 'index.html').as_uri()}"
    tables = [path.stem for path in (whole.folder / "tables" / "demo").glob("*.parquet")]
    assert sorted(path.stem for path in (site / "expectations").glob("*.html")) == sorted(tables)
    assert sorted(path.name for path in (site / "validations").iterdir()) == sorted(tables)
    assert {path: data for path, data in all_bytes(whole.folder).items() if path in before} == before
    assert verify_release(whole.folder) == []


def test_a_suite_says_what_takes_more_than_its_file(whole: Release) -> None:
    folder = whole.folder / "demo" / "gx" / "expectations"
    suites = {path.stem: json.loads(path.read_bytes()) for path in folder.glob("*.json")}
    for name, suite in suites.items():
        schema = pq.read_schema(whole.folder / "tables" / "demo" / f"{name}.parquet")  # pyright: ignore[reportUnknownMemberType]
        read = {one["kwargs"]["column"] for one in suite["expectations"] if "column" in one["kwargs"]}
        assert read <= set(schema.names)
    assert "golden choices match the states holds" in suites["questions"]["notes"]
    assert "$PARAMETER" not in json.dumps(suites)
