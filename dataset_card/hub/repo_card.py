"""The card of a whole repository, put together from the cards of its variants."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

import yaml
from pydantic import BaseModel, ValidationError

from assets.records.estimate import Estimate, percents
from dataset_card.card.basic import card_templates
from dataset_card.card.header import LICENSE_ID, size_category, split_card
from dataset_card.card.paths import nested_path, table_path
from dataset_card.hub.layout import BaselineScore, ReleaseSummary, Versions, release_paths

SECTIONS = re.compile(r"^(?=## )", re.MULTILINE)
LOADING = re.compile(r"^## Loading it\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
STORY = re.compile(r"^## One user's story\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ABOUT = re.compile(r"^# [^\n]*\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
# By these the Hub finds, filters and shows a repository of several variants; each variant's own card has the others.
HEADER_FIELDS = ("language", "license", "pretty_name", "task_categories", "tags", "configs")
FIRST_CHOICE = "base"
# Counts of a manifest that the table of variants has beside that of the items, which is its first. All are of all items.
SHOWN_COUNTS = {"periods": "periods, with the initial ones", "questions": "questions"}
# The table that the snippets read, where there are several.
SHOWN_TABLE = "questions"


class _Report(BaseModel):
    ceiling: Estimate | None = None


@dataclass(frozen=True)
class VariantCard:
    """A variant's manifest in short, the card of its release, and its quality report as JSON, if it has one."""

    release: ReleaseSummary
    text: str
    report: str | None = None

    def split(self) -> tuple[dict[str, Any], str]:
        """Return header and body. Raises CardError."""
        return split_card(self.text, source=f"the card of {self.release.variant}")

    def facts(self, scores: Sequence[BaselineScore]) -> dict[str, str]:
        """Return what the table of variants says of it, by column."""
        counts = self.release.counts
        shown = (*list(counts)[:1], *SHOWN_COUNTS)
        facts = {SHOWN_COUNTS.get(name, name): f"{counts[name]:,}" for name in shown if name in counts}
        try:
            ceiling = _Report.model_validate_json(self.report or "{}").ceiling
        except ValidationError:
            ceiling = None
        if ceiling is not None:
            facts["ceiling"] = percents(ceiling)
        if self.release.usage is not None:
            facts["cost"] = self.release.usage.words
        measured = [score for score in scores if score.memory.value is not None]
        if measured:
            best = max(measured, key=lambda score: score.memory.value or 0.0)
            facts["best memory"] = f"{best.assistant} {percents(best.memory)}"
        return facts


@dataclass(frozen=True)
class RepositoryPage:
    """The contents of a repository's card. `address` is that of its page on the Hub."""

    repo: str
    address: str
    cards: Mapping[str, VariantCard]
    versions: Versions = ()


def repository_card(page: RepositoryPage) -> str:
    """Return the README at the top: a page of all variants, or the only variant's card with what the Hub adds.

    `base` comes first, then by name: the Hub shows the first configuration. The text follows from the argument alone.
    """
    names = sorted(page.cards, key=lambda name: (name != FIRST_CHOICE, name))
    variants = [page.cards[name] for name in names]
    loading = _loading_section(page.repo, [card.release for card in variants])
    releases = _releases_section(page, variants)
    if len(variants) > 1:
        return _page_of_variants(variants, releases=releases, loading=loading)
    header, body = variants[0].split()
    # A function, because a backslash in a replacement text would be read as a reference.
    body = LOADING.sub(lambda _: loading, _with_moved_paths(body, variants[0].release), count=1)
    return card_text(header, _with_section(body, releases))


def _page_of_variants(variants: Sequence[VariantCard], *, releases: str, loading: str) -> str:
    headers: list[dict[str, Any]] = []
    abouts: dict[str, str] = {}
    for card in variants:
        header, body = card.split()
        headers.append(header)
        about = ABOUT.search(body)
        # Variants of one benchmark say the same of it but for their numbers, which the table has.
        benchmark = str(header["pretty_name"]).rpartition(" (")[0]  # the variant stands in brackets
        abouts.setdefault(benchmark, f"**{card.release.variant}**: {about[1] if about else header['pretty_name']}")
    titles = list(abouts)
    title = f"{titles[0] if len(titles) == 1 else 'Memory benchmarks'} ({', '.join(card.release.variant for card in variants)})"
    header = {**_joined_header(headers), "pretty_name": title}
    rows = 0
    for card in variants:
        rows += sum(file.rows or 0 for file in card.release.files if file.path.endswith(".parquet"))
    header["size_categories"] = [size_category(rows)]
    body = _template("repository.md.j2").render(
        title=title, abouts=list(abouts.values()), story=_story(variants), releases=releases, loading=loading
    )
    return card_text(header, body)


