"""A language model that replies as a script says and is honest otherwise, and a prompt to ask it."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from assets.llm.ports import FinishReason, LanguageModel, ModelReply, ModelRequest
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from prompts.template import Message, RenderedPrompt
from tests.support.honest_replies import Answer, honest

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)
Reply = str | ModelReply | Mapping[str, Any] | list[Any] | Answer
Script = Mapping[str, Sequence[Reply]]


def reply(text: str, *, finish: FinishReason = "stop") -> ModelReply:
    """A reply as an endpoint gives it."""
    return ModelReply(text=text, finish=finish, input_tokens=10, output_tokens=2)


@dataclass
class ScriptedModel:
    """The LanguageModel port: honest, except for the prompts that the script names.

    A script maps a prompt's name to replies in turn, of which the last is repeated. A reply is text, a ModelReply, data
    that becomes JSON, or a function of the request that returns one of these.
    """

    script: Script = field(default_factory=dict[str, Sequence[Reply]])
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Give the next reply, after letting other calls go first."""
        await asyncio.sleep(0)
        replies = self.script.get(request.labels.prompt, [honest])
        chosen = replies[0] if len(replies) == 1 else replies[min(len(self.asked(request.labels.prompt)), len(replies) - 1)]
        self.requests.append(request)
        content = chosen(request) if callable(chosen) else chosen
        if isinstance(content, ModelReply):
            return content
        return reply(content if isinstance(content, str) else json.dumps(content))

    def asked(self, prompt: str) -> list[ModelRequest]:
        """The requests for this prompt so far."""
        return [request for request in self.requests if request.labels.prompt == prompt]

    def objections(self, prompt: str) -> list[str]:
        """What was sent back to the model about its replies to this prompt."""
        return [request.messages[-1].content for request in self.asked(prompt) if request.labels.attempt]


async def ask_test_prompt(
    model: LanguageModel,
    convert: Callable[[B], T],
    *,
    reply: type[B],
    recipe: Recipe,
    sample: int = 0,
    name: str = "test/ask",
    question: str = "What?",
) -> T:
    """Ask with a prompt that no file holds."""
    messages = (Message("system", "Answer."), Message("user", question))
    prompt = RenderedPrompt(name, "writer", "steady", "f" * 12, messages)
    return await ask_structured(model, prompt=prompt, reply=reply, convert=convert, settings=recipe.asking, sample=sample)
