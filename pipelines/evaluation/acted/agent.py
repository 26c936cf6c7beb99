"""The reasoner as an agent: it chooses one action at a time, with what a memory recalled in its instructions."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from assets.llm.actions import RECALL, RESULT_OF, Action, read_action
from assets.llm.structured_output import schema_of_model
from assets.text.words import count_tokens
from assets.worlds.steps import MOST_STEPS, UNUSABLE, USER_SAYS, EpisodeStep, GivenByMemory, written_episode
from assets.worlds.world import World
from pipelines.agents.episode import NOTHING, WINDOW_TOKENS, Hear, run_episode
from pipelines.evaluation.isolated import ReasonerWithMemory
from pipelines.evaluation.reasoning import joined_text
from pipelines.evaluation.records import RunManifest
from pipelines.memories.contract import Task
from prompts.catalogue import load_prompt
from prompts.template import Message

ACT = "evaluation/act"
ACT_NATIVELY = "evaluation/act_natively"
ACTION_SCHEMA = schema_of_model(Action).json_schema
RECALL_TOOL: dict[str, Any] = {
    "name": RECALL,
    "does": "Searches your memory of earlier dialogue and sessions; changes nothing.",
    "arguments": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "what you want to know"}},
        "required": ["query"],
    },
}


class RecallSource(Protocol):
    """What an agent is given beside the messages in sight: a memory's texts, or those of a condition without one."""

    @property
    def holds(self) -> bool:
        """Return True where there is anything that it could give."""
        ...

    async def observe_gone(self, gone: Sequence[Message]) -> None:
        """Learn of all messages of this episode that are out of sight, the oldest first."""
        ...

    async def recall(self, query: str) -> Sequence[str]: ...


@dataclass
class Agent:
    """The reasoner in a world: it chooses actions. `query`: what it is to do, in words.

    `source`: what it is given beside the messages in sight; None: nothing. `tokens`: what a source may give at once. `known`:
    texts that it gave before the first action; None: it was not asked then. `recalled`: all that it gave, each text once.
    `given`: what it gave for each action. `steps`: those of the episode.
    """

    reasoner: ReasonerWithMemory
    world: World
    manifest: RunManifest
    query: str
    source: RecallSource | None
    tokens: int
    known: Sequence[str] | None = None
    recalled: dict[str, None] = field(default_factory=dict[str, None])
    given: list[GivenByMemory] = field(default_factory=list[GivenByMemory])
    steps: Sequence[EpisodeStep] = ()

    async def act(
        self,
        *,
        hear: Hear | None = None,
        window: int = WINDOW_TOKENS,
        most_steps: int = MOST_STEPS,
        begun_with: Sequence[str] = (),
    ) -> str:
        """Lead an episode (`run_episode`), and return all steps as text; what the world left is what the last one saw."""
        recall = self.recall_as_tool if self.recalls_by_tool else None
        world = self.world
        steps = await run_episode(
            world, self.ask, hear=hear, recall=recall, window=window, most_steps=most_steps, begun_with=begun_with
        )
        # For recorded steps the source was not asked.
        recorded = len(steps) - len(self.given)
        noted = [step.model_copy(update={"memory": given}) for step, given in zip(steps[recorded:], self.given, strict=True)]
        self.steps = [*steps[:recorded], *noted]
        left = await asyncio.to_thread(lambda: world.final_state)
        if not left or not steps:
            return written_episode(self.steps)
        return written_episode([*self.steps[:-1], self.steps[-1].model_copy(update={"seen": left})])

    async def ask(self, gone: Sequence[Message], sight: Sequence[Message]) -> str:
        """Return the reply with the next action."""
        *before, last = sight
        tools = [*self.world.tools, RECALL_TOOL] if self.recalls_by_tool else [*self.world.tools]
        if self.manifest.native_tools:
            prompt = load_prompt(ACT_NATIVELY).render(rules=self.world.rules)
            form = Task(text=last.content, query=self.query, tools=tuple(tools))
        else:
            prompt = load_prompt(ACT).render(rules=self.world.rules, tools=tools)
            # A small model takes a customer's words without a name for its own.
            *before, last = map(named_speaker, sight)
            form = Task(last.content, self.query, schema_name=ACT.replace("/", "_"), json_schema=ACTION_SCHEMA)
        action = replace(form, window=(Message("user", joined_text(prompt.messages)), *before))
        known = self.known or ()
        asked_before = self.source is not None and self.known is not None and not self.given
        self.given.append(self._take_given(known) if asked_before else "")
        if self.source is not None:
            await self.source.observe_gone(gone)
            if self.manifest.recall_at == "step" and self.source.holds and (before or not self.known):
                known = await self._recall(f"{self.query}\n{last.content}")
        reply = await self.reasoner.answer(known, action)
        if self.source is not None and self.source.holds and self.manifest.recall_at == "write" and self._is_write(reply):
            known = await self._recall(f"{self.query}\n{reply}")
            reply = await self.reasoner.answer(known, action)
        return reply

    @property
    def recalls_by_tool(self) -> bool:
        """Return True where the agent asks the memory itself."""
        return self.source is not None and self.manifest.recall_at == "tool"

    async def recall_as_tool(self, query: str) -> str:
        """Return what the memory has for the agent's query, as a tool's result."""
        return "\n".join(await self._recall(query)) or NOTHING

    async def _recall(self, query: str) -> Sequence[str]:
        assert self.source is not None
        texts = await self.source.recall(query)
        self.recalled |= dict.fromkeys(texts)
        self.given[-1] = self._take_given(texts)
        return texts

    def _take_given(self, texts: Sequence[str]) -> GivenByMemory:
        if not texts:
            return "nothing"
        return "filled" if sum(map(count_tokens, texts)) >= self.tokens else "text"

    def _is_write(self, reply: str) -> bool:
        try:
            action = read_action(reply)
        except ValueError:
            return False
        return action.action == "call" and self.world.writes(action.tool or "")


def named_speaker(message: Message) -> Message:
    """Return what a user said with a line that says so; results and the agent's own actions have theirs."""
    if message.role != "user" or message.content.startswith((RESULT_OF, UNUSABLE)):
        return message
    return Message("user", f"{USER_SAYS}{message.content}")
