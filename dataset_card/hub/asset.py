"""The asset `hub_release`, and the checks of what leaves the chain: the card, the release and its copy on the Hub.

A release is published only when somebody asks for it. The checks go by what was last materialized, and read each where it is
now, so that they can be run again at any time, on their own.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.materialization import UNASKED, explain_failures, say_unasked
from assets.engine.progress import Steps, heartbeat
from assets.recipe.partitions import missing_partition_message
from assets.reporting.asset_description import markdown_table
from assets.reporting.definition_metadata import OWNERS, definition
from dataset_card.card.header import CardError, split_card
from dataset_card.errors import HubError
from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.publish import Published, Publisher
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.loadable import header_problems, read_configurations
from dataset_card.release.manifest import CARD, ManifestError, ReleaseError, read_manifest
from dataset_card.release.verify import remedy, verify_release
from dataset_card.release_store.folder import ReleaseWriter
from dataset_card.release_store.store import ReleaseStore, find_release

NEWEST = "newest"
NO_REPO = "Nothing is published: no repository was asked for. To publish, give OWNER/NAME as `repo` of hub_release's config."
DESCRIPTION = (
    "A release on the Hugging Face Hub: one commit and a tag, complete or not there at all. The tag gives the bytes that "
    "were checked here."
)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")
# Rows of a check's table in the Dagster UI, which keeps it with every evaluation.
PROBLEMS_SHOWN = 10


class Openness(Enum):
    """Readers of the repository; unchanged: as it is, and a new one is private."""

    UNCHANGED = "unchanged"
    PRIVATE = "private"
    GATED = "gated"
    PUBLIC = "public"


class HubReleaseConfig(dg.Config):
    """The place to publish in: `repo` is OWNER/NAME, empty: nothing is published; `version` one on disk or `newest`.

    `openness`: UNCHANGED, PRIVATE, GATED or PUBLIC; `embedded`: rows that no language model wrote may be open to others.
    """

    repo: str = ""
    version: str = NEWEST
    openness: Openness = Openness.UNCHANGED
    embedded: bool = False


def hub_release_asset(form: ReleaseFormat) -> dg.AssetsDefinition:
    """Return the asset `hub_release` of a benchmark, which fails with one sentence.

    A run that does not name a repository, such as one of all assets, ends without a materialization and without a failure.
    """
    benchmark = form.benchmark

    @dg.asset(
        name=benchmark.key("hub_release"),
        key_prefix=benchmark.name,
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("release"),
        deps=[benchmark.asset_key("release")],
        output_required=False,
        owners=OWNERS,
        kinds={"huggingface"},
        tags={"asks_a_model": "no"},
        description=DESCRIPTION,
        metadata=definition(benchmark.final.record, Publisher.publish),
    )
    def hub_release(
        context: dg.AssetExecutionContext,
        config: HubReleaseConfig,
        publisher: dg.ResourceParam[Publisher],
        releases: dg.ResourceParam[ReleaseWriter],
    ) -> Iterator[dg.MaterializeResult[Any]]:
        if not config.repo:
            yield from say_unasked(context, NO_REPO)
            return
        with explain_failures(HubError):
            folder = _folder(releases, context.partition_key, config.version)
            visibility = None if config.openness is Openness.UNCHANGED else config.openness.value
            request = PublishRequest(folder, config.repo, visibility, config.embedded)
            with heartbeat(context.log.info, Steps(f"Publishing {folder.name} of {folder.parent.name} in {config.repo}").line):
                done = publisher.publish(request)
        yield dg.MaterializeResult(data_version=dg.DataVersion(done.digest[:16]), metadata=_metadata(done, publisher.endpoint))

    return hub_release


def _folder(release_store: ReleaseStore, variant: str, version: str) -> Path:
    try:
        folder = find_release(release_store, variant, version="" if version == NEWEST else version)
    except ReleaseError as error:
        raise HubError(str(error)) from error
    if folder is None:
        raise HubError(
            f"There is no release of {variant} in {release_store.address} yet; materialize the asset 'release' first."
        )
    return folder


def _metadata(done: Published, endpoint: str) -> dict[str, dg.MetadataValue[Any]]:
    texts = {"repo": done.repo, "tag": done.tag, "commit": done.commit, "digest": done.digest}
    shown: dict[str, dg.MetadataValue[Any]] = {name: dg.MetadataValue.text(text) for name, text in texts.items()}
    shown["page"] = dg.MetadataValue.url(f"{endpoint}/datasets/{done.repo}/tree/{done.tag}")
    shown["new"] = dg.MetadataValue.bool(done.created)
    return shown


def release_checks(benchmark: Benchmark) -> list[dg.AssetChecksDefinition]:
    """Return the checks of a benchmark's card, release and copy on the Hub."""
    card, release, hub_release = [dg.AssetKey(benchmark.asset_key(name)) for name in ("dataset_card", "release", "hub_release")]

    @dg.asset_check(
        asset=release,
        name="files_match_manifest",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        description="Every file of the release has the bytes and rows that its manifest says, and there is no other file.",
    )
    def files_match_manifest(
        context: dg.AssetCheckExecutionContext, releases: dg.ResourceParam[ReleaseWriter]
    ) -> dg.AssetCheckResult:
        folder = _released_folder(context, release, releases)
        with heartbeat(context.log.info, Steps(f"Reading {folder} again").line):
            problems = verify_release(folder)
        files = [path for path in folder.rglob("*") if path.is_file()]
        looked_at = {"release": folder.name, "files": len(files), "bytes": sum([path.stat().st_size for path in files])}
        if problems:
            problems[0] += f" {remedy(folder)}"
        return _result(problems, success=f"All files of {folder.name} are as the manifest says.", looked_at=looked_at)

    @dg.asset_check(
        asset=card,
        name="links_and_configurations_resolve",
        blocking=True,
        partitions_def=benchmark.partitions.by_variant,
        description="Every configuration of the card's header finds its files, and every relative link of the card leads to "
        "one.",
    )
    def links_and_configurations_resolve(
        context: dg.AssetCheckExecutionContext, releases: dg.ResourceParam[ReleaseWriter]
    ) -> dg.AssetCheckResult:
        folder = _released_folder(context, card, releases)
        problems = list(card_problems(folder))
        # A card that cannot be read is a problem already.
        links = [] if problems else card_links((folder / CARD).read_text(encoding="utf-8"))
        return _result(problems, success="All links and configurations resolve.", looked_at={"links": len(links)})

    @dg.asset_check(
        asset=hub_release,
        name="tag_reads_back",
        partitions_def=benchmark.partitions.by_variant,
        description="The Hub, asked anew, has the tag at the commit that was published.",
    )
    def tag_reads_back(context: dg.AssetCheckExecutionContext, publisher: dg.ResourceParam[Publisher]) -> dg.AssetCheckResult:
        return _tag_result(publisher, last_materialized(context, hub_release))

    return [links_and_configurations_resolve, files_match_manifest, tag_reads_back]


