"""What people wrote in a repository's card stays when the next release writes it: fields of its header and own sections."""

from collections.abc import Mapping
from typing import Any, cast

from assets.text.words import shorten
from dataset_card.card.header import split_card
from dataset_card.hub.repo_card import SECTIONS, card_text

# Lists in a header whose items are known by this field.
NAME = "config_name"
# Characters of a value in a message: enough to find the place, and the sentence stays one line.
LONGEST = 60


def merged_card(base: str | None, *, ours: str, theirs: str, source: str) -> str:
    """Return the card with what people wrote since. `base` is what a release wrote last, None where none did.

    Sections of people come last. Raises MergeConflict where people changed a section that a release wrote, or a field that
    this release writes otherwise.
    """
    our_header, our_body = split_card(ours, source=source)
    their_header, their_body = split_card(theirs, source=source)
    if base is None:
        return card_text(merged_header(None, our_header, their_header), our_body)
    base_header, base_body = split_card(base, source=source)
    header = merged_header(base_header, our_header, their_header)
    return card_text(header, our_body + _sections_by_hand(base_body, their_body))


def _sections_by_hand(base: str, theirs: str) -> str:
    """Return the sections that people added. Raises MergeConflict where one of a release is no longer as it was written."""
    written = [section.strip() for section in SECTIONS.split(base)]
    added: list[str] = []
    for section in SECTIONS.split(theirs):
        if section.strip() in written:
            written.remove(section.strip())
        else:
            added.append(f"\n{section.strip()}\n")
    if written:
        raise MergeConflict(f"the text {_shorten(written[0])} was changed by hand")
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


def _shorten(value: object) -> str:
    if value in (None, ""):
        return "nothing"
    return repr(shorten(" ".join(str(value).split()), LONGEST))
