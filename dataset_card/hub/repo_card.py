"""The card of a whole repository, put together from the cards of the variants in it. It is written for the Hub's page."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.records.estimate import percents
from dataset_card.card import markdown
from dataset_card.card.header import LICENSE_ID, nested_path, size_category, split_card, table_path
from dataset_card.hub.layout import ReleaseSummary, release_paths
from dataset_card.hub.merge import merged_header, merged_text
from dataset_card.hub.versions_file import PublishedVersion, Versions
from dataset_card.release.manifest import CARD

FIRST_SECTION = re.compile(r"^## ", re.MULTILINE)
LOADING = re.compile(r"^## Loading it\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FIRST_CHOICE = "base"
# The table that the snippets read, where there are several.
SHOWN_TABLE = "questions"
FIGURE_OF_ROWS = "num_examples"


@dataclass(frozen=True)
class VariantCard:
    """What a variant's manifest says, and the card of its release."""

    release: ReleaseSummary
    text: str


@dataclass(frozen=True)
class RepositoryPage:
    """What a repository's card is written from. `address` is that of its page on the Hub."""

    repo: str
    address: str
    cards: Mapping[str, VariantCard]
    versions: Versions = ()


class ExampleTable(NamedTuple):
    """A flat table that the snippets read."""

    name: str
    path: str


def repository_card(page: RepositoryPage) -> str:
    """The README at the top: all variants' configurations and releases, and the default variant's card.

    The default is `base`, or else the first by name. The text follows from the argument alone.
    """
    names = sorted(page.cards, key=lambda name: (name != FIRST_CHOICE, name))
    parts = [split_card(page.cards[name].text, source=f"the card of {name}") for name in names]
    header = _merged([header for header, _ in parts])
    if len(names) > 1:
        header["pretty_name"] = f"{str(header['pretty_name']).rpartition(' (')[0]} ({', '.join(names)})"
    releases = [page.cards[name].release for name in names]
    body = LOADING.sub(lambda _: _loading(page.repo, releases), _with_moved_paths(parts[0][1], releases[0]), count=1)
    return f"---\n{_dumped(header)}---\n{_with_section(body, _releases(page, releases))}"


def merged_card(base: str | None, *, ours: str, theirs: str, source: str) -> str:
    """The card with what people wrote since. `base` is what a release wrote last, None where none did.

    Raises MergeConflict where a line or a field was changed by people and by this release.
    """
    parts = [split_card(text, source=source) for text in (ours, theirs)]
    old = split_card(base, source=source) if base is not None else (None, "")
    header = merged_header(old[0], parts[0][0], parts[1][0])
    body = merged_text(old[1], parts[0][1], parts[1][1]) if base is not None else parts[0][1]
    return f"---\n{_dumped(header)}---\n{body}"


def _dumped(header: dict[str, Any]) -> str:
    # The dumper that is written in C: a header has a line for each column of each variant, and each round writes it anew.
    return yaml.dump(header, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


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
    rows = [split[FIGURE_OF_ROWS] for info in merged.get("dataset_info", ()) for split in info["splits"]]
    if rows:
        merged["size_categories"] = [size_category(sum(rows))]
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


def _loading(repo: str, releases: Sequence[ReleaseSummary]) -> str:
    first, *others = releases
    rows = {file.path: file.rows for file in first.files}
    home = str(Path(table_path(first.variant, "any")).parent)
    tables = [ExampleTable(Path(path).stem, path) for path, count in rows.items() if Path(path).parent == Path(home) and count]
    data_json = f"{first.variant}/data.json"
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("hub_loading.md.j2").render(
        repo=repo,
        variant=first.variant,
        tag=first.tag,
        nested=nested_path(first.variant),
        table=next((one for one in tables if one.name == SHOWN_TABLE), tables[0] if tables else None),
        data_json=data_json if data_json in rows else None,
        program=first.generator.partition(" ")[0],
        others=others,
    )


def _releases(page: RepositoryPage, releases: list[ReleaseSummary]) -> str:
    bad = {one.tag: one.status for one in page.versions if one.status}
    warnings = [
        f"> **`{release.tag}` should not be used any more: {markdown.text(bad[release.tag])}.**\n"
        for release in releases
        if release.tag in bad
    ]
    lines = [
        f"| [{one.variant}]({one.variant}/{CARD}) | {one.version} | `{one.tag}` | `{one.digest[:16]}` |" for one in releases
    ]
    return "\n".join(
        [
            *warnings,
            "## Releases in this repository",
            "",
            "Each variant has a card of its own; this page shows that of the first. A tag never moves.",
            "",
            "| variant and its card | version | tag | digest begins with |",
            "|---|---|---|---|",
            *lines,
            "",
            *_history(page.versions),
            *_scores(page.versions, tags={one.tag for one in releases}),
            f"Questions, errors, wishes: [{page.address}/discussions]({page.address}/discussions).",
            "",
            f'To credit this data, name it "{releases[0].variant} {releases[0].version} of {page.repo}", its page '
            f"[{page.address}]({page.address}) and its license, {LICENSE_ID}, and say what you changed; the section on license "
            "and citation tells whom else.",
            "",
        ]
    )


def _history(versions: Sequence[PublishedVersion]) -> list[str]:
    if not versions:
        return []
    lines = [
        f"| `{one.tag}` | {one.published.isoformat() if one.published else '-'} | {markdown.text(one.reason or '-')} "
        f"| {markdown.text(one.status or 'yes')} |"
        for one in versions
    ]
    return [
        "<details>",
        f"<summary>All versions ({len(versions)}), with their days and reasons</summary>",
        "",
        "| tag | published | why there is this version | to be used |",
        "|---|---|---|---|",
        *lines,
        "",
        "</details>",
        "",
    ]


def _scores(versions: Sequence[PublishedVersion], *, tags: Collection[str]) -> list[str]:
    """What was reached on the versions that are on main now; other versions have other scores."""
    lines = [
        f"| {markdown.text(score.assistant)} | {markdown.text(score.model)} | `{one.tag}` | {score.users} "
        f"| {percents(score.accuracy)} | {percents(score.memory)} |"
        for one in versions
        if one.tag in tags
        for score in one.scores
    ]
    if not lines:
        return []
    return [
        "**Baseline scores** of these very releases, with 95 % intervals over users:",
        "",
        "| assistant | model | on | users | right answers | normalized memory score |",
        "|---|---|---|---:|---:|---:|",
        *lines,
        "",
    ]
