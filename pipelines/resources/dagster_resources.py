"""The resources that a Dagster run opens for its assets."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import dagster as dg

from assets.engine.run_context import RunContext
from dataset_card.hub.port import HubError
from dataset_card.hub.publish import Publisher
from dataset_card.release.store import ReleaseStore
from pipelines.benchmarks import format_of
from pipelines.home import home
from pipelines.resources.hub.open_hub import open_hub, tag_registry
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.storage.open_stores import open_release_store


class RunContextResource(dg.ConfigurableResource[RunContext]):
    """The run context of a Dagster run. Address and key of the endpoint come from the environment, never from config."""

    users_at_once: int = 32

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[RunContext, None, None]:
        # The model's client takes most of a second to import, which a process that only shows the graph does not need.
        from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch
        from pipelines.resources.open import open_run_context

        def log_progress(progress: BatchProgress) -> None:
            if context.log is not None:
                context.log.info(describe_batch(progress))

        with open_run_context(home(), items_at_once=self.users_at_once, on_batch_progress=log_progress) as run_context:
            yield run_context


class ReleaseStoreResource(dg.ConfigurableResource[ReleaseStore]):
    """The release store of this installation: a folder, or the object store that AMEMGYM_STORE names."""

    def create_resource(self, context: dg.InitResourceContext) -> ReleaseStore:
        return open_release_store(home())


class ReportFolder(dg.ConfigurableResource[Path]):
    """The folder that pages of quality reports are written to."""

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        return home().reports


class PublisherResource(dg.ConfigurableResource[Publisher]):
    """Publishes releases. `endpoint` None: HF_ENDPOINT's, or the public Hub. The token never is in the config."""

    endpoint: Optional[str] = None

    def create_resource(self, context: dg.InitResourceContext) -> Publisher:
        """Open the Hub; nothing is sent before a release is published."""

        def notice(words: str) -> None:
            if context.log is not None:
                context.log.info(words)

        try:
            hub = open_hub(HubSettings(endpoint=self.endpoint, notice=notice))
        except HubError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        return Publisher(hub, format_of=format_of, registry=tag_registry(), notice=notice)