def _tag_result(publisher: Publisher, metadata: Mapping[str, Any]) -> dg.AssetCheckResult:
    if UNASKED in metadata:
        return dg.AssetCheckResult(passed=True, description=NO_REPO)
    repo = str(metadata.get("repo", ""))
    tag = str(metadata.get("tag", ""))
    commit = str(metadata.get("commit", ""))
    looked_at = {"repo": repo, "tag": tag, "commit": commit}
    try:
        current = publisher.commit_of(repo, revision=tag)
    except HubError as error:
        return _result([str(error)], success="", looked_at=looked_at)
    problems: list[str] = []
    if current != commit:
        problems.append(f"{repo}@{tag} is at {current or 'no commit'}, and {commit} was published.")
    return _result(problems, success=f"{repo}@{tag} is at commit {commit[:12]}.", looked_at=looked_at)


def card_problems(folder: Path) -> Iterator[str]:
    """Yield a sentence for each configuration and each relative link of a release's card that leads nowhere."""
    try:
        manifest = read_manifest(folder)
        text = (folder / CARD).read_text(encoding="utf-8")
        configurations = read_configurations(text, source=CARD)
    except (ManifestError, CardError, OSError) as error:
        yield str(error)
        return
    yield from header_problems(configurations, manifest=manifest)
    for link in card_links(text):
        if not (folder / link).exists():
            yield f"{CARD} links to {link}, which is not in the release."


def card_links(text: str) -> list[str]:
    """Return the relative links of a card, each once. Raises CardError."""
    return list(dict.fromkeys(LINK.findall(split_card(text, source=CARD)[1])))


def _released_folder(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey, releases: ReleaseStore) -> Path:
    """Return the release that the asset's last materialization made, as the release store has it now."""
    metadata = last_materialized(context, asset)
    return releases.folder(context.op_execution_context.partition_key, str(metadata.get("version", "")), fresh=True)


def last_materialized(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey) -> Mapping[str, Any]:
    """Return metadata of the asset's last materialization in this partition.

    Raises dg.Failure without one, or without a partition.
    """
    if not context.op_execution_context.has_partition_key:
        raise dg.Failure(description=missing_partition_message(asset.path[-1]), allow_retries=False)
    partition = context.op_execution_context.partition_key
    latest = dg.AssetRecordsFilter(asset, asset_partitions=[partition])
    records = context.instance.fetch_materializations(latest, limit=1).records
    materialization = records[0].asset_materialization if records else None
    if materialization is None:
        raise dg.Failure(description=f"{asset.path[-1]} of {partition!r} is not materialized yet.", allow_retries=False)
    return {name: value.value for name, value in materialization.metadata.items()}


def _result(problems: list[str], *, success: str, looked_at: Mapping[str, str | int]) -> dg.AssetCheckResult:
    """Return the result in a sentence, with what was looked at, and the first problems as a table."""
    metadata: dict[str, Any] = dict(looked_at)
    if problems:
        metadata["problems"] = len(problems)
        sample = markdown_table([{"problem": problem} for problem in problems[:PROBLEMS_SHOWN]])
        metadata["sample"] = dg.MetadataValue.md(sample)
    return dg.AssetCheckResult(passed=not problems, description=problems[0] if problems else success, metadata=metadata)
