"""The resources that a Dagster run opens for its assets."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from assets.engine.run_context import Workshop
from dataset_card.release.store import Shelf
from pipelines.home import home


class WorkshopResource(dg.ConfigurableResource[Workshop]):
    """The workshop of a Dagster run. Address and key of the endpoint come from the environment, never from config."""

    users_at_once: int = 32

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[Workshop, None, None]:
        """Open it for the run."""
        # The model's client takes most of a second to import, which a process that only shows the graph does not need.
        from pipelines.resources.llm.batch.settings import BatchProgress, batch_line
        from pipelines.resources.open_resources import open_workshop

        def tell(progress: BatchProgress) -> None:
            if context.log is not None:
                context.log.info(batch_line(progress))

        with open_workshop(home(), users_at_once=self.users_at_once, watch=tell) as workshop:
            yield workshop


class ReleaseShelf(dg.ConfigurableResource[Shelf]):
    """Where releases stand."""

    def create_resource(self, context: dg.InitResourceContext) -> Shelf:
        """The shelf of this installation."""
        return home().shelf


class ReportFolder(dg.ConfigurableResource[Path]):
    """Where pages of quality reports are written."""

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        """The folder of this installation."""
        return home().reports