def _story(variants: Sequence[VariantCard]) -> str:
    """Return the story of one variant's user, of one that a language model wrote where there is one; "" without stories."""
    for card in sorted(variants, key=lambda card: bool(card.release.verdict.embedded)):
        story = STORY.search(card.split()[1])
        if story:
            release = card.release
            return f"From `{release.variant}`, written by {release.models['writer']}.\n{story[1]}"
    return ""


def card_text(header: dict[str, Any], body: str) -> str:
    # The dumper that is written in C: a header has a line for each column of each variant, and each round writes it anew.
    return f"---\n{yaml.dump(header, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)}---\n{body}"


def _joined_header(headers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join lists without repetition; single values are the first variant's, and only it has the default."""
    joined: dict[str, Any] = {}
    for header in headers:
        for key in HEADER_FIELDS:
            value = header.get(key)
            if not isinstance(value, list):
                joined.setdefault(key, value)
                continue
            items = joined.setdefault(key, [])
            for item in cast(list[object], value):
                if header is not headers[0] and isinstance(item, dict):
                    cast(dict[str, object], item).pop("default", None)
                if item not in items:
                    items.append(item)
    return joined


def _with_moved_paths(body: str, release: ReleaseSummary) -> str:
    """Give files that the card names the path that they have in the repository."""
    for local, remote in release_paths(release).items():
        if local != remote:
            # As a link's target, as code, and as text in code: other words that are called like a file stay.
            for before, after in (("](", ")"), ("`", "`"), ('"', '"')):
                body = body.replace(f"{before}{local}{after}", f"{before}{remote}{after}")
    return body


def _with_section(body: str, section: str) -> str:
    first, *others = SECTIONS.split(body)
    return f"{first.rstrip()}\n\n{section}\n{''.join(others)}"


def _loading_section(repo: str, releases: Sequence[ReleaseSummary]) -> str:
    first = releases[0]
    rows = {file.path: file.rows for file in first.files}
    data_json = f"{first.variant}/data.json"
    tables = {release.variant: _shown_table(release) for release in releases}
    text = _template("hub_loading.md.j2").render(
        repo=repo,
        releases=releases,
        table_names={variant: PurePosixPath(table or "").stem for variant, table in tables.items()},
        nested=nested_path(first.variant),
        table=tables[first.variant],
        data_json=data_json if data_json in rows else None,
        program=first.generator.partition(" ")[0],
    )
    return text.removesuffix("\n")


def _shown_table(release: ReleaseSummary) -> str | None:
    """Return the path of the flat table that the snippets read; None where no table has rows."""
    wanted = table_path(release.variant, SHOWN_TABLE)
    folder = PurePosixPath(wanted).parent
    tables = [file.path for file in release.files if file.rows and PurePosixPath(file.path).parent == folder]
    if wanted in tables:
        return wanted
    return tables[0] if tables else None


def _releases_section(page: RepositoryPage, variants: Sequence[VariantCard]) -> str:
    releases = [card.release for card in variants]
    scores = {version.tag: version.scores for version in page.versions}
    facts = [card.facts(scores.get(card.release.tag, ())) for card in variants]
    columns: dict[str, None] = {}
    for row in facts:
        columns |= dict.fromkeys(row)
    current = {release.tag for release in releases}
    return _template("releases.md.j2").render(
        repo=page.repo,
        address=page.address,
        releases=releases,
        facts=facts,
        columns=list(columns),
        versions=page.versions,
        deprecated={version.tag: version.status for version in page.versions if version.status},
        # Only versions that are on main now: other versions have other scores.
        scored=[version for version in page.versions if version.tag in current and version.scores],
        percents=percents,
        license_id=LICENSE_ID,
    )


def _template(name: str) -> Any:
    return card_templates(Path(__file__).parent).get_template(name)
