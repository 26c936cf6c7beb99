"""What looks at all users holds few of them: rows read at a time, and bytes that stay, do not grow with the set."""

import tracemalloc
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pytest

from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.engine.ports import SnapshotRef
from assets.engine.serialized_record import SerializedRecord
from assets.records.base import ItemRecord
from dataset_card.release.rows import FinishedRows
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support import gate_votes, scenario
from tests.support.coroutines import run
from tests.support.run_contexts import materialized, provenance, run_context, sampled
from tests.support.scenario import USER_ID, varied
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe
from tests.validation.reports import finished_user
from validation.amemgym.benchmark import AMEMGYM_VALIDATION
from validation.amemgym.report.builder import QualityReportBuilder
from validation.finished_items import FinishedItems
from validation.report.asset import report_on
from validation.rules import RecordsOfItem

pytestmark = pytest.mark.slow  # many users are made

R = TypeVar("R", bound=ItemRecord)
PART, AT_ONCE = 4, 2


@dataclass
class CountingSnapshots(ParquetSnapshots):
    """The snapshots of a folder; `most` is the number of records that one reading gave at most, ids left out."""

    folder: Path
    most: int = 0
    asked: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        super().__init__(self.folder)

    def read_serialized(
        self, ref: SnapshotRef, stage: str, *, record: type[R], positions: Collection[int] | None = None
    ) -> dict[int, SerializedRecord[R]]:
        rows = super().read_serialized(ref, stage, record=record, positions=positions)
        assert len(rows) <= PART
        if record is not ItemRecord:
            self.asked.add(stage)
            self.most = max(self.most, len(rows))
        return rows


def test_report_and_release_read_no_more_users_than_asked_for_and_no_part_at_once(tmp_path: Path) -> None:
    recipe = small_recipe(num_users=2 * PART + 1, num_reserve=0)
    shop = run_context(tmp_path, ScriptedModel(), items_per_part=PART)
    results = materialized(shop, recipe, *STAGES[1:])
    refs = {"personas": {recipe.variant: sampled(shop, recipe)}}
    refs |= {name: {recipe.variant: result.ref} for name, result in results.items()}
    counting = CountingSnapshots(tmp_path)
    finished = FinishedItems(replace(shop, snapshots=counting), recipe, refs, AMEMGYM, items_at_once=AT_ONCE)
    report, _ = run(report_on(finished, AMEMGYM_VALIDATION, project=tmp_path / "gx"))
    assert (report.finished, counting.most, counting.asked) == (2 * PART + 1, AT_ONCE, {stage.name for stage in STAGES})
    made_from = provenance(recipe, {name: units[recipe.variant] for name, units in refs.items()})
    rows = FinishedRows(AMEMGYM, counting, made_from, items_at_a_time=AT_ONCE)
    assert len(list(rows.items())) == 2 * PART + 1
    assert counting.most == AT_ONCE
    assert list(rows.gate_records())


def another_user(number: int) -> RecordsOfItem:
    """Another user with an episode of the same kind."""
    user_id, one = f"user-{number:04d}", scenario.episode()
    profile = varied(one.user_profile, user_id=user_id)
    episode = varied(one, user_id=user_id, user_profile=profile, state_schema=varied(one.state_schema, user_id=user_id))
    assert USER_ID not in episode.model_dump_json()
    return finished_user(episode, votes=tuple(gate_votes.gate_records()))


def test_of_a_user_who_has_passed_little_more_than_numbers_stay() -> None:
    builder = QualityReportBuilder(scenario.recipe(), users=10_000)
    for number in range(20):
        builder.add(another_user(number))
    tracemalloc.start()
    try:
        for number in range(20, 120):
            builder.add(another_user(number))
        stayed, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stayed / 100 < 4_000
