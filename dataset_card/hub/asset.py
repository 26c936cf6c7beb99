"""The asset `hub_release`: a release on the Hub, published only when somebody asks for it."""

from enum import Enum
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.progress import Steps, heartbeat
from assets.engine.stage_asset import disk_error_message, steps_of_run
from assets.reporting.definition_metadata import OWNERS, definition
from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.port import HubError, Visibility
from dataset_card.hub.publish import Published, Publisher
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.store import ReleaseStore, find_release

NEWEST = "newest"
NO_REPO = "No repository is set to publish in; give OWNER/NAME as `repo` of hub_release, or for all runs in AMEMGYM_HUB_REPO."
DESCRIPTION = (
    "A release on the Hugging Face Hub: one commit and a tag, complete or not there at all. Who asks for the tag gets the "
    "bytes that were checked here."
)


class Openness(Enum):
    """Who may read the repository; unchanged: as it is, and a new one is private."""

    UNCHANGED = "unchanged"
    PRIVATE = "private"
    GATED = "gated"
    PUBLIC = "public"


VISIBILITIES: dict[Openness, Visibility | None] = {
    Openness.UNCHANGED: None,
    Openness.PRIVATE: "private",
    Openness.GATED: "gated",
    Openness.PUBLIC: "public",
}


class HubReleaseConfig(dg.Config):
    """Where to publish: `repo` is OWNER/NAME, else that of the resource `publisher`; `version` one on disk or `newest`.

    `openness`: UNCHANGED, PRIVATE, GATED or PUBLIC; `embedded`: rows that no language model wrote may be open to others;
    `pull_request`: propose it, and leave main and tags alone.
    """

    repo: str = ""
    version: str = NEWEST
    openness: Openness = Openness.UNCHANGED
    embedded: bool = False
    pull_request: bool = False


def hub_release_asset(form: ReleaseFormat) -> dg.AssetsDefinition:
    """The asset `hub_release` of a benchmark, which fails with one sentence."""
    benchmark = form.benchmark
    release = benchmark.key("release")

    @dg.asset(
        name=benchmark.key("hub_release"),
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("release"),
        deps=[release],
        owners=OWNERS,
        kinds={"huggingface"},
        required_resource_keys={"publisher", "releases"},
        tags={"asks_a_model": "no"},
        description=DESCRIPTION,
        metadata=definition(benchmark.final.record, Publisher.publish),
    )
    def hub_release(context: dg.AssetExecutionContext, config: HubReleaseConfig) -> dg.MaterializeResult[Any]:
        publisher: Publisher = context.resources.publisher
        repo = config.repo or publisher.repo
        # Whoever materializes everything has not asked for the Hub in particular, and a backfill fails without the asset.
        if not repo and release in steps_of_run(context):
            return dg.MaterializeResult(data_version=dg.DataVersion("unpublished"), metadata={"unpublished": NO_REPO})
        try:
            folder = _folder(context.resources.releases, context.partition_key, config.version)
            request = _request(folder, repo, config)
            with heartbeat(context.log.info, Steps(f"Publishing {folder.name} of {folder.parent.name} in {repo}").line):
                done = publisher.publish(request)
        except HubError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error
        return dg.MaterializeResult(data_version=dg.DataVersion(done.digest[:16]), metadata=_metadata(done, publisher.endpoint))

    return hub_release


def _request(folder: Path, repo: str, config: HubReleaseConfig) -> PublishRequest:
    if not repo:
        raise HubError(NO_REPO)
    return PublishRequest(folder, repo, VISIBILITIES[config.openness], config.pull_request, config.embedded)


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
    page = f"{endpoint}/datasets/{done.repo}"
    url = f"{page}/discussions/{done.pull_request}" if done.pull_request else f"{page}/tree/{done.tag or done.commit}"
    facts = {"repo": done.repo, "tag": done.tag, "commit": done.commit, "digest": done.digest}
    return {
        **{name: dg.MetadataValue.text(fact) for name, fact in facts.items() if fact is not None},
        "page": dg.MetadataValue.url(url),
        "new": dg.MetadataValue.bool(done.created),
    }
