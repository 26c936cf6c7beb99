"""A defect, and ways to put it into the clean set past all invariants: the first user's record, spoiled, before the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

from pydantic import BaseModel

T = TypeVar("T")
Rows = list[Any]
Spoil = Callable[[Rows], Rows]
Edit = Callable[[Any], dict[str, object]]


@dataclass(frozen=True)
class Defect:
    """What goes wrong, the rule or column expectation that has to find it, and a part of its message."""

    kind: str
    rule: str
    spoil: Spoil
    message: str


def spoiled(target: Any, *path: str | int, **fields: object) -> Any:
    """A copy with other fields at the path, unchecked: `path` consists of field names and positions."""
    if not path:
        kind = cast(type[BaseModel], type(target))
        values: dict[str, Any] = {**{name: getattr(target, name) for name in kind.model_fields}, **fields}
        return kind.model_construct(**values)
    step, *rest = path
    if isinstance(step, int):
        items = list(cast(Sequence[Any], target))
        items[step] = spoiled(items[step], *rest, **fields)
        return tuple(items)
    return spoiled(target, **{step: spoiled(getattr(target, step), *rest, **fields)})


def value_at(target: Any, *path: str | int) -> Any:
    """The value at a path of field names and positions."""
    for step in path:
        target = target[step] if isinstance(step, int) else getattr(target, step)
    return target


def edited(*path: str | int, edit: Edit) -> Spoil:
    """Changes the fields at the path; `edit` makes them from the value that is at the path now."""
    return lambda rows: [spoiled(rows[0], *path, **edit(value_at(rows[0], *path))), *rows[1:]]


def at(*path: str | int, **fields: object) -> Spoil:
    """Replaces the fields of the value at the path."""
    return edited(*path, edit=lambda _: fields)


def changed(*path: str | int, to: Callable[[Any], object]) -> Spoil:
    """The field at the end of the path, made from what it is."""
    *parent, field = path
    return edited(*parent, edit=lambda one: {str(field): to(getattr(one, str(field)))})


def lacking(*path: str | int) -> Spoil:
    """The first item of the list at the end of the path gone."""
    return changed(*path, to=lambda items: items[1:])


def doubled(*path: str | int) -> Spoil:
    """All items of the list at the end of the path twice."""
    return changed(*path, to=lambda items: items * 2)


def swapped(*path: str | int) -> Spoil:
    """The first two items of the list at the end of the path in the other order."""
    return changed(*path, to=lambda items: (items[1], items[0], *items[2:]))


def twice(rows: Rows) -> Rows:
    """The whole record a second time."""
    return [*rows, rows[0]]


def of_another(rows: Rows) -> Rows:
    """The whole record a second time, under another id."""
    return [*rows, spoiled(rows[0], user_id="another")]


def later(*path: str | int, days: int) -> Spoil:
    """Moves the session at the path by this many days."""
    return changed(*path, "session_time", to=lambda time: time + timedelta(days=days))


def always_first(rows: Rows) -> Rows:
    """Answers of which the first option is always right, as of a set four times as large."""
    return [
        spoiled(
            row, questions=tuple(spoiled(one, golden=(one.choices[0].choice_id,) * len(one.golden)) for one in row.questions)
        )
        for row in rows
    ] * 4


def frozen(trajectory: Any) -> dict[str, object]:
    """Periods without updates, all with the state of the first."""
    first = trajectory.periods[0].state
    return {"periods": tuple(spoiled(one, updates=(), state=first) for one in trajectory.periods)}


def other_value(state: dict[str, str]) -> dict[str, str]:
    """The state with its first variable at a value that is none of its choices."""
    return {**state, next(iter(state)): "on the moon"}


def like_the_second(field: str) -> Spoil:
    """The first option of the first question has this field of the second."""
    return changed("questions", 0, "choices", to=lambda c: (spoiled(c[0], **{field: getattr(c[1], field)}), *c[1:]))


def wrong_key(question: Any) -> dict[str, object]:
    """The key of period 0 names another option."""
    choices = question.choices if hasattr(question, "choices") else question.answer_choices
    other = next(choice.choice_id for choice in choices if choice.choice_id != question.golden[0])
    return {"golden": (other, *question.golden[1:])}


def other_types(choices: Any) -> tuple[Any, ...]:
    """Lived options said to be random, and the other way round."""
    return tuple(spoiled(one, type="random" if one.type == "experience" else "experience") for one in choices)


def label(choice: Any) -> dict[str, object]:
    """An answer that names the value it is for."""
    return {"answer": f"This is the answer for {choice.state[0].replace('_', ' ')}."}


def never_recovered(judgements: Any) -> tuple[Any, ...]:
    """The judgements with no option chosen, as of judges who cannot tell."""
    return tuple(spoiled(one, chosen=None) for one in judgements)
