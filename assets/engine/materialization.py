"""What Dagster shows of a materialization: counts and costs that it plots over time, rows; a sentence if it failed."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import dagster as dg

from assets.engine.ports import SnapshotStore
from assets.engine.stage_runner import StageResult
from assets.records.base import ItemRecord
from assets.reporting.asset_description import AssetDescription, Row, markdown_table, preview
from assets.reporting.gate_summary import gate_rows
from assets.reporting.page_style import page_address

PREVIEWED_USERS = 3  # a stage may have dozens of rows for each
PREVIEW_ROWS = 12
USERS_SHOWN = 5
# Whose votes are counted by gate. Reading a few hundred users back takes a second; more would show the same.
SUMMARIZED = 200
# The data version and the metadata of an asset that a backfill selected, and that did nothing because nobody asked it to.
UNASKED = "unasked"
BACKFILL = "dagster/backfill"  # Dagster's tag of a backfill's runs


def stage_metadata(
    result: StageResult, *, description: AssetDescription, records: Sequence[ItemRecord], stored_at: str
) -> dict[str, Any]:
    """Return what is looked at first: counts, cost, gates, a preview, a life; `details` has the rest.

    Only numbers that stand apart are plotted over time. `records` are those of the stage's first users, as many as are
    summarized; `stored_at` the address of all snapshots.
    """
    usage = result.ref.usage
    rows = _preview_rows(records, description)
    further: dict[str, Any] = {"users_replaced": result.ref.failures.items}
    gates = gate_rows(records, [failure for failure in result.failed if failure.stage == result.ref.stage])
    if gates and len(records) < result.ref.items:
        further["users_in_the_table_of_gates"] = len(records)
    further |= {
        "calls_from_cache": result.meter.repeated,
        "reasked": usage.reasks,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "snapshots_in": stored_at,
    }
    if result.ref.parts:
        further["snapshot"] = result.ref.parts[0].path.rpartition("/")[0]
    if result.failed:
        further["replaced"] = dg.MetadataValue.md(markdown_table(_rows_of_replaced(result)))
    further["rows"] = dg.MetadataValue.md(markdown_table(rows[:PREVIEW_ROWS]))
    first: dict[str, Any] = {
        "users": result.ref.items,
        "calls": usage.calls,
        # What this materialization paid for. Dagster plots numbers over time; a word leaves a gap in the plot, not a zero.
        "cost_usd": "unknown" if result.meter.unpriced else round(result.meter.cost_usd, 6),
        "seconds": round(result.seconds, 2),
    }
    if gates:
        first["gates"] = dg.MetadataValue.md(markdown_table(gates))
    first["preview"] = dg.MetadataValue.md(preview(rows))
    if description.picture is not None and records:
        first["life"] = dg.MetadataValue.md(description.picture(records[0]))
    first["details"] = dg.MetadataValue.md(details(further))
    return first


def with_details(metadata: Mapping[str, Any], *, apart: Collection[str]) -> dict[str, Any]:
    """Return the metadata with all but the keys of `apart`, and Dagster's own, folded into `details`."""
    first: dict[str, Any] = {}
    further: dict[str, Any] = {}
    for name, value in metadata.items():
        group = first if name in apart or name.startswith("dagster/") else further
        group[name] = value
    return {**first, "details": dg.MetadataValue.md(details(further))}


def say_unasked(context: dg.AssetExecutionContext, sentence: str) -> Iterator[dg.MaterializeResult[Any]]:
    """Log that nobody asked the asset to act. Yield a result in a backfill alone, which fails where an asset is not made."""
    context.log.warning(sentence)
    if BACKFILL in context.run.tags:
        yield dg.MaterializeResult(data_version=dg.DataVersion(UNASKED), metadata={UNASKED: sentence})


def page_link(*parts: str) -> dg.UrlMetadataValue:
    """A link to one of our pages, which `amemgym ui` serves beside Dagster's."""
    return dg.MetadataValue.url(page_address(*parts))


def details(further: Mapping[str, Any]) -> str:
    """Plain values as one table, and each table of its own below, under its name."""
    plain: list[Row] = []
    tables: list[str] = []
    for name, value in further.items():
        title = name.replace("_", " ")
        if isinstance(value, dg.MarkdownMetadataValue):
            tables.append(f"**{title}**\n\n{value.md_str}")
        else:
            plain.append({"what": title, "": value})
    return "\n\n".join([markdown_table(plain), *tables])


def first_records(store: SnapshotStore, result: StageResult, record: type[ItemRecord]) -> list[ItemRecord]:
    """The records of the snapshot's first users, in order, read back from their store."""
    own = [range(part.first, part.last + 1) for part in result.ref.parts if part.stage == result.ref.stage]
    # Twice as many, because places of failed users are empty.
    positions = list(islice(chain.from_iterable(own), 2 * SUMMARIZED))
    stored = store.read_serialized(result.ref, result.ref.stage, record=record, positions=positions)
    return [stored[position].record for position in sorted(stored)[:SUMMARIZED]]


def _preview_rows(records: Sequence[ItemRecord], description: AssetDescription) -> list[Row]:
    rows: list[Row] = []
    for number, record in enumerate(records[:PREVIEWED_USERS], start=1):
        for row in description.rows(record):
            rows.append({"user": f"{number}", **row})
    return rows


def _rows_of_replaced(result: StageResult) -> list[Row]:
    """The users who were replaced meanwhile, each with the reason."""
    rows: list[Row] = []
    for failure in result.failed[:USERS_SHOWN]:
        reason = failure.reason.replace("_", " ")
        rows.append({"user": failure.item_id, "at": failure.stage, "reason": reason, "what": failure.message})
    return rows


@contextmanager
def explain_failures(*expected: type[Exception]) -> Generator[None, None, None]:
    """Turn the expected errors, and those of the disk or of a store, into dg.Failure with one sentence, without a retry."""
    try:
        yield
    except expected as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except OSError as error:
        raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error


def disk_error_message(error: OSError) -> str:
    """One sentence about a disk that is full, read-only or broken; our stores' own errors are sentences already."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename or 'The data folder'} cannot be written: {error.strerror}. What was finished before is kept."
