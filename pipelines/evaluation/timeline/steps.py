"""What a benchmark does with a memory on one item, as a list of steps.

What was never asked, what is right, what was perceived, how large an item is and what a page shows of it follow from the list.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assets.llm.usage import Usage
from assets.text.words import count_tokens
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.isolated import KIND_OF, ReasonerWithMemory, Recalling
from pipelines.evaluation.metrics.evidence import PerceivedTexts
from pipelines.evaluation.reasoning import Answer, ReadableTask, value_in_reply
from pipelines.evaluation.records import OF_BASELINES, AnswerRow, AskKind, DialogueTurn, RunManifest
from pipelines.evaluation.spending import priced_fields
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.evaluation.timeline.subjects import Subject
from pipelines.memories.contract import MemoryEvent

Json = dict[str, Any]


@dataclass(frozen=True)
class Perceived:
    """All that was perceived until something is asked."""

    events: Sequence[MemoryEvent] = ()

    @cached_property
    def texts(self) -> PerceivedTexts:
        """Return the same, to be found in what is recalled."""
        return PerceivedTexts.of(self.events)

    @cached_property
    def tokens(self) -> int:
        return sum(count_tokens(event.text) for event in self.events)


@dataclass(frozen=True)
class Life:
    """One playing of a timeline: what its answers count as, within which budget of recalled text, and whether with a memory."""

    tokens: int
    kind: AskKind = "question"
    remembers: bool = True

    @property
    def name(self) -> str:
        """Return how the names of its steps begin; "" for the life that is scored."""
        return "" if self.kind == "question" else f"{self.kind} {self.tokens}/"


class Gradable(ABC):
    """Something that is asked or to be done, whose answer becomes rows that a program grades.

    For the forecast of an agent: the `tokens` of what it is asked, and the `calls` that its answer usually takes.
    """

    kind: AskKind = "question"
    calls: int = 1

    @property
    @abstractmethod
    def item(self) -> str:
        """The id that its rows have."""
        ...

    @property
    def tokens(self) -> int:
        return 0

    @abstractmethod
    def rows(self, given: Answer[Any], seen: Perceived) -> list[AnswerRow]:
        """Return the answer's rows, graded."""
        ...

    @abstractmethod
    def grade(self, row: AnswerRow, seen: Perceived) -> AnswerRow:
        """Return one of its rows as it follows from the data, its reply and what was recalled for it.

        `seen`: what was perceived before it was asked. A row stays as it is where nothing can be graded again.
        """
        ...

    @property
    def page_fields(self) -> Json:
        """Return what a page shows of it, beside its id: query, required variables, options with id, text and state."""
        return {"query": "", "required": [], "options": []}


class AskedQuestion(Gradable):
    """Something that is asked of the reasoner: of kind "question" in every condition, of others once."""

    @cached_property
    def readable(self) -> ReadableTask[Any]:
        """The task as it is asked, and how its answer is read."""
        return self.render()

    @abstractmethod
    def render(self) -> ReadableTask[Any]: ...

    def verdict(self, value: Any, *, period: int) -> dict[str, Any]:
        """Return the fields of a row that say what is right after the period, and whether the value is; None: unreadable."""
        raise NotImplementedError("its answers have several values, each with a row of its own")

    def texts(self, seen: Perceived, *, seed: int) -> TextsAtHand:
        """Return the texts that stand in the memory's place in the other conditions; by `seed` where they are drawn."""
        raise NotImplementedError("it is asked once")

    @property
    def shares_call(self) -> bool:
        """Return True where it is asked in one call with those for which the same was recalled."""
        return False

    def in_one_call(self, others: "Sequence[AskedQuestion]") -> "AskedQuestion":
        """Return the same as it is asked and answered in one call with these."""
        raise NotImplementedError("it is asked by itself")

    def asked_of(self, context: EvaluationContext, reasoner: Recalling) -> Recalling:
        """Return the side that answers: the reasoner at once, or an agent that acts first."""
        return reasoner

    def value_of(self, row: AnswerRow) -> Any:
        """Return what is read in the row's reply; None where there is nothing to read."""
        return value_in_reply(self.readable, row)

    def grade(self, row: AnswerRow, seen: Perceived) -> AnswerRow:
        usage = Usage.model_validate(row.model_dump(include=set(priced_fields(Usage()))))
        given = Answer[Any](
            self.value_of(row), row.reply, row.tries, row.reason, usage, kind=row.kind, recalled=row.memories, budget=row.budget
        )
        # What was never asked is a row of nothing that was perceived.
        for own in self.rows(given, seen if row.tries else Perceived()):
            if (own.question_key, own.probe) == (row.question_key, row.probe):
                return own
        return row


@dataclass(frozen=True)
class Write:
    """The memory takes in events, in order. `shown`: the period that begins with them on a page."""

    events: Sequence[MemoryEvent]
    place: str
    shown: Json | None = None

    async def take_in(self, subject: Subject) -> None:
        await subject.observe(self.events)


@dataclass(frozen=True)
class Forget:
    """The memory is asked to forget something."""

    request: MemoryEvent
    place: str

    async def take_in(self, subject: Subject) -> None:
        await subject.forget(self.request)


