"""Anybody's `data.json`, read as it is: what can be mended is mended, what cannot be used is left out by user or question.

Nothing is mended that decides which option is right; every mending is counted, and everything left out has its reason.
"""

import sys
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BaseModel

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.user import LeftOut
from assets.reporting.plurals import counted, is_or_are
from dataset_card.amemgym.reference.data_json import json_items, lossless
from dataset_card.amemgym.reference.read import episode_of, question_id, question_of
from dataset_card.amemgym.reference.schema import (
    Day,
    ItemSchema,
    MessageSchema,
    Moment,
    PeriodSchema,
    ProfileSchema,
    QuestionSchema,
    SchemaError,
    SessionSchema,
    Words,
    errors_at,
)

# Values of fields that a file may lack: nothing of it decides which option is right.
DEFAULTS: Mapping[tuple[type[BaseModel], str], object] = {
    (SessionSchema, "messages"): [],
    (SessionSchema, "event"): None,
    (PeriodSchema, "period_summary"): None,
    (PeriodSchema, "sessions"): [],
    (ProfileSchema, "gender"): "",
    (ProfileSchema, "marital_status"): "",
    (ProfileSchema, "education_level"): "",
    (ProfileSchema, "occupation"): "",
    (ProfileSchema, "hobbies_and_interests"): "",
    (ProfileSchema, "skills_and_expertise"): "",
}
# Reasons in a sentence on what was left out; the others are counted.
REASONS = 3
KEPT_AS_IT_IS = (MessageSchema,)  # a dialogue is a record of what was said


@dataclass(frozen=True)
class ImportedData:
    """The users that can be used, in the file's order. `users` and `questions` count those of the file.

    `mended`: what was mended, a sentence about one such place, and how many there are.
    """

    episodes: tuple[Episode, ...]
    left_out: tuple[LeftOut, ...] = ()
    mended: Mapping[str, int] = field(default_factory=dict[str, int])
    users: int = 0
    questions: int = 0

    def sentences(self) -> Iterator[str]:
        """Yield what is not as in the file; nothing of a file that is read as it is."""
        for mended, count in self.mended.items():
            yield f"{mended}: {counted(count, 'time')}."
        users = [item for item in self.left_out if not item.question_id]
        questions = [item for item in self.left_out if item.question_id]
        if users:
            yield _left_out_sentence(users, counted(self.users, "user"))
        if questions:
            yield _left_out_sentence(questions, counted(self.questions, "question"))


def _left_out_sentence(left_out: list[LeftOut], whole: str) -> str:
    reasons: list[str] = []
    for item in left_out[:REASONS]:
        name = f"{item.user_id} {item.question_id}" if item.question_id else item.user_id
        reasons.append(f"{name}: {item.reason}")
    if len(left_out) > REASONS:
        reasons.append(f"{len(left_out) - REASONS} more")
    return f"{len(left_out)} of {whole} cannot be used and {is_or_are(len(left_out))} left out: {'; '.join(reasons)}."


def import_data_json(path: Path) -> ImportedData:
    """Read a `data.json` of anybody. Raises ReferenceError for a file that is no JSON array, OSError for none at all."""
    mended = Counter[str]()
    left_out: list[LeftOut] = []
    episodes: dict[str, Episode] = {}
    items = json_items(path)
    questions = 0
    for position, item in enumerate(items):
        reader = _ItemReader(item, position, mended)
        questions += len(reader.qas)
        try:
            episode = reader.episode()
            # Nobody could tell which of the two is meant.
            if episode.user_id in episodes:
                raise SchemaError("id", "another item has the same id")
        except SchemaError as error:
            left_out.append(LeftOut(user_id=reader.user_id, reason=str(error)))
            continue
        episodes[episode.user_id] = episode
        left_out += reader.left_out
    return ImportedData(tuple(episodes.values()), tuple(left_out), dict(sorted(mended.items())), len(items), questions)


