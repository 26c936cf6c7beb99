"""The memory contract, the same for all benchmarks: events go in, context comes out, and a reasoner of ours answers.

A benchmark writes events turn by turn, lets them leave the window, and asks. What a memory gives back is cut to a budget of
tokens, so that scores differ by memory alone (`reasoning.py`); `isolated.py` scores a memory against none and against
everything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field

from assets.llm.ports import CallLabels, ModelRequest
from assets.records.base import Record
from assets.text.words import count_tokens, text_within
from pipelines.memories.events import MemoryEvent
from prompts.template import Message

P = TypeVar("P", int, str)
Wording = Literal["own", "paper"]
RecallQuery = Literal["question-and-options", "question"]
Setting = str | int | float | bool | None
MAX_REPLY_TOKENS = 8192  # as in the paper (section 4.1)


def chat_message(event: MemoryEvent) -> dict[str, str]:
    """Return the event as a message of a chat; whatever the assistant did not say comes from the user."""
    return {"role": "assistant" if event.kind == "assistant" else "user", "content": event.text}


class Memory(Protocol):
    """Takes in what was perceived and gives back context. One object serves one item of a benchmark, such as a user.

    A class of one's own may have plain or async methods, and needs no `fork`: it is then written anew for each period.
    `write` may raise ItemFailed for a model that cannot be understood; the write is then lost, and counted as lost. Four
    methods more may be there: `forget(request)` takes an event in which the user asks to forget something, which a memory
    without it, or one that returns False, is given to write like any other; `settle()` ends when all that was written can be
    recalled, and is called before the first recall or copy after a write; `stored_bytes()` returns the bytes of texts and
    index, or None, and is called at the item's end; `close()` lets go of what the memory holds, and is called when its item
    has ended.
    """

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        """Take in events, in order of time. It never sees a question."""
        ...

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        """Texts that bear on the query, in the order in which they are to be read. Changes nothing.

        What goes beyond so many tokens (`count_tokens`) is cut off at the end.
        """
        ...

    async def fork(self) -> "Memory":
        """A copy with everything that was written so far, which sees nothing of what is written later."""
        ...


@dataclass(frozen=True)
class Task:
    """One thing to answer. `text`: what the reasoner reads last; `query`: the same without instructions, for the memory.

    `window`: what is still in sight, the oldest first. `json_schema`: the form of the answer, for endpoints that enforce one.
    `tools`: those that the model may call by its API's own form, in place of such an answer.
    """

    text: str
    query: str
    window: tuple[Message, ...] = ()
    schema_name: str = "chat"
    json_schema: dict[str, object] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()


def chat_request(model: str, messages: Sequence[Message], *, seed: int, task: Task | None = None) -> ModelRequest:
    """Return a request at temperature 0; with a task, for an answer of its form."""
    name = task.schema_name if task else "chat"
    return ModelRequest(
        model=model,
        messages=tuple(messages),
        temperature=0.0,
        max_output_tokens=MAX_REPLY_TOKENS,
        schema_name=name,
        json_schema=task.json_schema if task else None,
        tools=task.tools if task else (),
        seed=seed,
        sample=0,
        labels=CallLabels(stage="evaluation", prompt=name),
    )


def cut_to_budget(texts: Sequence[str], tokens: int) -> list[str]:
    """Return the texts from the first on until the budget is used up; the text in which that happens is cut there."""
    kept: list[str] = []
    for text in texts:
        head = text_within(text, tokens)
        if head:
            kept.append(head)
            tokens -= count_tokens(head)
        if head != text:
            break
    return kept


def event_lines(events: Iterable[MemoryEvent]) -> str:
    """Return the events, a line for each, as prompts show them."""
    return "\n".join(lines_of(events))


def lines_of(events: Iterable[MemoryEvent]) -> list[str]:
    """Return each event as one line."""
    return [event.line for event in events]


def newest_within(lines: Sequence[str], tokens: int) -> list[str]:
    """Return the last texts that fit into so many tokens, in their order."""
    return best_within(reversed(lines), tokens)[::-1]


def best_within(lines: Iterable[str], tokens: int) -> list[str]:
    """Return the first texts that fit into so many tokens."""
    kept: list[str] = []
    for line in lines:
        tokens -= count_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return kept


def best_places(lines: Mapping[P, str], places: Iterable[P], tokens: int) -> list[P]:
    """Return the first of these places whose lines fit into so many tokens."""
    ranked = list(places)
    return ranked[: len(best_within(map(lines.__getitem__, ranked), tokens))]


class MemorySpec(Record):
    """The memory that is evaluated: its name in reports, its kind, the kind's settings.

    `whole`: an agent with a reasoner of its own. Kinds are built in, an entry point's name, or `FILE.py:CLASS`. `location`: the
    file with its folders, or a service's whole address with what is secret in it. `interpreter`: that of the environment whose
    packages it uses, "" for ours. Both are needed to reach the memory, and are part of no file and no id.
    """

    name: str
    kind: str
    settings: dict[str, Setting] = Field(default_factory=dict[str, Setting])
    whole: bool = False
    location: str = Field(default="", exclude=True, repr=False)
    interpreter: str = Field(default="", exclude=True, repr=False)

    @property
    def texts(self) -> list[str]:
        """The settings that are texts, each of which may name a file."""
        return [value for value in self.settings.values() if isinstance(value, str)]

    @property
    def code(self) -> str:
        """The kind, with its file's folders where the code is in a file that was found."""
        return self.location if self.location and self.kind.rpartition(":")[0].endswith(".py") else self.kind
