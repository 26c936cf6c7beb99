"""Three-way merges of a repository's card: what a release wrote last, what it writes now, and what people made of it since."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, cast

# Lists in a header whose items are known by this field.
NAME = "config_name"
LONGEST = 60


class MergeConflict(ValueError):
    """Both sides changed the same thing; the message says what, in the middle of a sentence."""


def merged_header(base: Mapping[str, Any] | None, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a header, by name: those that nobody but people wrote come last. Raises MergeConflict.

    `base` None: no release wrote here yet, so what this one knows of is its own.
    """
    if base is None:
        return {**ours, **{key: value for key, value in theirs.items() if key not in ours}}
    return _fields(base, ours, theirs, where="")


def _fields(base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key in dict.fromkeys([*ours, *theirs]):
        values = base.get(key), ours.get(key), theirs.get(key)
        merged = _value(values, where=f"{where}.{key}".lstrip("."))
        if merged is not None:
            fields[key] = merged
    return fields


def _value(values: tuple[object, object, object], *, where: str) -> object:
    """One value of three sides, None where there is none."""
    base, ours, theirs = values
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        sides = [cast(dict[str, Any], side) if isinstance(side, dict) else {} for side in values]
        return _fields(sides[0], sides[1], sides[2], where=where)
    if isinstance(ours, list) and isinstance(theirs, list):
        lists = [cast(list[Any], side) if isinstance(side, list) else [] for side in values]
        return _items(lists[0], lists[1], lists[2], where=where)
    was, becomes, is_now = map(_short, values)
    raise MergeConflict(f"the field {where} of its header was {was}, is {is_now} by hand, and becomes {becomes}")


def _items(base: list[Any], ours: list[Any], theirs: list[Any], *, where: str) -> list[Any]:
    sides = base, ours, theirs
    if all(isinstance(item, dict) and NAME in item for side in sides for item in side):
        named = [{item[NAME]: item for item in side} for side in sides]
        return list(_fields(named[0], named[1], named[2], where=where).values())
    gone = [item for item in base if item not in theirs]
    return [*(item for item in ours if item not in gone), *(item for item in theirs if item not in base and item not in ours)]


def merged_text(base: str, ours: str, theirs: str) -> str:
    """The lines of three texts. Raises MergeConflict where both sides changed the same lines in different ways."""
    sides = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    merged: list[str] = []
    for old, new, edited in _regions(*sides):
        if new == edited or old == edited:
            merged += new
        elif old == new:
            merged += edited
        else:
            was, is_now, becomes = (_short("".join(part).strip()) for part in (old, edited, new))
            raise MergeConflict(f"the text {was} was changed to {is_now} by hand, and becomes {becomes}")
    return "".join(merged)


Region = tuple[list[str], list[str], list[str]]


def _regions(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[Region]:
    """The three texts cut into pieces that belong together: those that are the same in all, and what is between them."""
    at = 0, 0, 0
    for start, in_ours, in_theirs, length in [*_in_all(base, ours, theirs), (len(base), len(ours), len(theirs), 0)]:
        if at != (start, in_ours, in_theirs):
            yield base[at[0] : start], ours[at[1] : in_ours], theirs[at[2] : in_theirs]
        same = base[start : start + length]
        if same:
            yield same, same, same
        at = start + length, in_ours + length, in_theirs + length


def _in_all(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that stand in all three: where in each, and how many."""
    one, other = _line_map(base, ours), _line_map(base, theirs)
    run: tuple[int, int, int, int] | None = None
    for line in range(len(base)):
        if line not in one or line not in other:
            continue
        here = line, one[line], other[line]
        if run is not None and here == tuple(place + run[3] for place in run[:3]):
            run = (*run[:3], run[3] + 1)
            continue
        if run is not None:
            yield run
        run = (*here, 1)
    if run is not None:
        yield run


def _line_map(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Lines of `base` to the same lines of the other text."""
    blocks = SequenceMatcher(a=base, b=other, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return repr(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...") if value not in (None, "") else "nothing"
