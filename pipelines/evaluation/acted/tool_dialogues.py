"""Tool dialogues: sessions are written as documents are, and the answer is an acted episode.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from assets.llm.actions import RESULT_OF_RECALL
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from assets.worlds.steps import read_episode, replay_steps
from pipelines.evaluation.acted.agent import ACT, Agent
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask
from pipelines.evaluation.records import OF_MEMORY, RunManifest
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.memories.contract import Task
from prompts.template import Message

BUDGET = 0.1  # of the shortest history's tokens, as recalled text


@dataclass(frozen=True)
class ToolItem(DocumentItem):
    """The request of a tool dialogue at one of its lengths. It is right where the episode ends as was asked for."""

    task: ToolTask

    calls = 6  # steps that an episode usually takes

    def render(self) -> ReadableTask[str]:
        """The request; read as the settled values where the episode passes, else as what was done."""
        return ReadableTask(Task(text=self.task.question, query=self.task.question), self.read)

    def read(self, reply: str) -> str:
        """Return how the episode of a reply ends. Raises ValueError for another text."""
        world = ToolDialogue(self.task)
        replay_steps(world, read_episode(reply))
        return world.changes if world.failed_by else self.task.answer.value

    def texts_given(self, given: Answer[str]) -> Sequence[str]:
        """Return what was recalled before the episode, and in it where the agent asked the memory by a call."""
        steps = read_episode(given.reply) if given.value is not None and given.kind in OF_MEMORY else []
        asked = [step.seen for step in steps if step.seen.startswith(RESULT_OF_RECALL)]
        return [*given.recalled, *chain.from_iterable(text.splitlines()[1:] for text in asked)]

    def asked_of(self, context: EvaluationContext, reasoner: Recalling) -> Recalling:
        assert isinstance(reasoner, ReasonerWithMemory)
        return ActingReasoner(reasoner, self.task, context.manifest)


@dataclass(frozen=True)
class Sessions:
    """The sessions before the episode, in a memory. What leaves the window of the episode is not written to it."""

    reasoner: ReasonerWithMemory
    tokens: int

    holds = True

    async def observe_gone(self, gone: Sequence[Message]) -> None:
        """The sessions alone are asked for."""

    async def recall(self, query: str) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=self.tokens)


@dataclass(frozen=True)
class ActingReasoner:
    """The reasoner as an agent, which acts with what was recalled in its instructions.

    It asks the memory itself, or the memory is asked for the request at the start, and where the run says so again. Where there
    is no memory, the texts at the start stay.
    """

    reasoner: ReasonerWithMemory
    request: ToolTask
    manifest: RunManifest

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=tokens) if self.manifest.recall_at != "tool" else []

    async def answer(self, recalled: Sequence[str], task: Task, *, tokens: int) -> str:
        """Return all steps of an episode as text."""
        manifest = self.manifest
        source = Sessions(self.reasoner, tokens) if self.reasoner.memory is not None else None
        known = None if source is not None and manifest.recall_at == "tool" else recalled
        agent = Agent(self.reasoner, ToolDialogue(self.request), manifest, task.query, source, tokens, known)
        return await agent.act()


@dataclass(frozen=True)
class ToolTasks(DocumentTasks):
    """The acted tasks of a release, at all their lengths, the shortest first."""

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        own = super().own_settings(options, whole=whole)
        return {**own, "mode": "episode", "recall_at": options.recall_at or "tool", "native_tools": options.native_tools}


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release."""
    tasks = release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)
    shortest = min(item.sized.tokens for item in tasks.documents)
    return replace(tasks, info=replace(tasks.info, tokens=round(BUDGET * shortest)))
