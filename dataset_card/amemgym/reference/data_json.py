"""Episodes as items of the reference's `data.json`, and back. What cannot be stored exactly is refused."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.state import Session
from assets.records.base import duplicates
from assets.records.json_text import JsonError, parse_json
from assets.records.limits import MB, TooMuch, read_unpacked
from dataset_card.amemgym.reference.read import episode_of
from dataset_card.amemgym.reference.schema import ItemSchema, SchemaError, errors_at, join
from dataset_card.release.writers import end_bytes, item_bytes

MOST_BYTES = 4_096 * MB  # of an unpacked file: a hundred times the published set


class ReferenceError(ValueError):
    """An item that is not in the reference's shape; the message names the item and the path in it.

    Not the builtin of this name, which is about weak references.
    """


def to_reference(episode: Episode) -> dict[str, Any]:
    """Return the episode as a JSON item, keys in the reference's order.

    Raises ReferenceError for what the shape cannot hold, such as fractions of a second.
    """
    # The cast is ours: the reference's shape has no place for it.
    profile = episode.user_profile.model_dump(exclude={"user_id", "cast"})
    content = {
        "id": episode.user_id,
        "start_time": episode.start_date.isoformat(),
        "user_profile": {"uuid": episode.user_profile.user_id, **profile},
        "state_schema": episode.state_schema.choices,
        "periods": [_initial_period_out(episode.periods[0]), *map(_period_out, episode.periods[1:])],
        "qas": list(map(_question_out, episode.questions)),
    }
    with _naming_item(repr(episode.user_id)), errors_at(""):
        return ItemSchema.model_validate(content).model_dump()


def episode_from_reference(item: object, *, position: int | None = None) -> Episode:
    """Read one item. Ids follow from positions, and every variable counts as merged from itself alone.

    Raises ReferenceError with one sentence when writing the episode again would not give the same item.
    `position`, the item's index in its array, only serves that sentence.
    """
    with _naming_item(_name(item, position)):
        with errors_at(""):
            parsed = ItemSchema.model_validate(item)
        # The format is defined by programs, so only writing it again shows that all was read.
        return lossless(item, episode_of(parsed))


def lossless(item: object, episode: Episode) -> Episode:
    """Return the episode. Raises SchemaError where writing it would not give the item that it was read from."""
    _refuse_difference(item, to_reference(episode), path="")
    return episode


def lossless_question(item: object, question: EpisodeQuestion, *, path: str) -> None:
    """Raise SchemaError where writing the question would not give the object, at this path, that it was read from."""
    _refuse_difference(item, _question_out(question), path=path)


def _refuse_difference(item: object, written: object, *, path: str) -> None:
    place = _difference(item, written, path=path)
    if place is not None:
        raise SchemaError(place, "this value would come back changed (spaces around it, or it contradicts another field)")


@contextmanager
def _naming_item(item: str) -> Generator[None, None, None]:
    try:
        yield
    except SchemaError as error:
        raise ReferenceError(f"Item {item} of the reference data is wrong at {error}.") from error


def _name(item: object, position: int | None) -> str:
    user_id = repr(cast(dict[str, object], item).get("id")) if isinstance(item, dict) else "that is no JSON object"
    return user_id if position is None else f"[{position}] ({user_id})"


def _difference(left: object, right: object, *, path: str) -> str | None:
    """Return the first path at which two JSON values differ; the order of keys is no difference."""
    if isinstance(left, dict) and isinstance(right, dict):
        first = cast(dict[int | str, object], left)
        second = cast(dict[int | str, object], right)
    elif isinstance(left, list) and isinstance(right, list) and len(cast(list[object], left)) == len(cast(list[object], right)):
        first = dict[int | str, object](enumerate(cast(list[object], left)))
        second = dict[int | str, object](enumerate(cast(list[object], right)))
    else:
        return None if left == right else path
    for key in {**first, **second}:
        difference = _difference(first.get(key, ...), second.get(key, ...), path=join(path, key))
        if difference is not None:
            return difference
    return None


def _initial_period_out(period: EpisodePeriod) -> dict[str, Any]:
    """Return the initial period, which lists all values as updates in the reference's shape."""
    updates = {name: {"old": None, "new": value} for name, value in period.state.items()}
    return {**_period_out(period), "updates": updates}


def _period_out(period: EpisodePeriod) -> dict[str, Any]:
    return {
        "period_start": period.period_start.isoformat() if period.period_start else None,
        "period_end": period.period_end.isoformat(),
        "period_summary": period.period_summary,
        "sessions": list(map(_session_out, period.sessions)),
        "state": period.state,
        "updates": {update.variable: {"old": update.old, "new": update.new} for update in period.updates},
        "update_cnts": period.update_counts,
    }


def _session_out(session: Session) -> dict[str, Any]:
    return {
        "event": session.event,
        "exposed_states": session.exposed_states,
        "query": session.query,
        "messages": [message.model_dump() for message in session.messages],
        "session_time": session.session_time.isoformat(sep=" "),
    }


def _question_out(question: EpisodeQuestion) -> dict[str, Any]:
    choices = [{"state": list(c.state), "answer": c.answer, "type": c.type} for c in question.answer_choices]
    return {"query": question.query, "required_info": list(question.required_info), "answer_choices": choices}


def data_json(episodes: Iterable[Episode]) -> bytes:
    """Return all episodes as one JSON array in UTF-8, indented by two, with a newline at the end."""
    parts: list[bytes] = []
    for episode in episodes:
        parts.append(item_bytes(to_reference(episode), first=not parts))
    return b"".join([*parts, end_bytes(empty=not parts)])


def read_data_json(path: Path) -> list[Episode]:
    """Read a whole `data.json`. Raises ReferenceError for a wrong item, OSError when there is no such file."""
    items = json_items(path)
    episodes = [episode_from_reference(item, position=position) for position, item in enumerate(items)]
    repeated = duplicates([episode.user_id for episode in episodes])
    if repeated:
        raise ReferenceError(f"Item {repeated[0]!r} of the reference data is wrong at id: another item has the same id.")
    return episodes


def json_items(path: Path) -> list[object]:
    """Return the array's elements. Raises ReferenceError for a file that is no JSON array, OSError when there is none.

    The file may be packed by gzip.
    """
    try:
        text = read_unpacked(path, most=MOST_BYTES)
    except TooMuch as error:
        raise ReferenceError(f"It {error}.") from error
    try:
        content: object = parse_json(text, object_pairs_hook=_object)
    except JsonError as error:
        raise ReferenceError(f"It is not readable as JSON ({error}).") from error
    if not isinstance(content, list):
        raise ReferenceError("It must hold one JSON array of items.")
    return cast(list[object], content)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse what `json` would drop in silence."""
    repeated = duplicates([key for key, _ in pairs])
    if repeated:
        raise ValueError(f"the key {repeated[0]!r} occurs twice in one object")
    return dict(pairs)
