"""The card of a whole repository: put together from the cards of its variants, and merged with what people wrote there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Any, cast

import yaml
from pydantic import BaseModel, ValidationError

from assets.records.estimate import Estimate, percents
from dataset_card.card.basic import card_templates
from dataset_card.card.header import LICENSE_ID, nested_path, size_category, split_card, table_path
from dataset_card.hub.layout import BaselineScore, ReleaseSummary, Versions, release_paths

SECTIONS = re.compile(r"^(?=## )", re.MULTILINE)
LOADING = re.compile(r"^## Loading it\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
STORY = re.compile(r"^## One user's story\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ABOUT = re.compile(r"^# [^\n]*\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
# By these the Hub finds, filters and shows a repository of several variants; each variant's own card has the others.
HEADER_FIELDS = ("language", "license", "pretty_name", "task_categories", "tags", "configs")
ANNOTATORS = "annotations_creators"
FIRST_CHOICE = "base"
# Counts of a manifest that the table of variants has beside that of the items, which is its first. All are of all items.
SHOWN_COUNTS = {"periods": "periods, with the initial ones", "questions": "questions"}
# The table that the snippets read, where there are several.
SHOWN_TABLE = "questions"
# Lists in a header whose items are known by this field.
NAME = "config_name"
# Characters of a value in a message: enough to find the place, and the sentence stays one line.
LONGEST = 60


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
    return _card_text(header, _with_section(body, releases))


def _page_of_variants(variants: Sequence[VariantCard], *, releases: str, loading: str) -> str:
    headers: list[dict[str, Any]] = []
    abouts: dict[str, str] = {}
    for card in variants:
        header, body = card.split()
        headers.append(header)
        about = ABOUT.search(body)
        # Variants of one benchmark say the same of it but for their numbers, which the table has.
        abouts.setdefault(
            _benchmark_title(header), f"**{card.release.variant}**: {about[1] if about else header['pretty_name']}"
        )
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
    return _card_text(header, body)


def _benchmark_title(header: Mapping[str, Any]) -> str:
    """Return a card's title without its variant, which stands in brackets."""
    return str(header["pretty_name"]).rpartition(" (")[0]


def _story(variants: Sequence[VariantCard]) -> str:
    """Return the story of one variant's user, of one that a language model wrote where there is one; "" without stories."""
    for card in sorted(variants, key=lambda card: bool(card.release.verdict.embedded)):
        story = STORY.search(card.split()[1])
        if story:
            release = card.release
            return f"From `{release.variant}`, written by {release.models['writer']}.\n{_with_moved_paths(story[1], release)}"
    return ""


def _card_text(header: dict[str, Any], body: str) -> str:
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


def merged_card(base: str | None, *, ours: str, theirs: str, source: str) -> str:
    """Return the card with what people wrote since. `base` is what a release wrote last, None where none did.

    The merge has three sides. Raises MergeConflict where a line or a field was changed by people and by this release.
    """
    our_header, our_body = split_card(ours, source=source)
    their_header, their_body = split_card(theirs, source=source)
    if base is None:
        return _card_text(merged_header(None, our_header, their_header), our_body)
    base_header, base_body = split_card(base, source=source)
    header = merged_header(base_header, our_header, their_header)
    # Only the card of one variant names annotators. Where a page of several follows it, no line stands where it stood.
    if ANNOTATORS in base_header and ANNOTATORS not in our_header:
        return _card_text(header, our_body + _sections_by_hand(base_body, their_body))
    return _card_text(header, merged_text(base_body, our_body, their_body))


def _sections_by_hand(base: str, theirs: str) -> str:
    """Return the sections that people added. Raises MergeConflict for other words of theirs."""
    written = [section.strip() for section in SECTIONS.split(base)]
    added: list[str] = []
    for section in SECTIONS.split(theirs):
        if section.strip() in written:
            written.remove(section.strip())
        else:
            added.append(f"\n{section.strip()}\n")
    if written:
        raise MergeConflict(f"the text {_shorten(written[0])} was changed by hand, and is now in the card of its variant")
    return "".join(added)


