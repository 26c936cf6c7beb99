"""The Hub and the record of what was published there, as resources of a Dagster run."""

from typing import Optional

import dagster as dg

from dataset_card.hub.port import HubError
from dataset_card.hub.publish import Publisher
from pipelines.resources.hub.reader import release_records
from pipelines.resources.hub.settings import HubSettings, open_hub


class PublisherResource(dg.ConfigurableResource[Publisher]):
    """Publishes releases. `endpoint` None: HF_ENDPOINT's, or the public Hub. The token never is in the config."""

    endpoint: Optional[str] = None

    def create_resource(self, context: dg.InitResourceContext) -> Publisher:
        """Open the Hub; nothing is sent yet."""

        def notice(words: str) -> None:
            if context.log is not None:
                context.log.info(words)

        try:
            hub = open_hub(HubSettings(endpoint=self.endpoint, notice=notice))
        except HubError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        return Publisher(hub, records=release_records(), notice=notice)
