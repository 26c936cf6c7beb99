"""The card of a whole repository, put together from the cards of the variants in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

from dataset_card.card.header import split_card
from dataset_card.hub.layout import ReleaseSummary, release_paths
from dataset_card.release.manifest import CARD

FIRST_SECTION = re.compile(r"^## ", re.MULTILINE)
FIRST_CHOICE = "base"
# Settings of the page that are made on the Hub itself, so that no release knows them.
PAGE_SETTINGS = re.compile(r"extra_gated_\w+|viewer|thumbnail")


@dataclass(frozen=True)
class VariantCard:
    """What a variant's manifest says, and the card of its release."""

    release: ReleaseSummary
    text: str


def repository_card(cards: Mapping[str, VariantCard], *, repo: str, current: str | None) -> str:
    """The README at the top: all variants' configurations, a list of the releases, and the default variant's card.

    The default is `base`, or else the first by name. `current` is the README of the repository now; of it only settings of the
    Hub's page survive. The text follows from the arguments alone.
    """
    names = sorted(cards, key=lambda name: (name != FIRST_CHOICE, name))
    parts = [split_card(cards[name].text, source=f"the card of {name}") for name in names]
    before = split_card(current, source=f"{CARD} of {repo}")[0] if current else {}
    header = {
        **_merged([header for header, _ in parts]),
        **{key: value for key, value in before.items() if PAGE_SETTINGS.fullmatch(key)},
    }
    if len(names) > 1:
        header["pretty_name"] = f"{str(header['pretty_name']).rpartition(' (')[0]} ({', '.join(names)})"
    body = _with_moved_paths(parts[0][1], cards[names[0]].release)
    dumped = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    return f"---\n{dumped}---\n{_with_section(body, _releases([cards[name].release for name in names], repo=repo))}"


def _merged(headers: list[dict[str, Any]]) -> dict[str, Any]:
    """Lists are joined without repetition, single values are the first variant's, and only it has the default."""
    merged: dict[str, Any] = {}
    for number, header in enumerate(headers):
        for key, value in header.items():
            if isinstance(value, list) and isinstance(merged.get(key, []), list):
                items = [_configuration(item, first=number == 0) for item in cast(list[object], value)]
                values = merged.setdefault(key, [])
                values.extend(item for item in items if item not in values)
            else:
                merged.setdefault(key, value)
    return merged


def _configuration(item: object, *, first: bool) -> object:
    if first or not isinstance(item, dict):
        return item
    return {key: value for key, value in cast(dict[str, object], item).items() if key != "default"}


def _with_moved_paths(body: str, release: ReleaseSummary) -> str:
    """Files that the card names, with the path they have in the repository."""
    for local, remote in release_paths(release).items():
        if local != remote:
            for before, after in (("](", ")"), ("`", "`"), ('"', '"')):
                body = body.replace(f"{before}{local}{after}", f"{before}{remote}{after}")
    return body


def _with_section(body: str, section: str) -> str:
    first = FIRST_SECTION.search(body)
    start = first.start() if first else len(body)
    return f"{body[:start].rstrip()}\n\n{section}\n{body[start:]}"


def _releases(releases: list[ReleaseSummary], *, repo: str) -> str:
    lines = [
        f"| [{one.variant}]({one.variant}/{CARD}) | {one.version} | `{one.tag}` | `{one.digest[:16]}` |" for one in releases
    ]
    first = releases[0]
    return "\n".join(
        [
            "## Releases in this repository",
            "",
            "| variant and its card | version | tag | digest begins with |",
            "|---|---|---|---|",
            *lines,
            "",
            "A tag never moves; name one to get the same rows for ever:",
            "",
            "```python",
            "from datasets import load_dataset",
            "",
            f'dataset = load_dataset("{repo}", "{first.variant}", split="test", revision="{first.tag}")',
            "```",
            "",
            f"`amemgym fetch {repo}@{first.tag}` downloads a release and checks every file against its manifest.",
            "",
        ]
    )
