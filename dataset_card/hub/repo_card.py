"""The card of a whole repository: put together from the cards of its variants, and merged with what people wrote there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Any, cast

import yaml

from assets.records.estimate import percents
from dataset_card.card.basic import card_templates
from dataset_card.card.header import LICENSE_ID, nested_path, rows_in, size_category, split_card, table_path
from dataset_card.hub.layout import ReleaseSummary, Versions, release_paths

FIRST_SECTION = re.compile(r"^## ", re.MULTILINE)
LOADING = re.compile(r"^## Loading it\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FIRST_CHOICE = "base"
# The table that the snippets read, where there are several.
SHOWN_TABLE = "questions"
# Lists in a header whose items are known by this field.
NAME = "config_name"
# Characters of a value in a message: enough to find the place, and the sentence stays one line.
LONGEST = 60


@dataclass(frozen=True)
class VariantCard:
    """A variant's manifest in short, and the card of its release."""

    release: ReleaseSummary
    text: str


@dataclass(frozen=True)
class RepositoryPage:
    """The contents of a repository's card. `address` is that of its page on the Hub."""

    repo: str
    address: str
    cards: Mapping[str, VariantCard]
    versions: Versions = ()


def repository_card(page: RepositoryPage) -> str:
    """Return the README at the top: all variants' configurations and releases, and the default variant's card.

    The default is `base`, or else the first by name. The text follows from the argument alone.
    """
    names = sorted(page.cards)
    # The Hub shows the first configuration, and `base` is the one that most ask for.
    if FIRST_CHOICE in names:
        names.remove(FIRST_CHOICE)
        names.insert(0, FIRST_CHOICE)
    releases = [page.cards[name].release for name in names]
    headers: list[dict[str, Any]] = []
    bodies: list[str] = []
    for name in names:
        header, body = split_card(page.cards[name].text, source=f"the card of {name}")
        headers.append(header)
        bodies.append(body)
    header = _joined_header(headers)
    if len(names) > 1:
        # Each variant has its own name in brackets.
        header["pretty_name"] = f"{str(header['pretty_name']).rpartition(' (')[0]} ({', '.join(names)})"
    loading = _loading_section(page.repo, releases)
    # A function, because a backslash in a replacement text would be read as a reference.
    body = LOADING.sub(lambda _: loading, _with_moved_paths(bodies[0], releases[0]), count=1)
    return _card_text(header, _with_section(body, _releases_section(page, releases)))


def _card_text(header: dict[str, Any], body: str) -> str:
    # The dumper that is written in C: a header has a line for each column of each variant, and each round writes it anew.
    return f"---\n{yaml.dump(header, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)}---\n{body}"


def _joined_header(headers: list[dict[str, Any]]) -> dict[str, Any]:
    """Join lists without repetition; single values are the first variant's, and only it has the default."""
    joined: dict[str, Any] = {}
    for number, header in enumerate(headers):
        for key, value in header.items():
            if not isinstance(value, list) or not isinstance(joined.get(key, []), list):
                joined.setdefault(key, value)
                continue
            items = joined.setdefault(key, [])
            for item in cast(list[object], value):
                if number > 0 and isinstance(item, dict):
                    cast(dict[str, object], item).pop("default", None)
                if item not in items:
                    items.append(item)
    if "dataset_info" in joined:
        joined["size_categories"] = [size_category(rows_in(joined["dataset_info"]))]
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
    first = FIRST_SECTION.search(body)
    start = first.start() if first else len(body)
    return f"{body[:start].rstrip()}\n\n{section}\n{body[start:]}"


def _loading_section(repo: str, releases: Sequence[ReleaseSummary]) -> str:
    first = releases[0]
    rows = {file.path: file.rows for file in first.files}
    data_json = f"{first.variant}/data.json"
    table = _shown_table(first)
    text = _template("hub_loading.md.j2").render(
        repo=repo,
        variant=first.variant,
        tag=first.tag,
        nested=nested_path(first.variant),
        table=table,
        table_name=PurePosixPath(table or "").stem,
        data_json=data_json if data_json in rows else None,
        program=first.generator.partition(" ")[0],
        others=releases[1:],
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


def _releases_section(page: RepositoryPage, releases: list[ReleaseSummary]) -> str:
    current = {release.tag for release in releases}
    return _template("releases.md.j2").render(
        repo=page.repo,
        address=page.address,
        releases=releases,
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
    return _card_text(header, merged_text(base_body, our_body, their_body))


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
