"""What stands behind the stages' ports: endpoint or embedded model, call cache, work store, snapshots."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import httpx2

from assets.ports import StageProgress, Workshop
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.home import Home, home
from pipelines.resources.call_cache import CachedModel
from pipelines.resources.endpoint import Endpoint
from pipelines.resources.endpoint_settings import EndpointSettings
from pipelines.resources.keyed_store import KeyedStore
from pipelines.resources.snapshots import ParquetSnapshots
from pipelines.resources.work import SqliteWork

EMBEDDED_URL = "http://embedded.model/v1"


def embedded_settings() -> EndpointSettings:
    """The embedded model, reached in process through the real client and the real HTTP interface."""
    return EndpointSettings(base_url=EMBEDDED_URL, transport=httpx2.ASGITransport(app=create_app()))


@contextmanager
def open_workshop(
    place: Home, *, users_at_once: int = 32, report: Callable[[StageProgress], None] | None = None
) -> Iterator[Workshop]:
    """Open the stores and the model for one run. The endpoint is the environment's, else the embedded model."""
    place.root.mkdir(parents=True, exist_ok=True)
    configured = EndpointSettings.from_environment()
    calls, work = KeyedStore(place.calls, table="replies"), SqliteWork(place.work)
    try:
        yield Workshop(
            model=CachedModel(Endpoint(configured or embedded_settings()), store=calls, mode="use"),
            snapshots=ParquetSnapshots(place.snapshots),
            work=work,
            users_at_once=users_at_once,
            report=report,
            embedded_model=None if configured else model_name(),
        )
    finally:
        calls.close()
        work.close()


class WorkshopResource(dg.ConfigurableResource[Workshop]):
    """The workshop of a Dagster run. Address and key of the endpoint come from the environment, never from config."""

    users_at_once: int = 32

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[Workshop, None, None]:
        """Open it for the run."""
        with open_workshop(home(), users_at_once=self.users_at_once) as workshop:
            yield workshop


class ReleaseFolder(dg.ConfigurableResource[Path]):
    """Where releases are written."""

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        """The folder of this installation."""
        return home().releases
