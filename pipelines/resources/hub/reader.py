"""The reader of releases as this installation has it: its folder, its records, and the Hub when it is needed."""

from collections.abc import Callable

from dataset_card.hub.read import Reader
from dataset_card.hub.tag_registry import ReleaseRecords
from pipelines.home import home
from pipelines.resources.hub.settings import HubSettings, open_hub

FETCHED = "fetched"
RECORDS = "releases.json"


def release_reader(*, endpoint: str | None = None, notice: Callable[[str], None] = print) -> Reader:
    """A reader that keeps what it fetches. Raises nothing itself; reading raises HubError."""
    settings = HubSettings(endpoint=endpoint, notice=notice)
    return Reader(lambda: open_hub(settings), cache=home().root / FETCHED, records=release_records(), notice=notice)


def release_records() -> ReleaseRecords:
    """What tags on the Hub stood for when they were published or first read from here."""
    return ReleaseRecords(home().releases / RECORDS)
