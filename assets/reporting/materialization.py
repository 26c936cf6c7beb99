"""Metadata of a materialization: counts and costs that Dagster plots over time, real rows, the users who took most."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import dagster as dg

from assets.engine.ports import SnapshotRef, SnapshotStore
from assets.engine.stage_runner import StageResult
from assets.llm.usage import Usage
from assets.records.base import ItemRecord
from assets.reporting.asset_description import AssetDescription, Metadata, Row, example, markdown_table, preview
from assets.reporting.gate_summary import Rewriting, gate_rows, rewritings
from assets.reporting.page_style import page_address

PREVIEW_ROWS = 12
# Of a stage's summary, what is looked at first.
APART = ("life",)
USERS_SHOWN = 5
# Reading a few hundred users back takes a second; more would show the same.
SUMMARIZED = 200


def stage_metadata(
    result: StageResult, *, description: AssetDescription, records: Sequence[ItemRecord], stored_at: str
) -> dict[str, Any]:
    """Eight values that are looked at first: counts, cost, gates, one row, a preview, one user's life. `details` has the rest.

    Only numbers that stand apart are plotted over time. `records` are those of the stage's first users, as many as are
    summarized; `stored_at` the address of all snapshots.
    """
    usage = result.ref.usage
    numbers = {record.item_id: f"{number}" for number, record in enumerate(records, start=1)}
    rows = [{"user": number, **row} for number, record in enumerate(records[:3], start=1) for row in description.rows(record)]
    work = rewritings(records)
    summary = description.summary(records)
    further = {
        "users_replaced": result.ref.failures.items,
        # What follows up to the calls is of these users alone, where there are more.
        **({"summarized_users": len(records)} if len(records) < result.ref.items else {}),
        **{name: value for name, value in summary.items() if name not in APART},
        "calls_from_cache": result.meter.repeated,
        "reasked": usage.reasks,
        "refinements": sum(one.refinements for one in work.values()),
        "redrafts": sum(one.redrafts for one in work.values()),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "snapshots_in": stored_at,
        **_snapshot_path(result.ref),
        **_replaced(result),
        **_busiest(result.meter.items, work, numbers),
        "rows": dg.MetadataValue.md(markdown_table(rows[:PREVIEW_ROWS])),
    }
    return {
        "users": result.ref.items,
        "calls": usage.calls,
        # What this materialization paid for. Dagster plots numbers over time; a word leaves a gap in the plot, not a zero.
        "cost_usd": "unknown" if result.meter.unpriced else round(result.meter.cost_usd, 6),
        "seconds": round(result.seconds, 2),
        **_gates(result, records),
        "example": dg.MetadataValue.md(example(rows)),
        "preview": dg.MetadataValue.md(preview(rows)),
        **{name: value for name, value in summary.items() if name in APART},
        "details": dg.MetadataValue.md(details(further)),
    }


def with_details(metadata: Mapping[str, Any], *, apart: Collection[str]) -> dict[str, Any]:
    """The metadata with all but the keys of `apart`, and Dagster's own, folded into `details`."""
    first = {name: value for name, value in metadata.items() if name in apart or name.startswith("dagster/")}
    further = {name: value for name, value in metadata.items() if name not in first}
    return {**first, "details": dg.MetadataValue.md(details(further))}


def page_link(*parts: str) -> dg.UrlMetadataValue:
    """A link to one of our pages, which `amemgym ui` serves beside Dagster's."""
    return dg.MetadataValue.url(page_address(*parts))


def details(further: Mapping[str, Any]) -> str:
    """Plain values as one table, and each table of its own below, under its name."""
    tables = {name: value.md_str for name, value in further.items() if isinstance(value, dg.MarkdownMetadataValue)}
    plain: list[Row] = [{"what": name.replace("_", " "), "": value} for name, value in further.items() if name not in tables]
    return "\n\n".join([markdown_table(plain), *(f"**{name.replace('_', ' ')}**\n\n{table}" for name, table in tables.items())])


def first_records(store: SnapshotStore, result: StageResult, record: type[ItemRecord]) -> list[ItemRecord]:
    """The records of the snapshot's first users, in order, read back from their store."""
    parts = [part for part in result.ref.parts if part.stage == result.ref.stage]
    positions = list(islice((position for part in parts for position in range(part.first, part.last + 1)), 2 * SUMMARIZED))
    stored = store.read_serialized(result.ref, result.ref.stage, record=record, positions=positions)
    return [stored[position].record for position in sorted(stored)[:SUMMARIZED]]


def _snapshot_path(ref: SnapshotRef) -> Metadata:
    """The path of the snapshot below the address of all; a stage without users wrote none."""
    return {"snapshot": ref.parts[0].path.rpartition("/")[0]} if ref.parts else {}


def _replaced(result: StageResult) -> Metadata:
    """Why users were replaced meanwhile, if any were."""
    rows: list[Row] = [
        {"user": failure.item_id, "at": failure.stage, "reason": failure.reason.replace("_", " "), "what": failure.message}
        for failure in result.failed[:USERS_SHOWN]
    ]
    return {"replaced": dg.MetadataValue.md(markdown_table(rows))} if rows else {}


def _gates(result: StageResult, records: Iterable[ItemRecord]) -> Metadata:
    """What it took to pass the stage's gates, where it has any."""
    lost = [failure for failure in result.failed if failure.stage == result.ref.stage]
    rows = gate_rows(records, lost)
    return {"gates": dg.MetadataValue.md(markdown_table(rows))} if rows else {}


def _busiest(users: Mapping[str, Usage], work: Mapping[str, Rewriting], numbers: Mapping[str, str]) -> Metadata:
    """The users whose texts were rewritten most, and those on whom models worked longest; nobody where nothing was asked.

    `numbers` are those by which `amemgym show` knows users.
    """
    rewritten = sorted((name for name, one in work.items() if one.total), key=lambda name: (-work[name].total, name))
    slowest = sorted((name for name, one in users.items() if one.seconds), key=lambda name: (-users[name].seconds, name))
    refined: list[Row] = [
        {"user": numbers.get(name, name), "refined": work[name].refinements, "redrafted": work[name].redrafts}
        for name in rewritten[:USERS_SHOWN]
    ]
    slow: list[Row] = [
        {
            "user": numbers.get(name, name),
            "calls": users[name].calls,
            "reasked": users[name].reasks,
            "model s": f"{users[name].seconds:.1f}",
        }
        for name in slowest[:USERS_SHOWN]
    ]
    tables = {"most_refined_users": refined, "slowest_users": slow}
    return {name: dg.MetadataValue.md(markdown_table(rows)) for name, rows in tables.items() if rows}
