"""Finished users read back a few at a time: the same ones as all at once, in the order of the sample."""

from pathlib import Path

import pytest

from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.engine.ports import RunContext, SnapshotRef
from assets.records.base import GateRecord, ItemRecord
from assets.reporting.gate_summary import votes_of
from dataset_card.release.rows import FinishedRows
from tests.support.run_contexts import materialized, provenance, run_context, sampled
from tests.support.scripted_model import Script, ScriptedModel, reply
from tests.support.small import persona, small_recipe
from validation.finished_items import FinishedItems

RECIPE = small_recipe()
REFUSED_LATE: Script = {
    "audits/profile_only": [
        lambda request: reply("No.", finish="refusal") if "Ada Number0" in str(request.messages) else {"1": 1}
    ]
}


def made(folder: Path, script: Script) -> tuple[RunContext, dict[str, dict[str, SnapshotRef]]]:
    shop = run_context(folder, ScriptedModel(script), items_per_part=1)
    results = materialized(shop, RECIPE, *STAGES[1:])
    refs = {"personas": {RECIPE.variant: sampled(shop, RECIPE)}}
    refs |= {name: {RECIPE.variant: result.ref} for name, result in results.items()}
    return shop, refs


@pytest.mark.parametrize("script", [{}, REFUSED_LATE], ids=["nobody replaced", "one replaced at the end"])
@pytest.mark.parametrize("portion", [1, 50])
def test_portions_hold_what_the_report_sees(tmp_path: Path, script: Script, portion: int) -> None:
    shop, refs = made(tmp_path, script)
    made_from = provenance(RECIPE, {name: units[RECIPE.variant] for name, units in refs.items()})
    rows = FinishedRows(AMEMGYM, shop.snapshots, made_from, items_at_a_time=portion)
    finished = FinishedItems(shop, RECIPE, refs, AMEMGYM)
    episodes: list[ItemRecord] = []
    votes: list[tuple[str, GateRecord]] = []
    for records in finished.items():
        episodes.append(records["episodes"])
        for record in records.values():
            votes += [(record.item_id, vote) for vote in votes_of(record)]
    assert [episode.item_id for episode in episodes] == [persona(number).user_id for number in ((1, 2) if script else (0, 1))]
    assert list(rows.items()) == episodes
    assert list(rows.failures()) == list(finished.failures())
    assert [(user, vote) for user, seen in rows.gate_records() for vote in seen] == votes
    assert votes
