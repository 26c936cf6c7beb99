"""Checks of what leaves the chain: the card, the release and its copy on the Hub, each read from where it is now.

They go by what was last materialized, so that they can be run again at any time, on their own.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.progress import Steps, heartbeat
from assets.recipe.partitions import which_partition
from assets.reporting.asset_description import markdown_table
from dataset_card.card.header import CardError, configurations_of, header_problems, split_card
from dataset_card.hub.port import HubError
from dataset_card.hub.publish import Publisher
from dataset_card.release.manifest import CARD, ManifestError, read_manifest
from dataset_card.release.store import ReleaseStore
from dataset_card.release.verify import verify_release

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")
SHOWN = 10


def release_checks(benchmark: Benchmark) -> list[dg.AssetChecksDefinition]:
    """The checks of a benchmark's card, release and copy on the Hub."""
    card, release, hub_release = map(benchmark.key, ("dataset_card", "release", "hub_release"))

    @dg.asset_check(
        asset=release,
        name="files_match_manifest",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={"releases"},
        description="Every file of the release has the bytes and rows that its manifest says, and there is no other file.",
    )
    def files_match_manifest(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        folder = released_folder(context, release)
        with heartbeat(context.log.info, Steps(f"Reading {folder} again").line):
            return check_result(verify_release(folder), success=f"All files of {folder.name} are as the manifest says.")

    @dg.asset_check(
        asset=card,
        name="links_and_configurations_resolve",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={"releases"},
        description="Every configuration of the card's header finds its files, and every relative link of the card leads to "
        "one.",
    )
    def links_and_configurations_resolve(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        problems = list(card_problems(released_folder(context, card)))
        return check_result(problems, success="All links and configurations resolve.")

    @dg.asset_check(
        asset=hub_release,
        name="tag_reads_back",
        partitions_def=benchmark.partitions.by_variant,
        required_resource_keys={"publisher"},
        description="The Hub, asked anew, has the tag at the commit that was published.",
    )
    def tag_reads_back(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        publisher: Publisher = context.resources.publisher
        metadata = last_materialized(context, hub_release)
        if "unpublished" in metadata:
            sentence = f"Nothing is on the Hub. {metadata['unpublished']}"
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=sentence)
        repo, tag, commit = (str(metadata.get(name, "")) for name in ("repo", "tag", "commit"))
        if not tag:
            return check_result([], success=f"Proposed to {repo} as a pull request, so there is no tag to read.")
        try:
            current = publisher.commit_of(repo, revision=tag)
        except HubError as error:
            return check_result([str(error)], success="")
        problems = [] if current == commit else [f"{repo}@{tag} is at {current or 'no commit'}, and {commit} was published."]
        return check_result(problems, success=f"{repo}@{tag} is at commit {commit[:12]}.")

    return [links_and_configurations_resolve, files_match_manifest, tag_reads_back]


def card_problems(folder: Path) -> Iterator[str]:
    """A sentence for each configuration and each relative link of a release's card that leads nowhere."""
    try:
        manifest, text = read_manifest(folder), (folder / CARD).read_text(encoding="utf-8")
        header, body = split_card(text, source=CARD)
        configurations = dict(configurations_of(header))
    except (ManifestError, CardError, OSError) as error:
        yield str(error)
        return
    except (LookupError, TypeError):
        yield f"The configurations in {CARD} cannot be read."
        return
    yield from header_problems(configurations, manifest=manifest)
    for link in dict.fromkeys(LINK.findall(body)):
        if not (folder / link).exists():
            yield f"{CARD} links to {link}, which is not in the release."


def released_folder(context: dg.AssetCheckExecutionContext, asset: str) -> Path:
    """The release that the asset's last materialization made, as the release store has it now."""
    release_store: ReleaseStore = context.resources.releases
    metadata = last_materialized(context, asset)
    return release_store.folder(context.op_execution_context.partition_key, str(metadata.get("version", "")), fresh=True)


def last_materialized(context: dg.AssetCheckExecutionContext, asset: str) -> Mapping[str, Any]:
    """Metadata of the asset's last materialization in this partition. Raises dg.Failure without one, or without a partition."""
    if not context.op_execution_context.has_partition_key:
        raise dg.Failure(description=which_partition(asset), allow_retries=False)
    partition = context.op_execution_context.partition_key
    latest = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[partition])
    records = context.instance.fetch_materializations(latest, limit=1).records
    materialization = records[0].asset_materialization if records else None
    if materialization is None:
        raise dg.Failure(description=f"{asset} of {partition!r} is not materialized yet.", allow_retries=False)
    return {name: value.value for name, value in materialization.metadata.items()}


def check_result(problems: list[str], *, success: str) -> dg.AssetCheckResult:
    """The result in a sentence, with the first problems as a table."""
    sample = markdown_table([{"problem": problem} for problem in problems[:SHOWN]])
    return dg.AssetCheckResult(
        passed=not problems,
        description=problems[0] if problems else success,
        metadata={"problems": len(problems), **({"sample": dg.MetadataValue.md(sample)} if problems else {})},
    )
