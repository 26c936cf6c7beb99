"""A publisher in a process of its own, which tests kill."""

from pathlib import Path

from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.publish import Publisher
from dataset_card.hub.tag_registry import TagRegistry
from pipelines.benchmarks import format_of
from pipelines.opening.hub import open_hub


def publish_in_child(folder: str, repo: str, place: str) -> None:
    """Publish openly; token and address are the environment's."""
    publisher = Publisher(open_hub(), format_of=format_of, registry=TagRegistry(Path(place) / "releases.json"))
    publisher.publish(PublishRequest(Path(folder), repo, visibility="public"))
