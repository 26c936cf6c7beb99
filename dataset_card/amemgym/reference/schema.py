"""The item of the reference's `data.json`, key by key and in its order."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from assets.records.problems import requirement


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


class StrictModel(BaseModel):
    """Strict, so that nothing is converted on the way: what would not come back the same is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProfileSchema(StrictModel):
    """The value of `user_profile`, which has eleven keys."""

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


class MessageSchema(StrictModel):
    """One turn of a recorded dialogue; generated data has none."""

    role: Words
    content: Words


class SessionSchema(StrictModel):
    """A session; the initial ones have no event."""

    event: Words | None
    exposed_states: dict[Words, Words]
    query: Words
    messages: list[MessageSchema]
    session_time: Moment


class UpdateSchema(StrictModel):
    """A variable's change; in the initial period nothing was before."""

    old: Words | None
    new: Words


class PeriodSchema(StrictModel):
    """A period; the first is the initial one."""

    period_start: Day | None
    period_end: Day
    period_summary: Words | None
    sessions: list[SessionSchema]
    state: dict[Words, Words]
    updates: dict[Words, UpdateSchema]
    update_cnts: dict[Words, int]


class ChoiceSchema(StrictModel):
    """An option; `state` holds values in the order of the question's `required_info`."""

    state: list[Words]
    answer: Words
    type: Literal["experience", "random"]


class QuestionSchema(StrictModel):
    """A question with its options; `required_info` names the variables that decide the answer."""

    query: Words
    required_info: list[Words]
    answer_choices: list[ChoiceSchema]


class ItemSchema(StrictModel):
    """One element of the array: everything about one user."""

    id: Words
    start_time: Day
    user_profile: ProfileSchema
    state_schema: dict[Words, list[Words]]
    periods: list[PeriodSchema]
    qas: list[QuestionSchema]


class SchemaError(ValueError):
    """An item that breaks the schema; the message says where inside the item, and what is wrong."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'its top level'}: {problem.rstrip('.')}")


@contextmanager
def errors_at(path: str) -> Generator[None, None, None]:
    """Raise a record's first violation as a SchemaError at `path`."""
    try:
        yield
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        raise SchemaError(join(path, *problem["loc"]), requirement(problem)) from error


def join(path: str, *parts: int | str) -> str:
    """Append keys and indices: `periods[0].updates['some key'].new`."""
    for part in parts:
        plain = isinstance(part, str) and part.isidentifier()
        path += f".{part}" if plain else f"[{part!r}]"
    return path.removeprefix(".")
