"""The last assets of a benchmark's chain: the card and the release folder, made in one pass over the finished items."""

from collections.abc import Iterator
from functools import reduce
from importlib.metadata import version as installed_version
from operator import add
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.progress import Steps, heartbeat
from assets.engine.stage_asset import disk_error_message
from assets.llm.usage import Usage
from assets.recipe.partitions import VARIANT_PARTITIONS, by_unit
from assets.recipe.recipe import Recipe
from assets.records.report import BenchmarkReport
from assets.reporting.asset_description import Row, markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from dataset_card.release.content import ReleaseContent, ReleaseFormat, write_contents
from dataset_card.release.folder import AUTO, Release, write_release
from dataset_card.release.manifest import CARD, REPORT_PAGE, ManifestUsage, ReleaseError
from dataset_card.release.rows import FinishedRows, released_stages
from dataset_card.release.store import ReleaseStore
from prompts.catalogue import load_prompt

DISTRIBUTION = "amemgym-synth"


class ReleaseConfig(dg.Config):
    """`version`: three numbers such as 1.2.0, or auto for the smallest that the rule allows after the last release."""

    version: str = AUTO


def release_content(
    form: ReleaseFormat, recipe: Recipe, *, finished: FinishedRows, report: BenchmarkReport | None = None
) -> ReleaseContent:
    """Everything that decides the release's bytes."""
    refs = finished.refs[form.benchmark.final.name].values()
    usage = reduce(add, (used for ref in refs for used in ref.usage.values()), Usage())
    names = dict.fromkeys(name for stage in form.benchmark.stages for name in stage.prompts)
    return ReleaseContent(
        form=form,
        recipe=recipe,
        items=finished.items(),
        generator=f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        prompts={name: load_prompt(name).fingerprint for name in names},
        gate_records=finished.gate_records(),
        failures=finished.failures(),
        usage=ManifestUsage(calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        report=report,
    )


def release_asset(form: ReleaseFormat) -> dg.AssetsDefinition:
    """The assets `dataset_card` and `release` of a benchmark, which fail with one sentence on a conflict or a bad disk."""
    benchmark = form.benchmark
    card, release, recipe_key, report_key = map(benchmark.key, ("dataset_card", "release", "recipe", "quality_report"))
    stages, reports = released_stages(benchmark), (report_key,) if form.reported else ()

    @dg.multi_asset(
        name=benchmark.key("release_folder"),
        partitions_def=VARIANT_PARTITIONS,
        group_name=benchmark.group("release"),
        outs={
            card: _out({"markdown"}, form.card_description, metadata=definition(None, form.extras.documents)),
            release: _out(
                {"parquet", "json"},
                form.release_description,
                metadata=definition(benchmark.final.record, write_contents, write_release),
            ),
        },
        internal_asset_deps={
            card: {dg.AssetKey(name) for name in (recipe_key, *reports, *stages)},
            release: {dg.AssetKey(card)},
        },
        ins={
            "recipe": dg.AssetIn(recipe_key),
            **({"quality_report": dg.AssetIn(report_key)} if form.reported else {}),
            **{name: dg.AssetIn(partition_mapping=by_unit(), metadata={"many": True}) for name in stages},
        },
        required_resource_keys={"run_context", "releases"},
    )
    def release_folder(
        context: dg.AssetExecutionContext, config: ReleaseConfig, **values: Any
    ) -> Iterator[dg.MaterializeResult[Any]]:
        recipe: Recipe = values.pop("recipe")
        report: BenchmarkReport | None = values.pop("quality_report", None)
        release_store: ReleaseStore = context.resources.releases
        finished = FinishedRows(benchmark, context.resources.run_context.snapshots, values)
        content = release_content(form, recipe, finished=finished, report=report)
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

    return release_folder


def _out(kinds: set[str], description: str, *, metadata: dict[str, Any]) -> dg.AssetOut:
    return dg.AssetOut(
        dagster_type=dg.Nothing,
        owners=OWNERS,
        kinds=kinds,
        tags={"asks_a_model": "no"},
        description=description,
        metadata=metadata,
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
    return {
        **({} if address == str(released.folder) else {"address": address}),
        "folder": dg.PathMetadataValue(str(released.folder)),
        "version": released.version,
        "written": "by this run" if released.created else "before; this run came to the same release",
        **({"report": dg.PathMetadataValue(str(report))} if report.is_file() else {}),
        "dagster/row_count": manifest.counts.get(f"{benchmark.noun}s", 0),
        **manifest.counts,
        **(manifest.usage.model_dump(exclude_none=True) if manifest.usage else {}),
        "files": dg.MetadataValue.md(markdown_table(files)),
        "bytes": sum(file.bytes for file in manifest.files),
        "digest": released.digest,
        "data_digest": manifest.data_digest,
    }
