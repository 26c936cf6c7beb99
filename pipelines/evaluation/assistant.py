"""What the runner asks of an assistant: five methods and a count of what it used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from assets.llm.ports import CallLabels, Embedder, LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Usage
from prompts.catalogue import load_prompt
from prompts.template import Message

MOST_TOKENS = 8192  # of a reply, as in the paper (section 4.1)
Settings = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True)
class QuestionPrompt:
    """One thing to answer. `text` is all that the assistant has to see; the rest is at its disposal.

    `about` is the text without the instructions, for looking up memories. `json_schema` is the form of the answer, for
    endpoints that can enforce one.
    """

    text: str
    about: str
    schema_name: str
    json_schema: dict[str, object] = field(default_factory=dict[str, object])

    def repeated_after(self, last_answer: str, problem: str) -> "QuestionPrompt":
        """The question once more, after an answer that could not be read."""
        prompt = load_prompt("evaluation/ask_again").render(question=self.text, last_answer=last_answer, problem=problem)
        return replace(self, text="\n\n".join(message.content for message in prompt.messages))


class Assistant(Protocol):
    """The system under evaluation, with one user. Raises EndpointError when no further call makes sense.

    Equal memories have equal snapshots, and `answer` and `memories` change no memory: the runner calls them many times
    at once on a copy, and checks.
    """

    @property
    def usage(self) -> Usage:
        """Calls and tokens of this object so far."""
        ...

    async def respond(self, message: str, *, at: datetime) -> str:
        """Reply to the user, who writes at this time of the episode, and remember."""
        ...

    async def answer(self, question: QuestionPrompt) -> str:
        """Answer from what is remembered, without remembering the question."""
        ...

    async def memories(self, question: str) -> list[str]:
        """What is looked up for such a question, for the report; empty where nothing is."""
        ...

    def snapshot(self) -> bytes:
        """Everything that the assistant remembers, as bytes."""
        ...

    def restore(self, state: bytes) -> None:
        """Become the assistant that the snapshot was taken of."""
        ...


@runtime_checkable
class Observer(Protocol):
    """An assistant that can take in a conversation which another one led (off-policy evaluation)."""

    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        """Remember a message of the user and the reply to it as if they were one's own."""
        ...


@runtime_checkable
class Evolvable(Protocol):
    """An assistant with a section of words that says what to remember, which may be replaced (self-evolution, section 5).

    The section is an assistant's policy and no memory: it is in no snapshot, so that a memory can go on under another one.
    """

    @property
    def policy(self) -> str:
        """The section as it is now."""
        ...

    def with_policy(self, section: str) -> Assistant:
        """A copy with the same memory and this section; the words are put into prompts as they are, never evaluated."""
        ...


@dataclass(frozen=True)
class Tools:
    """What a new assistant gets: the models behind the reply cache, and the run's seed.

    `model` and `embedder` may be used or ignored; calls through them are repeated for free. `default_model` is the model
    to ask where the settings name none.
    """

    model: LanguageModel
    embedder: Embedder
    default_model: str
    default_embedding_model: str
    seed: int

    async def chat(self, messages: Sequence[Message], *, question: QuestionPrompt | None = None) -> ModelReply:
        """A reply of the default model at temperature 0, in the form that the question asks for, if one is given."""
        name = question.schema_name if question else "chat"
        return await self.model.complete(
            ModelRequest(
                model=self.default_model,
                messages=tuple(messages),
                temperature=0.0,
                max_output_tokens=MOST_TOKENS,
                schema_name=name,
                json_schema=(question.json_schema or None) if question else None,
                seed=self.seed,
                sample=0,
                labels=CallLabels(stage="evaluation", prompt=name),
            )
        )


class AssistantFactory(Protocol):
    """What an entry point of the group `amemgym.assistants` names: makes an assistant that remembers nothing yet.

    Raises ValueError with one sentence for settings that it cannot use.
    """

    def __call__(self, settings: Settings, tools: Tools) -> Assistant: ...
