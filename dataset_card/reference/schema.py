"""The item of the reference's `data.json`, key by key and in its order."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError


def _day(value: str) -> str:
    if date.fromisoformat(value).isoformat() != value:
        raise ValueError(f"{value!r} is not a day written as YYYY-MM-DD")
    return value


def _moment(value: str) -> str:
    if datetime.fromisoformat(value).replace(microsecond=0, tzinfo=None).isoformat(sep=" ") != value:
        raise ValueError(f"{value!r} is not a time written as YYYY-MM-DD HH:MM:SS")
    return value


def _encodable(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair is no text") from error
    return value


Words = Annotated[str, AfterValidator(_encodable)]
Day = Annotated[str, AfterValidator(_day)]
Moment = Annotated[str, AfterValidator(_moment)]


class Shape(BaseModel):
    """Strict, so that nothing is converted on the way: what would not come back the same is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProfileShape(Shape):
    """`user_profile`: eleven keys."""

    uuid: Words
    name: Words
    age: int
    gender: Words
    marital_status: Words
    education_level: Words
    occupation: Words
    hobbies_and_interests: Words
    skills_and_expertise: Words
    complementary_info: Words
    formatted_str: Words


class MessageShape(Shape):
    """One turn of a recorded dialogue; generated data has none."""

    role: Words
    content: Words


class SessionShape(Shape):
    """A session; the initial ones have no event."""

    event: Words | None
    exposed_states: dict[Words, Words]
    query: Words
    messages: list[MessageShape]
    session_time: Moment


class UpdateShape(Shape):
    """A variable's change; in the initial period nothing was before."""

    old: Words | None
    new: Words


class PeriodShape(Shape):
    """A period; the first is the initial one."""

    period_start: Day | None
    period_end: Day
    period_summary: Words | None
    sessions: list[SessionShape]
    state: dict[Words, Words]
    updates: dict[Words, UpdateShape]
    update_cnts: dict[Words, int]


class ChoiceShape(Shape):
    """An option; `state` holds values in the order of the question's `required_info`."""

    state: list[Words]
    answer: Words
    type: Literal["experience", "random"]


class QuestionShape(Shape):
    """A question with its options."""

    query: Words
    required_info: list[Words]
    answer_choices: list[ChoiceShape]


class ItemShape(Shape):
    """Everything about one user."""

    id: Words
    start_time: Day
    user_profile: ProfileShape
    state_schema: dict[Words, list[Words]]
    periods: list[PeriodShape]
    qas: list[QuestionShape]


class Misplaced(ValueError):
    """What is wrong, and where inside the item."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'its top level'}: {problem.rstrip('.')}")


@contextmanager
def placed(path: str) -> Generator[None, None, None]:
    """Tell a record's or shape's first violation as one that happened at `path`."""
    try:
        yield
    except ValidationError as error:
        problem = error.errors()[0]
        raise Misplaced(join(path, *problem["loc"]), problem["msg"].removeprefix("Value error, ")) from error


def join(path: str, *parts: int | str) -> str:
    """Append keys and indices: `periods[0].updates['some key'].new`."""
    for part in parts:
        plain = isinstance(part, str) and part.isidentifier()
        path += f".{part}" if plain else f"[{part!r}]"
    return path.removeprefix(".")
