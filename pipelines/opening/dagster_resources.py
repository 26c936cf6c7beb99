"""The resources that a Dagster run opens for its assets. The page `Resources` shows their settings, without keys.

A setting that is None comes from the environment, so a launchpad overrides only the settings that are typed there.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import dagster as dg
from pydantic import Field, ValidationError

from assets.engine.materialization import explain_failures
from assets.engine.ports import RunContext
from assets.llm.ports import EndpointError
from assets.records.problems import requirement
from dataset_card.errors import HubError
from dataset_card.hub.publish import Publisher
from dataset_card.release_store.folder import ReleaseWriter
from pipelines.benchmarks import format_of
from pipelines.home import Home, home
from pipelines.opening.hub import open_hub, tag_registry
from pipelines.redaction import secrets_of
from pipelines.resources.hub.settings import ENDPOINT, PUBLIC_HUB, HubSettings
from pipelines.resources.llm.settings import NUMBER_VARIABLES, EndpointSettings
from pipelines.resources.storage.release_writer import open_release_writer

EMBEDDED = "embedded"


class InstallationResource(dg.ConfigurableResource[Home]):
    """The data folder. `store`: an object store or shared folder that holds snapshots, values and releases instead."""

    data_folder: Optional[str] = None
    store: Optional[str] = None

    @property
    def home(self) -> Home:
        here = home()
        return Home(Path(self.data_folder or here.root), here.store if self.store is None else self.store)


class RunContextResource(dg.ConfigurableResource[RunContext]):
    """Model, stores and limits of a run. The API key comes from the environment and is sent only to the address set there.

    `endpoint`: an OpenAI-compatible address, or `embedded` for the embedded model.
    """

    installation: InstallationResource
    endpoint: Optional[str] = None
    max_in_flight: Optional[int] = Field(default=None, description="calls at once")
    requests_per_minute: Optional[int] = None
    tokens_per_minute: Optional[int] = None
    timeout_seconds: Optional[float] = None
    users_at_once: int = Field(default=32, ge=1)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[RunContext, None, None]:
        # Imported late: the model's client takes most of a second to import, and showing the graph does not need it.
        from pipelines.opening.models import open_run_context
        from pipelines.resources.llm.batch.settings import BatchProgress, describe_batch

        def log_progress(progress: BatchProgress) -> None:
            if context.log is not None:
                context.log.info(describe_batch(progress))

        with open_run_context(
            self.installation.home,
            items_at_once=self.users_at_once,
            on_batch_progress=log_progress,
            tags=context.run.tags if context.run else None,
            find_endpoint=self.find_endpoint,
        ) as run_context:
            yield run_context

    def find_endpoint(self) -> EndpointSettings | None:
        """Return the endpoint that a run sends its calls to; None for the embedded model. Raises EndpointError."""
        known = EndpointSettings.from_environment()
        if self.endpoint == EMBEDDED or (self.endpoint is None and known is None):
            return None
        fields: dict[str, Any] = dict(known) if known else {}
        if self.endpoint is not None and self.endpoint.strip() != fields.get("base_url"):
            if secrets_of(self.endpoint):
                raise EndpointError(
                    "The endpoint of the resource run_context cannot hold a login or a query, because Dagster "
                    "stores what you type in a launchpad; put the address into AMEMGYM_BASE_URL."
                )
            # The environment's key is for the environment's address, so it is not sent to this one.
            fields = {name: fields[name] for name in NUMBER_VARIABLES if name in fields} | {"base_url": self.endpoint}
        for name in NUMBER_VARIABLES:
            if getattr(self, name) is not None:
                fields[name] = getattr(self, name)
        try:
            return EndpointSettings.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
        field = str(first["loc"][0]).replace("base_url", "endpoint")
        raise EndpointError(f"The resource run_context cannot be used: {field} {requirement(first)}.")


class ReleaseStoreResource(dg.ConfigurableResource[ReleaseWriter]):
    """The release store of this installation: a folder, or its object store."""

    installation: InstallationResource

    def create_resource(self, context: dg.InitResourceContext) -> ReleaseWriter:
        return open_release_writer(self.installation.home)


class ReportFolder(dg.ConfigurableResource[Path]):
    """The folder that the pages of quality reports are written to."""

    installation: InstallationResource

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        return self.installation.home.reports


class PublisherResource(dg.ConfigurableResource[Publisher]):
    """Publishes releases. The token is never part of the config.

    `endpoint`: by default HF_ENDPOINT, else the public Hub.
    """

    endpoint: Optional[str] = None

    def create_resource(self, context: dg.InitResourceContext) -> Publisher:
        """Open the Hub's client. Nothing is sent until a release is published."""

        def notice(words: str) -> None:
            if context.log is not None:
                context.log.info(words)

        with explain_failures(HubError):
            hub = open_hub(HubSettings(endpoint=self.endpoint, notice=notice))
        return Publisher(hub, format_of=format_of, registry=tag_registry(), notice=notice)


def configured_resources() -> dict[str, Any]:
    """Return the resources by their names, with the environment's current settings."""
    here = home()
    installation = InstallationResource(
        data_folder=str(here.root), store=_address_or_variable(here.store, variable="AMEMGYM_STORE")
    )
    return {
        "installation": installation,
        "run_context": RunContextResource(installation=installation, **_endpoint_fields()),
        "releases": ReleaseStoreResource(installation=installation),
        "reports": ReportFolder(installation=installation),
        "publisher": PublisherResource(
            endpoint=_address_or_variable(os.environ.get(ENDPOINT) or PUBLIC_HUB, variable=ENDPOINT)
        ),
    }


def _endpoint_fields() -> dict[str, Any]:
    try:
        known = EndpointSettings.from_environment()
    except EndpointError:
        return {}  # a run will report the problem
    if known is None:
        return {"endpoint": EMBEDDED}
    limits = {name: getattr(known, name) for name in NUMBER_VARIABLES}
    return {"endpoint": _address_or_variable(known.base_url, variable=known.url_variable), **limits}


def _address_or_variable(address: str, *, variable: str) -> Any:
    """Return the address; if it may hold a login or a key, return its environment variable, which is read in the run."""
    return dg.EnvVar(variable) if secrets_of(address) else address
