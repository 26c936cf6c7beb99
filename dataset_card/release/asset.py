"""The last assets of the chain: the card and the release folder, made in one pass over the episodes."""

from collections.abc import Iterator
from functools import reduce
from importlib.metadata import version as installed_version
from operator import add
from typing import Any

import dagster as dg

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.engine.progress import Steps, heartbeat
from assets.engine.stage_asset import disk_error_message
from assets.recipe.partitions import VARIANT_PARTITIONS, by_unit
from assets.recipe.recipe import Recipe
from assets.records.usage import Usage as StageUsage
from assets.reporting.asset_description import OWNERS, definition, group
from dataset_card.card.render import render_card
from dataset_card.release.contents import ReleaseContent, write_contents
from dataset_card.release.errors import ReleaseError
from dataset_card.release.folder import AUTO, Release, write_release
from dataset_card.release.manifest import Usage
from dataset_card.release.metadata import card_metadata, release_metadata
from dataset_card.release.rows import FinishedRows
from dataset_card.release.store import ReleaseStore
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
# Prompts that measure and make no row.
MEASURING = ("evaluation/", "annotation/")
FINISHED = ("episodes", "session_queries", "answers")


class ReleaseConfig(dg.Config):
    """`version`: three numbers such as 1.2.0, or auto for the smallest that the rule allows after the last release."""

    version: str = AUTO


def release_content(recipe: Recipe, report: QualityReport, finished: FinishedRows) -> ReleaseContent:
    """Everything that decides the release's bytes."""
    usage = reduce(add, (used for ref in finished.refs["episodes"].values() for used in ref.usage.values()), StageUsage())
    names = [name for name in prompt_names() if not name.startswith(MEASURING)]
    return ReleaseContent(
        recipe=recipe,
        episodes=finished.episodes(),
        generator=f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        prompts={name: load_prompt(name).fingerprint for name in names},
        gate_records=finished.gate_records(),
        failures=finished.failures(),
        usage=Usage(calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        report=report,
    )


@dg.multi_asset(
    name="release_folder",
    partitions_def=VARIANT_PARTITIONS,
    group_name=group("release"),
    outs={
        "dataset_card": dg.AssetOut(
            dagster_type=dg.Nothing,
            owners=OWNERS,
            kinds={"markdown"},
            tags={"asks_a_model": "no"},
            description="The README of the release: computed facts in a written template, under the header that the Hub reads. "
            "It tells what the set holds beside the paper's Table 4, how it was made, what it cost and where its limits are.",
            metadata=definition(None, render_card),
        ),
        "release": dg.AssetOut(
            dagster_type=dg.Nothing,
            owners=OWNERS,
            kinds={"parquet", "json"},
            tags={"asks_a_model": "no"},
            metadata=definition(Episode, write_contents, write_release),
            description="An immutable, versioned folder with nested Parquet, flat tables, data.json as in the paper's "
            "repository, recipe, card and a manifest of digests. The same recipe and replies give the same bytes.",
        ),
    },
    internal_asset_deps={
        "dataset_card": {dg.AssetKey(name) for name in ("recipe", "quality_report", *FINISHED)},
        "release": {dg.AssetKey("dataset_card")},
    },
    ins={
        "recipe": dg.AssetIn(),
        "quality_report": dg.AssetIn(),
        **{name: dg.AssetIn(partition_mapping=by_unit(), metadata={"many": True}) for name in FINISHED},
    },
    required_resource_keys={"run_context", "releases"},
)
def release_folder(
    context: dg.AssetExecutionContext, config: ReleaseConfig, recipe: Recipe, quality_report: QualityReport, **refs: Any
) -> Iterator[dg.MaterializeResult[Any]]:
    """Write the folder, or find it written. Raises dg.Failure with one sentence on a conflict or a bad disk."""
    release_store: ReleaseStore = context.resources.releases
    content = release_content(recipe, quality_report, FinishedRows(context.resources.run_context.snapshots, refs))
    try:
        with heartbeat(context.log.info, Steps(f"Writing the release of {recipe.variant}").line):
            released = release_store.write(content, version=config.version)
    except ReleaseError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except OSError as error:
        raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error
    yield from _results(released, f"{release_store.address}/{recipe.variant}/{released.version}")


def _results(released: Release, address: str) -> Iterator[dg.MaterializeResult[Any]]:
    version = dg.DataVersion(released.digest[:16])
    yield dg.MaterializeResult(asset_key="dataset_card", data_version=version, metadata=card_metadata(released))
    yield dg.MaterializeResult(asset_key="release", data_version=version, metadata=release_metadata(released, address))
