"""Records of user facts: statements in sessions, the life that they make, questions with outcomes, and the accepted user."""

import re
from datetime import date, datetime
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from assets.records.base import GateRecord, ItemRecord, Name, Record, Text, duplicates

# What a statement does to a fact. `rule`: another fact decides it; `other`: it is about somebody else; `refed`: a mail of
# somebody else tells what the user wanted to be forgotten.
Shape = Literal["told", "replaced", "withdrawn", "narrowed", "merged", "as_before", "until", "rule", "forget", "other", "refed"]
QuestionKind = Literal["current", "at_time", "course", "consequence", "never_said", "true_premise", "false_premise", "deleted"]
QuestionForm = Literal["now", "on_day", "over_time", "premise"]
Outcome = Literal["right", "stale", "invented", "leaked", "not_known"]
VALUED: tuple[Shape, ...] = ("told", "replaced", "narrowed", "merged", "until", "other", "refed")


class RuleCase(Record):
    """If the deciding fact has the value `given`, the dependent one has the value `then`."""

    given: Text = Field(description="value of the deciding fact")
    then: Text = Field(description="value of the dependent fact then")


class FactStatement(Record):
    """What a session says of one matter."""

    matter: Name = Field(description="the matter's name")
    label: Name = Field(description="the matter's words in sentences")
    shape: Shape = Field(description="what it does to the fact")
    value: str = Field(default="", description="the value that it tells; empty where it tells none")
    until: date | None = Field(default=None, description="the last day of a fact with an end")
    other: str = Field(
        default="", description="label of the fact that it is merged with, or that decides it; or whose fact it is"
    )
    other_matter: str = Field(default="", description="name of the fact that it is merged with, or that decides it")
    cases: tuple[RuleCase, ...] = Field(default=(), description="a rule's cases")
    unspoken: tuple[str, ...] = Field(default=(), description="values that its words must not hold")

    @property
    def spoken_values(self) -> list[str]:
        """The values that its words must hold."""
        found = [self.value] if self.value else []
        for case in self.cases:
            found += [case.given, case.then]
        return found


class PlannedSession(Record):
    """A session before it is told."""

    at: datetime = Field(description="when it was")
    statements: tuple[FactStatement, ...] = Field(description="what the user says, and what a mail says that comes with it")


class FactRecord(ItemRecord):
    """The record of one stage for one user."""

    id_field: ClassVar[str] = "user_id"

    user_id: Name = Field(description="the user's id")


class NamedRecord(FactRecord):
    """The record of a stage that knows the user's name."""

    name: Name = Field(description="the user's name")

    @property
    def display_name(self) -> str:
        return self.name


class FactPerson(NamedRecord):
    """A user before anything is told."""

    circumstances: Text = Field(description="age, home and work in a few words")


class FactMatter(Record):
    """What facts are told about. Forms hold {name} where an invented name goes."""

    label: Name = Field(description="its words in sentences")
    value: str = Field(description="form of its values")
    coarse: str = Field(default="", description="form of values that are less exact; empty where there is none")
    follows: str = Field(default="", description="label of the matter that decides it; empty where none does")
    like: str = Field(default="", description="label of the matter that it may become the same as; empty where there is none")

    @property
    def name(self) -> str:
        """The matter's name in statements and ids."""
        return re.sub(r"\W+", "_", self.label).lower()


class FactMatters(FactRecord):
    """What a user tells facts about."""

    matters: tuple[FactMatter, ...] = Field(description="the matters, with what follows from what")
    gate_records: tuple[GateRecord, ...] = Field(description="what readers found of pairs of matters")


class FactLife(NamedRecord):
    """A user's sessions as they are planned."""

    labels: dict[str, str] = Field(description="words of every matter in sentences, by its name")
    sessions: tuple[PlannedSession, ...] = Field(description="the sessions in order of time")
    unsaid: tuple[str, ...] = Field(description="matters that are asked about and were never told")
    spare: dict[str, tuple[str, ...]] = Field(description="by matter: values that nobody has")


