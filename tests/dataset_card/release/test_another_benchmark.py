"""A benchmark that is not AMemGym gets a release folder, a card, checks and versions from its value alone."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assets.amemgym.records.user import UserRecord
from assets.engine.benchmark import Benchmark
from assets.engine.stage import Stage
from assets.recipe.recipe import Recipe, Unit
from assets.records.common_tables import FailureRow
from assets.records.flat_tables import Table, TableColumn, flat_row, number
from dataset_card.card.recipe import canary_of
from dataset_card.hub.asset import card_problems
from dataset_card.release.content import ReleaseContent, ReleaseFormat
from dataset_card.release.derived import examine_release
from dataset_card.release.manifest import ReleaseError
from dataset_card.release_store.folder import Release, write_release
from tests.support import gate_votes, scenario
from tests.support.commands import clean_environment
from tests.support.releases import all_bytes, queried


class Riddle(UserRecord):
    text: str


class Solved(UserRecord):
    text: str
    answer: str
    hints: tuple[str, ...]


def draw(recipe: Recipe, unit: Unit) -> Iterable[tuple[int, Riddle]]:
    raise NotImplementedError


DRAWN = Stage("riddles", Riddle, draw=draw)
RIDDLES = Benchmark(
    name="riddle",
    noun="riddle",
    recipe=Recipe,
    stages=(DRAWN, Stage("solved", Solved, needs=(DRAWN,))),
    tables={
        "riddles": Table(flat_row(Solved, "", "", "user_id text answer"), ("user_id",)),
        "hints": Table(
            flat_row(
                Solved, "hints", "", "user_id", number("number", ""), TableColumn("hint", str, "", lambda place: place.record)
            ),
            ("user_id", "number"),
            group=("user_id",),
        ),
        "failures": Table(FailureRow, ("user_id",), scored=False),
    },
)
FORMAT = ReleaseFormat(RIDDLES)


def riddle(name: str = "one", *, text: str = "What has keys?", answer: str = "a piano", hints: int = 2) -> Solved:
    return Solved(user_id=name, text=text, answer=answer, hints=tuple(f"hint {number}" for number in range(hints)))


def released(root: Path, *items: Solved) -> Release:
    content = ReleaseContent(
        form=FORMAT,
        recipe=scenario.recipe(variant="riddles", num_users=3),
        items=items,
        generator="amemgym-synth 0.1.0",
        failures=[gate_votes.failure()],
    )
    return write_release(content, root=root)


def test_the_folder_holds_nested_rows_flat_tables_card_recipe_and_manifest(tmp_path: Path) -> None:
    release = released(tmp_path, riddle(), riddle("two"))
    assert set(all_bytes(release.folder)) == {
        *("LICENSE", "README.md", "eval.yaml", "manifest.json", "recipe.yaml", "riddles/test-00000-of-00001.parquet"),
        *(f"tables/riddles/{name}.parquet" for name in ("riddles", "hints", "failures")),
        *("riddles/gx/checkpoints/release.json", "riddles/gx/great_expectations.yml"),
        *(f"riddles/gx/expectations/{name}.json" for name in ("riddles", "hints", "failures")),
        *(f"riddles/gx/validation_definitions/{name}.json" for name in ("riddles", "hints", "failures")),
    }
    assert release.manifest.counts == {"riddles": 2, "hints": 4, "failures": 1}
    nested = queried(f"SELECT user_id, hints FROM '{release.folder}/riddles/test-*.parquet'")
    assert nested == [(name, ["hint 0", "hint 1"]) for name in ("one", "two")]
    canary = canary_of(release.manifest.recipe_fingerprint)
    assert canary in (release.folder / "README.md").read_text(encoding="utf-8")
    for path in release.folder.rglob("*.parquet"):
        schema: Any = pq.read_schema(path)  # pyright: ignore[reportUnknownMemberType]
        assert schema.metadata == {b"canary": canary.encode()}
    assert examine_release(release.folder) == []
    assert list(card_problems(release.folder)) == []
    again = released(tmp_path / "elsewhere", riddle(), riddle("two"))
    assert all_bytes(again.folder) == all_bytes(release.folder)


@pytest.mark.parametrize(
    ("after", "version"),
    [
        ((riddle(),), "0.1.0"),
        ((riddle(text="What has many keys?"),), "1.0.0"),
        ((riddle(), riddle("two")), "0.2.0"),
        ((riddle(answer="a map"),), "1.0.0"),
        ((riddle(hints=3),), "1.0.0"),
        ((riddle("two"),), "1.0.0"),
    ],
    ids=["the same", "other words", "a riddle more", "another answer", "a hint more", "a riddle gone"],
)
def test_the_next_version_follows_from_its_tables(tmp_path: Path, after: tuple[Solved, ...], version: str) -> None:
    released(tmp_path, riddle())
    second = released(tmp_path, *after)
    assert second.version == version
    card = (second.folder / "README.md").read_text(encoding="utf-8")
    assert ("## Changes since 0.1.0" in card) == (version != "0.1.0")


def test_its_card_loads_it_and_says_what_its_columns_mean(tmp_path: Path) -> None:
    folder = released(tmp_path, riddle(), riddle("two")).folder
    card = (folder / "README.md").read_text(encoding="utf-8")
    pandas, datasets, _ = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    (select,) = re.findall(r"```sql\n(.*?)```", card, re.DOTALL)
    code = f"{pandas}\n{datasets}\nimport duckdb\nprint(len(riddles), len(duckdb.sql({select!r}).fetchall()))"
    around = clean_environment(tmp_path, HF_HOME=str(tmp_path / "hf"), HF_HUB_OFFLINE="1")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=around, capture_output=True, text=True)
    assert done.stdout == "2 2\n", done.stderr
    assert "| `failures.message` | text | the sentence that says why |" in card


def test_messages_have_its_noun(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="Riddle 'one' is in the release twice; give every riddle once"):
        released(tmp_path, riddle(), riddle())
    with pytest.raises(ReleaseError, match="There is no finished riddle"):
        released(tmp_path)