class _ItemReader:
    """One item of the array; its questions are read one by one, so that a wrong one costs itself alone."""

    def __init__(self, item: object, position: int, mended: Counter[str]) -> None:
        content = cast(dict[str, Any], item) if isinstance(item, dict) else {}
        self.left_out: list[LeftOut] = []
        self.user_id = str(content.get("id", f"item {position + 1}"))
        found = content.get("qas")
        self.qas: list[Any] = cast(list[Any], found) if isinstance(found, list) else []
        self._mended = mended
        self._item: object = {**content, "qas": list[object]()} if content else item

    def episode(self) -> Episode:
        """Return the user. Raises SchemaError for one who cannot be used."""
        own = Counter[str]()
        mended = mend(self._item, ItemSchema, own)
        _add_starts(mended, own)
        _add_counts(mended, own)
        _unify_ids(mended, own)
        with errors_at(""):
            item = ItemSchema.model_validate(mended)
        episode_of(item)  # so that what is wrong with the user is not laid to a question
        usable = dict(self._usable(item, own))
        # A user without questions measures nothing.
        if not usable:
            raise SchemaError("qas", self.left_out[0].reason if self.left_out else "there is no question")
        whole = item.model_copy(update={"qas": list(usable.values())})
        episode = lossless(whole.model_dump(), episode_of(whole, numbers=list(usable)))
        self._mended.update(+own)
        return episode

    def _usable(self, item: ItemSchema, mended: Counter[str]) -> Iterator[tuple[int, QuestionSchema]]:
        for index, content in enumerate(self.qas):
            own = Counter[str]()
            path = f"qas[{index}]"
            try:
                mended_question = mend(content, QuestionSchema, own)
                _add_types(mended_question, item, own)
                with errors_at(path):
                    qa = QuestionSchema.model_validate(mended_question)
                unknown = sorted(set(qa.required_info) - set(item.state_schema))
                if unknown:
                    raise SchemaError(f"{path}.required_info", f"no variable of the schema is called {unknown}")
                _check_options(question_of(qa, question_id=question_id(index), path=path, item=item), qa, path)
            except SchemaError as error:
                self.left_out.append(LeftOut(user_id=self.user_id, question_id=question_id(index), reason=str(error)))
                continue
            mended.update(own)
            yield index, qa


def _check_options(question: EpisodeQuestion, qa: QuestionSchema, path: str) -> None:
    if not qa.required_info:
        raise SchemaError(f"{path}.required_info", "its answer depends on no variable")
    if len(question.answer_choices) < 2:
        raise SchemaError(f"{path}.answer_choices", "there is only one option")


