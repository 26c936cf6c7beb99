"""A publisher in a process of its own, which tests kill."""

from pathlib import Path

from dataset_card.hub.plan import Order
from dataset_card.hub.publish import Publisher
from dataset_card.hub.tag_registry import ReleaseRecords
from pipelines.resources.hub.settings import open_hub


def publish_in_child(folder: str, repo: str, place: str) -> None:
    """Publish openly; token and address are the environment's."""
    publisher = Publisher(open_hub(), records=ReleaseRecords(Path(place) / "releases.json"))
    publisher.publish(Order(Path(folder), repo, visibility="public"))