class FactSession(Record):
    """A session as it is released: what the user says, a request to forget, and a mail of somebody else that comes with it."""

    number: int = Field(description="its place in the life, from 0")
    at: datetime = Field(description="when it was")
    message: Text = Field(description="what the user says")
    request: str = Field(default="", description="the user's request to forget something, if there is one")
    mail: str = Field(default="", description="a mail of somebody else that is passed on with it")
    statements: tuple[FactStatement, ...] = Field(description="what message, request and mail tell")

    @property
    def texts(self) -> list[str]:
        """What a memory receives of it, in order."""
        return [text for text in (self.message, self.request, self.mail) if text]

    def text_of(self, statement: FactStatement) -> str:
        """Return the text that makes the statement."""
        if statement.shape == "refed":
            return self.mail
        return self.request if statement.shape == "forget" else self.message


class FactSessions(FactRecord):
    """The sessions in words."""

    sessions: tuple[FactSession, ...] = Field(description="the sessions in order of time")
    gate_records: tuple[GateRecord, ...] = Field(description="what readers found in each session")


class FactChoice(Record):
    """One of the answers to a question. `value`: what it says of the fact; empty where it says that it is not known."""

    choice_id: Name = Field(description="its id within the question")
    text: Text = Field(description="the answer")
    value: str = Field(description="the value that it claims; empty for: not known")
    outcome: Outcome = Field(description="what choosing it means")


class FactQuestion(Record):
    """A question about one fact at the end of a life; about a deleted fact it is also asked before."""

    question_id: Name = Field(description="its id within the user")
    kind: QuestionKind = Field(description="what it asks for")
    form: QuestionForm = Field(description="how it is worded, which does not tell the kind")
    matter: Name = Field(description="the fact")
    text: Text = Field(description="the question")
    day: date | None = Field(default=None, description="the day that it asks about, if it does")
    premise: str = Field(default="", description="the value that it takes for granted, if it does, whether that holds or not")
    choices: tuple[FactChoice, ...] = Field(description="the answers to choose from")
    needed: tuple[int, ...] = Field(description="sessions without which a reader of all others answers otherwise")
    bearing: tuple[int, ...] = Field(description="sessions that speak of the fact, or of one that decides it")
    age: int = Field(description="sessions since the fact changed last; 0 where it was never told")
    last_change: Shape | None = Field(description="what was done to the fact last; none where it was never told")
    changes: int = Field(description="how often the fact changed after it was told")
    forgotten_at: int | None = Field(default=None, description="session in which the user asked to forget it")
    refed_at: int | None = Field(default=None, description="session in which a mail tells it again")

    @model_validator(mode="after")
    def one_choice_is_right(self) -> Self:
        right = [choice for choice in self.choices if choice.outcome == "right"]
        if len(right) != 1 or duplicates([choice.text for choice in self.choices]):
            raise ValueError("One choice is right, and no two say the same.")
        return self

    @property
    def group(self) -> str:
        """Its kind as reports show it; of a current value also what was done to the fact last."""
        kind = self.kind.replace("_", " ")
        if self.kind != "current" or self.last_change is None:
            return kind
        return f"{kind}, {self.last_change.replace('_', ' ')}"

    @property
    def right(self) -> FactChoice:
        return next(choice for choice in self.choices if choice.outcome == "right")

    @property
    def deleted_value(self) -> str:
        """The value that the user asked to forget; empty of other facts."""
        return next((choice.value for choice in self.choices if choice.outcome == "leaked"), "")


class FactQuestions(FactRecord):
    """All questions about one user's facts."""

    questions: tuple[FactQuestion, ...] = Field(description="the questions")


class ReaderOutcome(Record):
    """What a reader of some of the sessions answers: how many questions of a kind are right."""

    reader: Name = Field(description="what the reader has, or believes")
    group: Name = Field(description="kind of questions; of current values also what was done to the facts last")
    questions: int = Field(description="how many there are")
    right: int = Field(description="how many the reader answers rightly")


class FactUser(NamedRecord):
    """An accepted user: sessions, questions, and what readers of the final bytes answer."""

    matters: tuple[FactMatter, ...] = Field(description="what the facts are about, and what follows from what")
    sessions: tuple[FactSession, ...] = Field(description="the sessions in order of time")
    questions: tuple[FactQuestion, ...] = Field(description="the questions")
    digest: Name = Field(description="sha256 of the sessions and questions that the outcomes are of")
    outcomes: tuple[ReaderOutcome, ...] = Field(description="what each reader answers, by kind of question")

    @property
    def own_texts(self) -> tuple[str, ...]:
        return tuple(session.message for session in self.sessions)