def _objects(content: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects in the list under a key; none where there is no such list."""
    found: object = cast(dict[str, Any], content).get(name) if isinstance(content, dict) else None
    values = cast(list[Any], found) if isinstance(found, list) else []
    return [cast(dict[str, Any], value) for value in values if isinstance(value, dict)]


def _add_starts(item: Any, mended: Counter[str]) -> None:
    """Give each period that says no start the end of the period before. The initial one has none."""
    periods = _objects(item, "periods")
    for initial in periods[:1]:
        if initial.setdefault("period_start", None) is not None:
            initial["period_start"] = None
            mended["The initial period has no start; what stands there is not kept"] += 1
    for before, period in pairwise(periods):
        if period.get("period_start") is None:
            period["period_start"] = before.get("period_end")
            mended["A period has no start; it is taken as the end of the period before"] += 1


def _add_types(question: Any, item: ItemSchema, mended: Counter[str]) -> None:
    """Give each option that says no type the one it has by the user's states: lived through or not."""
    required = cast(dict[str, Any], question).get("required_info") if isinstance(question, dict) else None
    if not isinstance(required, list):
        return
    names = [name for name in cast(list[Any], required) if isinstance(name, str)]
    lived: list[object] = [list(map(period.state.get, names)) for period in item.periods]
    for choice in _objects(question, "answer_choices"):
        if choice.get("type") is None:
            choice["type"] = "experience" if choice.get("state") in lived else "random"
            mended["An option has no type; it is taken from the states that the user lives through"] += 1


def _add_counts(item: Any, mended: Counter[str]) -> None:
    """Give each period that does not say it the number of updates so far."""
    counts = Counter[str]()
    for number, period in enumerate(_objects(item, "periods")):
        updates = period.get("updates")
        state = period.get("state")
        if not isinstance(updates, dict) or not isinstance(state, dict):
            break
        # The initial period sets all values, and changes none.
        if number > 0:
            counts.update(cast(dict[str, Any], updates).keys())
        if "update_cnts" not in period:
            period["update_cnts"] = {name: counts[name] for name in cast(dict[str, Any], state)}
            mended["A period did not count its updates"] += 1


def _unify_ids(item: Any, mended: Counter[str]) -> None:
    """Give the profile the item's own id."""
    content = cast(dict[str, Any], item) if isinstance(item, dict) else {}
    profile = content.get("user_profile")
    if isinstance(profile, dict) and cast(dict[str, Any], profile).get("uuid") != content.get("id"):
        profile["uuid"] = content.get("id")
        mended["A user has another id in the profile, which is not kept"] += 1


def mend(value: Any, shape: Any, mended: Counter[str]) -> Any:
    """Return the value in the shape as far as that can be had without a guess; other values stay, to be refused by name."""
    if shape in SCALARS:
        return SCALARS[shape](value, mended)
    origin = get_origin(shape)
    inner = get_args(shape)
    if origin is list and isinstance(value, list):
        return [mend(item, inner[0], mended) for item in cast(list[Any], value)]
    if origin is dict and isinstance(value, dict):
        fields: dict[Any, Any] = {}
        for key, inner_value in cast(dict[Any, Any], value).items():
            fields[mend(key, inner[0], mended)] = mend(inner_value, inner[1], mended)
        return fields
    if origin in (Union, types.UnionType) and value is not None:
        # Only "or None" occurs in the schema.
        return mend(value, next(option for option in inner if option is not type(None)), mended)
    if isinstance(shape, type) and issubclass(shape, BaseModel) and isinstance(value, dict):
        return _mended_object(cast(dict[str, Any], value), shape, mended)
    return value


def _mended_object(value: dict[str, Any], shape: type[BaseModel], mended: Counter[str]) -> dict[str, Any]:
    if shape in KEPT_AS_IT_IS:
        return value
    fields = shape.model_fields
    for name in value.keys() - fields.keys():
        mended[f"The shape has no field {name!r}; its value is not read"] += 1
    found: dict[str, Any] = {}
    for name, declared in fields.items():
        default = DEFAULTS.get((shape, name), ...)
        if value.get(name) is None and default is not ... and (name not in value or default is not None):
            mended[f"A field {name!r} is missing; it is taken as {default!r}"] += 1
            found[name] = default
        elif name in value:
            # pydantic keeps an Annotated's first part and its validators apart.
            annotated = Annotated[declared.annotation, *declared.metadata] if declared.metadata else declared.annotation
            found[name] = mend(value[name], annotated, mended)
    return found


def _text(value: Any, mended: Counter[str]) -> Any:
    if isinstance(value, bool):
        mended["A truth value stands where text belongs; it is read as text"] += 1
        return "true" if value else "false"
    # A whole number beyond the floats would be spelled in thousands of digits; it is refused by name.
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= sys.float_info.max):
        mended["A number stands where text belongs; it is read as text"] += 1
        return f"{value:g}"
    if not isinstance(value, str):
        return value
    stripped = value.strip()
    if stripped != value:
        mended["A text had spaces around it, which are not kept"] += 1
    return stripped


def _moment(value: Any, mended: Counter[str]) -> Any:
    found = _read(_in_utc, value)
    if found is None:
        return value
    return _respell_value(value, found.replace(microsecond=0).isoformat(sep=" "), mended)


def _in_utc(value: str) -> datetime:
    found = datetime.fromisoformat(value)
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _day(value: Any, mended: Counter[str]) -> Any:
    found = _read(datetime.fromisoformat, value)
    if found is None:
        return value
    return _respell_value(value, found.date().isoformat(), mended)


def _number(value: Any, mended: Counter[str]) -> Any:
    found = int(value) if isinstance(value, float) and value.is_integer() else None
    if isinstance(value, str) and value.strip().isdecimal():
        found = _read(int, value)
    if found is None:
        return value
    mended["A number was not written as a whole number"] += 1
    return found


def _read(parse: Any, value: Any) -> Any:
    try:
        return parse(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _respell_value(value: str, spelled: str, mended: Counter[str]) -> str:
    if spelled != value:
        mended["A date or time was written in another form"] += 1
    return spelled


SCALARS: Mapping[Any, Any] = {Words: _text, Moment: _moment, Day: _day, int: _number}
