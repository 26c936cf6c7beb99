"""A materialization is worth looking at: what its metadata tells of users, rows, gates, cost and place."""

from pathlib import Path
from typing import Any

from assets.amemgym.events import EVENTS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.user import UserRecord
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.materialization import SUMMARIZED, first_records, stage_metadata
from assets.engine.stage import Stage
from assets.engine.stage_runner import StageResult
from assets.reporting.asset_description import IN_PLACE, AssetDescription, Row, preview
from tests.support.run_contexts import materialized, run_context
from tests.support.scripted_model import ScriptedModel, reply
from tests.support.small import persona, small_recipe

CHAIN = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES)
DESCRIPTION = AssetDescription("sessions", "What. Why.", rows=lambda record: [{"id": record.user_id, "empty": ""}])


def told(folder: Path, result: StageResult, stage: Stage[Any], records: list[UserRecord] | None = None) -> dict[str, Any]:
    shop = run_context(folder, ScriptedModel())
    found = first_records(shop.snapshots, result, stage.record) if records is None else records
    return stage_metadata(result, description=DESCRIPTION, records=found, stored_at=shop.snapshots.address)


def detail(shown: dict[str, Any]) -> dict[str, str]:
    """The plain values of `details` by name."""
    rows = [line.strip("| ").split(" | ") for line in shown["details"].md_str.splitlines() if line.startswith("| ")]
    return {row[0]: row[-1] for row in rows}


def test_a_stage_with_a_gate_tells_counts_rows_gates_and_where_its_snapshot_lies(tmp_path: Path) -> None:
    shop, recipe = run_context(tmp_path, ScriptedModel()), small_recipe()
    result = materialized(shop, recipe, *CHAIN)["session_queries"]
    shown = told(tmp_path, result, SESSION_QUERIES)
    assert shown["users"] == 2
    further = detail(shown)
    assert shown["calls"] == int(further["calls from cache"]) + result.meter.items.total() > 0
    assert further["users replaced"] == "0"
    assert shown["cost_usd"] == "unknown"
    assert persona(0).user_id in shown["details"].md_str
    assert persona(0).user_id not in shown["preview"].md_str
    assert "| exposure |" in shown["gates"].md_str
    assert (Path(further["snapshots in"]) / further["snapshot"]).is_dir()


def test_few_keys_stand_apart_and_only_what_moves_is_a_number_to_plot(tmp_path: Path) -> None:
    shop, recipe = run_context(tmp_path, ScriptedModel()), small_recipe()
    result = materialized(shop, recipe, *CHAIN)["state_trajectory"]
    trajectories = first_records(shop.snapshots, result, STATE_TRAJECTORY.record)
    shown = stage_metadata(result, description=STATE_TRAJECTORY.description, records=trajectories, stored_at="here")
    assert list(shown) == ["users", "calls", "cost_usd", "seconds", "gates", "preview", "life", "details"]
    assert {name for name, value in shown.items() if isinstance(value, (int, float))} <= {*list(shown)[:4]}


def test_a_preview_stands_in_place_and_names_no_user_by_a_long_id() -> None:
    rows: list[Row] = [{"user": number, "uuid": "9f" * 16, "about": "word " * 90, "city": "Ulm"} for number in range(9)]
    table = preview(rows)
    assert len(table) < IN_PLACE
    assert len(table.splitlines()) > 2 + 2
    assert "9f9f" not in table
    assert "Ulm" in table


def test_who_was_replaced_is_shown_with_the_reason(tmp_path: Path) -> None:
    refused = ScriptedModel({"user_profiles/complete": [reply("No.", finish="refusal")]})
    result = materialized(run_context(tmp_path, refused), small_recipe(), USER_PROFILES)["user_profiles"]
    shown = told(tmp_path, result, USER_PROFILES)
    assert shown["users"] == 0
    assert "| user_profiles | refused |" in shown["details"].md_str
    assert shown["preview"].md_str == "no rows"
    assert "snapshot" not in detail(shown)


def test_no_more_users_are_read_back_than_are_surveyed(tmp_path: Path) -> None:
    recipe = small_recipe(num_users=SUMMARIZED + 5, num_reserve=0)
    shop = run_context(tmp_path, ScriptedModel(), items_per_part=90)
    result = materialized(shop, recipe, USER_PROFILES)["user_profiles"]
    records = first_records(shop.snapshots, result, USER_PROFILES.record)
    assert [record.item_id for record in records] == [persona(number).user_id for number in range(SUMMARIZED)]