@dataclass(frozen=True)
class Settle:
    """The memory finishes its work before what follows."""

    place: str

    async def take_in(self, subject: Subject) -> None:
        await subject.settle()


@dataclass(frozen=True)
class Converse(ABC):
    """The sessions of a period, from 0: lived by the memory with a user, or heard again."""

    period: int

    @property
    def key(self) -> str:
        return f"{self.period}/lived"

    @property
    def place(self) -> str:
        return f"period {self.period}"

    @property
    @abstractmethod
    def openings(self) -> Sequence[MemoryEvent]:
        """Return the messages with which the sessions open: what every memory perceives of them."""
        ...

    @abstractmethod
    async def hold(self, context: EvaluationContext, subject: Subject) -> list[DialogueTurn]:
        """Hold the sessions; each is remembered when it ends. Return all turns."""
        ...

    @abstractmethod
    def page_fields(self, turns: Sequence[DialogueTurn]) -> Json:
        """Return the period as a page shows it, with its turns: `end`, `state`, and `sessions`."""
        ...


@dataclass(frozen=True)
class Ask:
    """Questions about what was perceived, which leave no trace in the memory. It is asked as it is: `Settle` comes before.

    `of_copy`: a copy is asked as it is now, beside the steps that follow.
    """

    key: str
    place: str
    questions: Sequence[AskedQuestion]
    of_copy: bool = False

    def in_run(self, *, alone: bool) -> "Ask":
        """Return the same with what a run asks of it: all but the baselines; `alone`, what is the same for every memory."""
        own = list[AskedQuestion]()
        for question in self.questions:
            is_baseline = question.kind in OF_BASELINES
            if is_baseline == alone or (alone and question.kind == "question"):
                own.append(question)
        return replace(self, questions=own)

    @property
    def needs_memory(self) -> bool:
        return any(question.kind not in OF_BASELINES for question in self.questions)


class Act(Gradable):
    """An episode in a world. What leaves its window is remembered, so that each condition is a life of its own."""

    in_sight: int = 0  # tokens, for the forecast

    @property
    def simulated_messages(self) -> int:
        """Return how many messages a model writes as the user."""
        return 0

    @property
    def place(self) -> str:
        return f"task {self.item}"

    @abstractmethod
    async def act(
        self, context: EvaluationContext, reasoner: ReasonerWithMemory, *, life: Life, earlier: Sequence[MemoryEvent]
    ) -> "Acted":
        """Act the episode with the reasoner's memory, or with what the life has in its place. `earlier`: what was lived."""
        ...


@dataclass(frozen=True)
class Acted:
    """The answer of an episode, what was asked in it, and all of its events; the memory holds the first of them already."""

    answer: Answer[str]
    asked: str
    events: Sequence[MemoryEvent]


Step = Write | Forget | Settle | Converse | Ask | Act


@dataclass(frozen=True)
class Timeline:
    """The steps of one item, such as a user, or a task at one `length`. Intervals are over `cluster`s.

    `lived_in_conditions`: it is played once more without the memory in each condition, and at each budget. `conclude` has the
    last word on an item's rows.
    """

    item_id: str
    cluster: str
    steps: Sequence[Step]
    name: str = ""
    length: int = 0
    lived_in_conditions: bool = False
    conclude: Callable[[Sequence[AnswerRow]], Sequence[AnswerRow]] = list

    def lives(self, manifest: RunManifest) -> list[Life]:
        """Return how often it is played: with the memory first."""
        lives = [Life(manifest.tokens)]
        if self.lived_in_conditions:
            lives += [Life(budget, "at_budget") for budget in manifest.curve]
            lives += [Life(manifest.tokens, KIND_OF[name], remembers=False) for name in manifest.conditions]
            if "placebo" in manifest.arms:
                lives.append(Life(manifest.tokens, "placebo", remembers=False))
        return lives

    def in_run(self, *, alone: bool) -> "Timeline":
        """Return what a run plays of it: all but the baselines; `alone`, what is the same for every memory, which for sessions
        is their opening messages.
        """
        steps = list[Step]()
        for step in self.steps:
            if isinstance(step, Ask):
                asked = step.in_run(alone=alone)
                steps += [asked] if asked.questions else []
            elif alone and isinstance(step, Converse):
                steps.append(Write(step.openings, step.place))
            else:
                steps.append(step)
        return replace(self, steps=steps)

    @property
    def checkpoints(self) -> int:
        """The steps of one life that are stored when they are done."""
        return sum(isinstance(step, Converse | Ask | Act) for step in self.steps)

    @property
    def gradables(self) -> Iterator[Gradable]:
        """Yield all that is asked and to be done."""
        for step in self.steps:
            if isinstance(step, Ask):
                yield from step.questions
            elif isinstance(step, Act):
                yield step

    def unasked_rows(self, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        """Return an unscored row for each of the benchmark's own questions that is not among the answers."""
        given = {row.question_key for row in answers if row.kind == "question"}
        nothing = Answer[Any](None, "", 0, reason)
        rows = list[AnswerRow]()
        for gradable in self.gradables:
            if gradable.kind == "question":
                rows += [row for row in gradable.rows(nothing, Perceived()) if row.question_key not in given]
        return rows
