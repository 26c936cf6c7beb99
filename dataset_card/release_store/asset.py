"""The last assets of a benchmark's chain: the card and the release folder, made in one pass over the finished items."""

from collections.abc import Iterator
from importlib.metadata import version as installed_version
from typing import Any, cast

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.materialization import explain_failures, page_link, with_details
from assets.engine.ports import VALUES, AssetValues, RunContext
from assets.engine.progress import Steps, heartbeat
from assets.engine.provenance import MANY, REPORT_VALUE, ReportValue
from assets.engine.recipe_asset import current_recipe
from assets.engine.stage_asset import made_from_one_recipe, named_parts
from assets.llm.usage import Usage
from assets.recipe.recipe import Recipe
from assets.records.report import BenchmarkReport
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from assets.reporting.plurals import counted
from dataset_card.release.content import ReleaseContent, ReleaseFormat, write_contents
from dataset_card.release.manifest import CARD, REPORT_PAGE, ManifestUsage, ReleaseError
from dataset_card.release.rows import FinishedRows
from dataset_card.release_store.folder import AUTO, Release, ReleaseWriter, write_release

DISTRIBUTION = "amemgym-synth"
# Of both assets: their values are the files of the release.
OUTPUT: dict[str, Any] = {
    "dagster_type": dg.Nothing,
    "io_manager_key": VALUES,
    "owners": OWNERS,
    "tags": {"asks_a_model": "no"},
}


class ReleaseConfig(dg.Config):
    """`version`: three numbers such as 1.2.0, or auto for the smallest that the rule allows after the last release."""

    version: str = AUTO


