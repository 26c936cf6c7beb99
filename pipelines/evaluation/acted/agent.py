"""The reasoner as an agent: it chooses one action at a time, with what a memory recalled in its instructions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from assets.text.words import count_tokens
from assets.tool_dialogue.company import ToolDescription
from pipelines.agents.actions import ACTION_SCHEMA, EpisodeStep, GivenByMemory, named_speaker, read_action
from pipelines.agents.episode import NOTHING, RECALL, EpisodeWorld
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import joined_text
from pipelines.evaluation.records import RecallAt
from pipelines.memories.contract import Task
from prompts.catalogue import load_prompt
from prompts.template import Message

ACT = "evaluation/act"
ACT_NATIVELY = "evaluation/act_natively"
RECALL_TOOL: dict[str, Any] = {
    "name": RECALL,
    "does": "Searches your memory of earlier dialogue and sessions; changes nothing.",
    "arguments": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "what you want to know"}},
        "required": ["query"],
    },
}
Answers = Callable[[Sequence[str], Task], Awaitable[str]]


def acting_settings(options: EvaluationOptions) -> dict[str, object]:
    """Return the fields of a manifest that are of every world in which an agent acts."""
    return {"native_tools": options.native_tools}


class ActedWorld(EpisodeWorld, Protocol):
    """A world of a task of ours: what an agent is told of it, and how it ended."""

    @property
    def rules(self) -> str:
        """Whom the agent works for, and by which rules."""
        ...

    @property
    def tools(self) -> list[ToolDescription]: ...

    @property
    def written(self) -> str:
        """What was done of what the grade looks at first, as an answer."""
        ...

    @property
    def failed_by(self) -> str:
        """Why the end is not what was asked for; "" where it is."""
        ...

    def close(self) -> None:
        """Let go of whatever the world holds open."""
        ...


class RecallSource(Protocol):
    """What an agent is given beside the messages in sight: a memory's texts, or those of a condition without one."""

    @property
    def holds(self) -> bool:
        """Return True where there is anything that it could give."""
        ...

    async def leave(self, gone: Sequence[Message]) -> None:
        """Learn of all messages of this episode that are out of sight, the oldest first."""
        ...

    async def recall(self, query: str) -> Sequence[str]: ...


@dataclass
class Agent:
    """Chooses actions. `known`: texts that the source gave before the first; None: it was not asked then.

    `source` None: the agent is given nothing else; `tokens`: what a source may give at once, and `recall_at`: when it is asked.
    `native`: actions are tool calls of the model's API. `recalled`: all that the source gave, each text once. `given`: what it
    gave for each action.
    """

    answers: Answers
    world: EpisodeWorld
    rules: str
    tools: Sequence[Mapping[str, Any]]
    query: str
    source: RecallSource | None
    recall_at: RecallAt
    tokens: int
    native: bool = False
    known: Sequence[str] | None = None
    recalled: dict[str, None] = field(default_factory=dict[str, None])
    given: list[GivenByMemory] = field(default_factory=list[GivenByMemory])

    async def ask(self, gone: Sequence[Message], sight: Sequence[Message]) -> str:
        """Return the reply with the next action."""
        *before, last = sight
        tools = [*self.tools, RECALL_TOOL] if self.recalls_by_tool else [*self.tools]
        if self.native:
            prompt = load_prompt(ACT_NATIVELY).render(rules=self.rules)
            form = Task(text=last.content, query=self.query, tools=tuple(tools))
        else:
            prompt = load_prompt(ACT).render(rules=self.rules, tools=tools)
            # A small model takes a customer's words without a name for its own.
            *before, last = map(named_speaker, sight)
            form = Task(last.content, self.query, schema_name=ACT.replace("/", "_"), json_schema=ACTION_SCHEMA)
        action = replace(form, window=(Message("user", joined_text(prompt.messages)), *before))
        known = self.known or ()
        asked_before = self.source is not None and self.known is not None and not self.given
        self.given.append(self._given(known) if asked_before else "")
        if self.source is not None:
            await self.source.leave(gone)
            if self.recall_at == "step" and self.source.holds and (before or not self.known):
                known = await self._recall(f"{self.query}\n{last.content}")
        reply = await self.answers(known, action)
        if self.source is not None and self.source.holds and self.recall_at == "write" and self._is_write(reply):
            known = await self._recall(f"{self.query}\n{reply}")
            reply = await self.answers(known, action)
        return reply

    @property
    def recalls_by_tool(self) -> bool:
        """Return True where the agent asks the memory itself."""
        return self.source is not None and self.recall_at == "tool"

    async def recall_as_tool(self, query: str) -> str:
        """Return what the memory has for the agent's query, as a tool's result."""
        return "\n".join(await self._recall(query)) or NOTHING

    async def _recall(self, query: str) -> Sequence[str]:
        assert self.source is not None
        texts = await self.source.recall(query)
        self.recalled |= dict.fromkeys(texts)
        self.given[-1] = self._given(texts)
        return texts

    def _given(self, texts: Sequence[str]) -> GivenByMemory:
        if not texts:
            return "nothing"
        return "filled" if sum(map(count_tokens, texts)) >= self.tokens else "text"

    def noted(self, steps: Sequence[EpisodeStep]) -> list[EpisodeStep]:
        """Return an episode's steps, each with what the source gave for it. For recorded steps it was not asked."""
        recorded = len(steps) - len(self.given)
        noted = [step.model_copy(update={"memory": given}) for step, given in zip(steps[recorded:], self.given, strict=True)]
        return [*steps[:recorded], *noted]

    def _is_write(self, reply: str) -> bool:
        try:
            action = read_action(reply)
        except ValueError:
            return False
        return action.action == "call" and self.world.writes(action.tool or "")
