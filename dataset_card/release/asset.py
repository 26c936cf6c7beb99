"""The last assets of a benchmark's chain: the card and the release folder, made in one pass over the finished items."""

from collections.abc import Iterator
from functools import reduce
from importlib.metadata import version as installed_version
from operator import add
from typing import Any, cast

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import VALUES
from assets.engine.progress import Steps, heartbeat
from assets.engine.provenance import MANY, REPORT_VALUE, ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.engine.stage_asset import disk_error_message, made_from_one_recipe
from assets.llm.usage import Usage
from assets.recipe.recipe import Recipe
from assets.records.report import BenchmarkReport
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.materialization import page_link, with_details
from dataset_card.release.content import ReleaseContent, ReleaseFormat, write_contents
from dataset_card.release.folder import AUTO, Release, write_release
from dataset_card.release.manifest import CARD, REPORT_PAGE, ManifestUsage, ReleaseError
from dataset_card.release.rows import FinishedRows
from dataset_card.release.store import ReleaseStore

DISTRIBUTION = "amemgym-synth"


class ReleaseConfig(dg.Config):
    """`version`: three numbers such as 1.2.0, or auto for the smallest that the rule allows after the last release."""

    version: str = AUTO


def release_content(
    form: ReleaseFormat, recipe: Recipe, *, finished: FinishedRows, report: BenchmarkReport | None = None
) -> ReleaseContent:
    """Everything that decides the release's bytes."""
    refs = [ref for stages in finished.provenance.snapshots.values() for ref in stages.values()]
    usage = reduce(add, (ref.usage for ref in refs), Usage())
    prompts = {name: fingerprint for ref in refs for name, fingerprint in ref.prompts.items()}
    return ReleaseContent(
        form=form,
        recipe=recipe,
        items=finished.items(),
        generator=f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        prompts=prompts,
        gate_records=finished.gate_records(),
        failures=finished.failures(),
        made_from={
            unit: {name: ref.digest for name, ref in stages.items()}
            for unit, stages in sorted(finished.provenance.snapshots.items())
        },
        usage=ManifestUsage(calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        report=report,
    )


def when_report_passes(report: str) -> dg.AutomationCondition[Any]:
    """True once for each new report whose blocking checks were evaluated on it and passed, unless a run releases it itself."""
    made = cast(Any, dg.AutomationCondition.asset_matches(report, dg.AutomationCondition.newly_updated()))
    # Both may happen within one tick, where the evaluation counts as the later one.
    unchecked: Any = made.since(dg.AutomationCondition.newly_updated())
    passed: Any = dg.AutomationCondition.all_checks_match(
        dg.AutomationCondition.check_passed() & ~unchecked, blocking_only=True
    )
    condition = made.since_last_handled() & dg.AutomationCondition.asset_matches(report, passed)
    return (condition & ~dg.AutomationCondition.in_progress()).with_label("the report's blocking checks passed")


def release_asset(form: ReleaseFormat) -> dg.AssetsDefinition:
    """The assets `dataset_card` and `release` of a benchmark, which fail with one sentence on a conflict or a bad disk."""
    benchmark = form.benchmark
    card, release, report_key = map(benchmark.key, ("dataset_card", "release", "quality_report"))
    units_of_variant = dg.AssetIn(partition_mapping=benchmark.partitions.units_to_variant, metadata=MANY)
    ins = (
        {report_key: dg.AssetIn(dagster_type=REPORT_VALUE)}
        if form.reported
        else {stage.name: units_of_variant for stage in benchmark.leaves}
    )

    @dg.multi_asset(
        name=release,  # config stands under the name of an asset that people know
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("release"),
        outs={
            card: _out({"markdown"}, form.card_description, metadata=definition(None, form.extras.documents)),
            release: _out(
                {"parquet", "json"},
                form.release_description,
                metadata=definition(benchmark.final.record, write_contents, write_release),
                automation_condition=when_report_passes(report_key),
            ),
        },
        internal_asset_deps={
            card: {dg.AssetKey(name) for name in ins},
            release: {dg.AssetKey(card)},
        },
        ins=ins,
        required_resource_keys={"run_context", "releases", VALUES},
    )
    def card_and_release(
        context: dg.AssetExecutionContext, config: ReleaseConfig, **values: Any
    ) -> Iterator[dg.MaterializeResult[Any]]:
        reported: ReportValue | None = values.pop(report_key, None)
        parts = {f"{name} of {unit}": part for name, units in values.items() for unit, part in units.items()}
        provenance = reported.provenance if reported else made_from_one_recipe(parts)
        recipe = current_recipe(context, benchmark, provenance.recipe)
        release_store: ReleaseStore = context.resources.releases
        finished = FinishedRows(benchmark, context.resources.run_context.snapshots, provenance)
        content = release_content(form, recipe, finished=finished, report=reported.report if reported else None)
        try:
            with heartbeat(context.log.info, Steps(f"Writing the release of {recipe.variant}").line):
                released = release_store.write(content, version=config.version)
        except ReleaseError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error
        version, address = dg.DataVersion(released.digest[:16]), f"{release_store.address}/{recipe.variant}/{released.version}"
        yield dg.MaterializeResult(asset_key=card, data_version=version, metadata=card_metadata(released))
        yield dg.MaterializeResult(
            asset_key=release, data_version=version, metadata=release_metadata(released, address, benchmark)
        )

    return card_and_release


def _out(
    kinds: set[str],
    description: str,
    *,
    metadata: dict[str, Any],
    automation_condition: dg.AutomationCondition[Any] | None = None,
) -> dg.AssetOut:
    return dg.AssetOut(
        dagster_type=dg.Nothing,
        io_manager_key=VALUES,
        owners=OWNERS,
        kinds=kinds,
        tags={"asks_a_model": "no"},
        description=description,
        metadata=metadata,
        automation_condition=automation_condition,
    )


def card_metadata(released: Release) -> dict[str, Any]:
    """The card itself, without the header between two lines of dashes, which is for the Hub."""
    readme = released.folder / CARD
    card = readme.read_text(encoding="utf-8").partition("\n---\n")[2].strip()
    return {
        "readme": dg.PathMetadataValue(str(readme)),
        "version": released.version,
        "card": dg.MetadataValue.md(card),
        "words": len(card.split()),
    }


def release_metadata(released: Release, address: str, benchmark: Benchmark) -> dict[str, Any]:
    """Where it is, what it holds and what its rows took; `address` is where the release store has it."""
    manifest, report = released.manifest, released.folder / REPORT_PAGE
    files: list[Row] = [
        {"file": one.path, "bytes": one.bytes, "rows": "" if one.rows is None else one.rows} for one in manifest.files
    ]
    place = ("releases", released.folder.parent.name, released.version, REPORT_PAGE)
    metadata = {
        "version": released.version,
        "written": "by this run" if released.created else "before; this run came to the same release",
        **({"report": page_link(*place)} if report.is_file() else {}),
        "folder": dg.PathMetadataValue(str(released.folder)),
        **({} if address == str(released.folder) else {"address": address}),
        "dagster/row_count": manifest.counts.get(f"{benchmark.noun}s", 0),
        **manifest.counts,
        **(manifest.usage.model_dump(exclude_none=True) if manifest.usage else {}),
        "bytes": sum(file.bytes for file in manifest.files),
        "digest": released.digest,
        "data_digest": manifest.data_digest,
        "files": dg.MetadataValue.md(markdown_table(files)),
    }
    return with_details(metadata, apart=("version", "written", "report", "folder", f"{benchmark.noun}s", "questions", "bytes"))
