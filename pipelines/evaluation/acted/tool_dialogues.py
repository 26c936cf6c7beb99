"""Tool dialogues for the runner: sessions are written as documents are, and the answer is an episode that is acted.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world, so that no grade rests on
what was graded before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.agents.actions import read_episode, written_episode
from pipelines.agents.episode import replayed, run_episode
from pipelines.evaluation.acted.agent import ACT, Agent, acting_settings
from pipelines.evaluation.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import ReadableTask
from pipelines.evaluation.records import RecallAt, RunManifest
from pipelines.evaluation.run import Run
from pipelines.memories.contract import Task
from prompts.template import Message

USUAL_STEPS = 6  # of an episode, for the forecast


@dataclass(frozen=True)
class ToolItem(DocumentItem):
    """A tool dialogue at one of its lengths. It is right where the episode ends as was asked for."""

    task: ToolTask

    def asked(self, *, language: str) -> ReadableTask[str]:
        """Return the request; read as the settled values where the episode passes, else as the writes that were made."""
        return ReadableTask(Task(text=self.task.question, query=self.task.question), self._graded)

    def _graded(self, reply: str) -> str:
        dialogue = ToolDialogue(self.task)
        replayed(dialogue, read_episode(reply))
        if not dialogue.failed_by:
            return self.task.answer.value
        return dialogue.written


@dataclass(frozen=True)
class Sessions:
    """The sessions before the episode, in a memory. What leaves the window of the episode is not written to it."""

    reasoner: ReasonerWithMemory
    tokens: int

    holds = True

    async def leave(self, gone: Sequence[Message]) -> None:
        """The sessions alone are asked for."""

    async def recall(self, query: str) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=self.tokens)


@dataclass(frozen=True)
class ActingReasoner:
    """The reasoner as an agent, which acts with what was recalled in its instructions.

    `recall_at`: the memory is asked for the request at the start, and where it says so again. `tokens`: what it may give back
    then. Where there is no memory, the texts at the start stay.
    """

    reasoner: ReasonerWithMemory
    task: ToolTask
    recall_at: RecallAt
    tokens: int
    native: bool

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=tokens) if self.recall_at != "tool" else []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """Return all steps of an episode as text."""
        dialogue = ToolDialogue(self.task)
        tools = [tool.shown() for tool in dialogue.tools]
        source = Sessions(self.reasoner, self.tokens) if self.reasoner.memory is not None else None
        agent = Agent(
            self.reasoner.answer,
            dialogue,
            dialogue.rules,
            tools,
            task.query,
            source,
            self.recall_at,
            self.tokens,
            self.native,
            known=None if self.recall_at == "tool" else recalled,
        )
        recall = agent.recall_as_tool if agent.recalls_by_tool else None
        return written_episode(agent.noted(await run_episode(dialogue, agent.ask, recall=recall)))


@dataclass(frozen=True)
class ToolTasks(DocumentTasks):
    """The tool dialogues of a release, at all their lengths, the shortest first."""

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        own = super().own_settings(options, whole=whole)
        return {**own, "recall_at": options.recall_at or "start", **acting_settings(options)}

    def subject(self, run: Run, item: DocumentItem, reasoner: ReasonerWithMemory) -> Recalling:
        if not isinstance(item, ToolItem):
            return reasoner
        manifest = run.manifest
        return ActingReasoner(reasoner, item.task, manifest.recall_at, manifest.tokens, manifest.native_tools)

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for size in super().sizes(manifest):
            yield replace(size, questions=[*size.questions] * USUAL_STEPS)


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release. Raises EvaluationError."""
    return release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)