def release_content(
    form: ReleaseFormat, recipe: Recipe, *, finished: FinishedRows, report: BenchmarkReport | None = None
) -> ReleaseContent:
    """Return everything that decides the release's bytes."""
    usage = Usage()
    prompts: dict[str, str] = {}
    made_from: dict[str, dict[str, str]] = {}
    for unit, stages in finished.provenance.snapshots.items():
        made_from[unit] = {}
        for name, ref in stages.items():
            made_from[unit][name] = ref.digest
            usage += ref.usage
            prompts.update(ref.prompts)
    return ReleaseContent(
        form=form,
        recipe=recipe,
        items=finished.items(),
        generator=f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        prompts=prompts,
        gate_records=finished.gate_records(),
        failures=finished.failures(),
        made_from=dict(sorted(made_from.items())),
        usage=ManifestUsage(calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        report=report,
    )


def when_report_passes(report: dg.AssetKey) -> dg.AutomationCondition[Any]:
    """True once for each new report whose blocking checks were evaluated on it and passed, unless a run releases it itself."""
    made = cast(Any, dg.AutomationCondition.asset_matches(report, dg.AutomationCondition.newly_updated()))
    # Both may happen within one tick, where the evaluation counts as the later one.
    unchecked: Any = made.since(dg.AutomationCondition.newly_updated())
    passed: Any = dg.AutomationCondition.all_checks_match(
        dg.AutomationCondition.check_passed() & ~unchecked, blocking_only=True
    )
    condition = made.since_last_handled() & dg.AutomationCondition.asset_matches(report, passed)
    return (condition & ~dg.AutomationCondition.in_progress()).with_label("the report's blocking checks passed")


def _inputs(form: ReleaseFormat) -> dict[str, dg.AssetIn]:
    """Return the quality report as the assets' input; of a benchmark without one, its last stages in all work units."""
    benchmark = form.benchmark
    if form.reported:
        return {benchmark.key("quality_report"): dg.AssetIn(key_prefix=benchmark.name, dagster_type=REPORT_VALUE)}
    units_of_variant = dg.AssetIn(
        key_prefix=benchmark.name, partition_mapping=benchmark.partitions.units_to_variant, metadata=MANY
    )
    return {stage.name: units_of_variant for stage in benchmark.leaves}


def _outputs(form: ReleaseFormat) -> dict[str, dg.AssetOut]:
    benchmark = form.benchmark
    report = dg.AssetKey(benchmark.asset_key("quality_report"))
    card = dg.AssetOut(
        key=dg.AssetKey(benchmark.asset_key("dataset_card")),
        kinds={"markdown"},
        description=form.card_description,
        metadata=definition(None, form.extras.documents),
        **OUTPUT,
    )
    release = dg.AssetOut(
        key=dg.AssetKey(benchmark.asset_key("release")),
        kinds={"parquet", "json"},
        description=form.release_description,
        metadata=definition(benchmark.final.record, write_contents, write_release),
        automation_condition=when_report_passes(report),
        **OUTPUT,
    )
    return {benchmark.key("dataset_card"): card, benchmark.key("release"): release}


def release_asset(form: ReleaseFormat) -> dg.AssetsDefinition:
    """The assets `dataset_card` and `release` of a benchmark, which fail with one sentence on a conflict or a bad disk."""
    benchmark = form.benchmark
    ins = _inputs(form)
    outs = _outputs(form)
    card_key, release_key = [dg.AssetKey(benchmark.asset_key(name)) for name in ("dataset_card", "release")]
    read = {dg.AssetKey(benchmark.asset_key(name)) for name in ins}

    @dg.multi_asset(
        name=benchmark.op("release"),  # config stands under the name of an asset that people know
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("release"),
        outs=outs,
        internal_asset_deps=dict(zip(outs, (read, {card_key}), strict=True)),
        ins=ins,
    )
    def card_and_release(
        context: dg.AssetExecutionContext,
        config: ReleaseConfig,
        run_context: dg.ResourceParam[RunContext],
        releases: dg.ResourceParam[ReleaseWriter],
        asset_values: dg.ResourceParam[AssetValues],
        **values: Any,
    ) -> Iterator[dg.MaterializeResult[Any]]:
        reported: ReportValue | None = values.pop(benchmark.key("quality_report"), None)
        provenance = reported.provenance if reported else made_from_one_recipe(named_parts(values))
        recipe = current_recipe(context, benchmark, provenance.recipe, values=asset_values)
        finished = FinishedRows(benchmark, run_context.snapshots, provenance)
        content = release_content(form, recipe, finished=finished, report=reported.report if reported else None)
        steps = Steps(f"{recipe.variant}: dataset_card and release", tell=run_context.report_step)
        steps.begin("writing tables, card and files")
        with explain_failures(ReleaseError), heartbeat(context.log.info, steps.line):
            released = releases.write(content, version=config.version)
        steps.end(f"{released.version}, {counted(len(released.manifest.files), 'file')}")
        version = dg.DataVersion(released.digest[:16])
        address = f"{releases.address}/{recipe.variant}/{released.version}"
        yield dg.MaterializeResult(asset_key=card_key, data_version=version, metadata=card_metadata(released))
        yield dg.MaterializeResult(
            asset_key=release_key, data_version=version, metadata=release_metadata(released, address, benchmark)
        )

    return card_and_release


def card_metadata(released: Release) -> dict[str, Any]:
    """Return the card itself, without the header between two lines of dashes, which is for the Hub."""
    readme = released.folder / CARD
    card = readme.read_text(encoding="utf-8").partition("\n---\n")[2].strip()
    return {
        "readme": dg.PathMetadataValue(str(readme)),
        "version": released.version,
        "card": dg.MetadataValue.md(card),
        "words": len(card.split()),
    }


def release_metadata(released: Release, address: str, benchmark: Benchmark) -> dict[str, Any]:
    """Return its place, its content and what its rows took; `address` is where the release store has it."""
    manifest = released.manifest
    files: list[Row] = []
    for listed in manifest.files:
        files.append({"file": listed.path, "bytes": listed.bytes, "rows": "" if listed.rows is None else listed.rows})
    metadata: dict[str, Any] = {
        "version": released.version,
        "written": "by this run" if released.created else "before; this run came to the same release",
    }
    if (released.folder / REPORT_PAGE).is_file():
        place = ("releases", released.folder.parent.name, released.version, REPORT_PAGE)
        metadata["report"] = page_link(*place)
    metadata["folder"] = dg.PathMetadataValue(str(released.folder))
    if address != str(released.folder):
        metadata["address"] = address
    metadata["dagster/row_count"] = manifest.counts.get(f"{benchmark.noun}s", 0)
    metadata.update(manifest.counts)
    if manifest.usage:
        metadata.update(manifest.usage.model_dump(exclude_none=True))
    metadata["bytes"] = sum(file.bytes for file in manifest.files)
    metadata["digest"] = released.digest
    metadata["data_digest"] = manifest.data_digest
    metadata["files"] = dg.MetadataValue.md(markdown_table(files))
    return with_details(metadata, apart=("version", "written", "report", "folder", f"{benchmark.noun}s", "questions", "bytes"))