class MergeConflict(ValueError):
    """Both sides changed the same thing; the message says what, in the middle of a sentence."""


def merged_header(base: Mapping[str, Any] | None, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the fields of a header, by name: those that nobody but people wrote come last. Raises MergeConflict.

    `base` None: no release wrote here yet, so what this one knows of is its own.
    """
    if base is None:
        return {**ours, **theirs, **ours}
    return _merged_fields(base, ours, theirs, above="")


def _merged_fields(
    base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any], *, above: str
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key in dict.fromkeys([*ours, *theirs]):
        name = f"{above}.{key}".lstrip(".")
        merged = _merged_value(base.get(key), ours.get(key), theirs.get(key), name=name)
        if merged is not None:
            fields[key] = merged
    return fields


def _merged_value(base: object, ours: object, theirs: object, *, name: str) -> object:
    """Merge one value, None where there is none."""
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    our_fields = _fields_in(ours)
    their_fields = _fields_in(theirs)
    if our_fields is not None and their_fields is not None:
        return _merged_fields(_fields_in(base) or {}, our_fields, their_fields, above=name)
    our_items = _items_in(ours)
    their_items = _items_in(theirs)
    if our_items is not None and their_items is not None:
        return _merged_items(_items_in(base) or [], our_items, their_items, name=name)
    raise MergeConflict(
        f"the field {name} of its header was {_shorten(base)}, is {_shorten(theirs)} by hand, and becomes {_shorten(ours)}"
    )


def _merged_items(base: list[Any], ours: list[Any], theirs: list[Any], *, name: str) -> list[Any]:
    if all(map(_is_named, [*base, *ours, *theirs])):
        return list(_merged_fields(_by_name(base), _by_name(ours), _by_name(theirs), above=name).values())
    merged: list[Any] = []
    for item in ours:
        taken_out_by_hand = item in base and item not in theirs
        if not taken_out_by_hand:
            merged.append(item)
    for item in theirs:
        if item not in base and item not in ours:
            merged.append(item)
    return merged


def _is_named(item: object) -> bool:
    return isinstance(item, dict) and NAME in item


def _by_name(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {item[NAME]: item for item in items}


def _fields_in(value: object) -> dict[str, Any] | None:
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _items_in(value: object) -> list[Any] | None:
    return cast(list[Any], value) if isinstance(value, list) else None


def merged_text(base: str, ours: str, theirs: str) -> str:
    """Merge the lines of three texts. Raises MergeConflict where both sides changed the same lines in different ways."""
    merged: list[str] = []
    for old, new, edited in _regions(_lines(base), _lines(ours), _lines(theirs)):
        if new == edited or old == edited:
            merged += new
        elif old == new:
            merged += edited
        else:
            was = _shorten("".join(old).strip())
            by_hand = _shorten("".join(edited).strip())
            becomes = _shorten("".join(new).strip())
            raise MergeConflict(f"the text {was} was changed to {by_hand} by hand, and becomes {becomes}")
    return "".join(merged)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _regions(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Cut the three texts at the lines that stand in all of them, and yield what is between, and each such line."""
    in_ours = _line_map(base, ours)
    in_theirs = _line_map(base, theirs)
    start = start_in_ours = start_in_theirs = 0
    for number, line in enumerate(base):
        if number not in in_ours or number not in in_theirs:
            continue
        yield base[start:number], ours[start_in_ours : in_ours[number]], theirs[start_in_theirs : in_theirs[number]]
        yield [line], [line], [line]
        start = number + 1
        start_in_ours = in_ours[number] + 1
        start_in_theirs = in_theirs[number] + 1
    yield base[start:], ours[start_in_ours:], theirs[start_in_theirs:]


def _line_map(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Map lines of `base` to the same lines of the other text."""
    lines: dict[int, int] = {}
    for block in SequenceMatcher(a=base, b=other, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            lines[block.a + step] = block.b + step
    return lines


def _shorten(value: object) -> str:
    if value in (None, ""):
        return "nothing"
    text = " ".join(str(value).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 3]}..."
    return repr(text)
