"""Tool dialogues and code repairs for the runner: sessions are written as documents are, the answer is an acted episode.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world, so that no grade rests on
what was graded before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.code_repair.copy import EDIT, PackageCopy
from assets.code_repair.records import RepairTask
from assets.isolation.boundary import NoBoundary, required_kind
from assets.tool_dialogue.company import Call
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.agents.actions import read_episode, written_episode
from pipelines.agents.episode import replayed, run_episode
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.agent import ACT, ActedWorld, Agent, acting_settings
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import ReadableTask
from pipelines.evaluation.records import RecallAt, RunManifest
from pipelines.evaluation.run import Run
from pipelines.memories.contract import Task
from prompts.template import Message

USUAL_STEPS = 6  # of an episode, for the forecast


class ActedItem(DocumentItem):
    """A task in a world, at one of its lengths. It is right where the episode ends as was asked for."""

    def world(self) -> ActedWorld:
        """Return the world as it is before the first action."""
        raise NotImplementedError

    @property
    def gold(self) -> Sequence[Call]:
        """The calls that do what was asked."""
        raise NotImplementedError

    @property
    def farewell(self) -> str:
        """What has to be said in the end, in a sentence; "" for nothing."""
        return ""

    def asked(self, *, language: str) -> ReadableTask[str]:
        """Return the request; read as the settled values where the episode passes, else as what was done."""
        return ReadableTask(Task(text=self.task.question, query=self.task.question), self._graded)

    def _graded(self, reply: str) -> str:
        world = self.world()
        replayed(world, read_episode(reply))
        if not world.failed_by:
            return self.task.answer.value
        return world.written


@dataclass(frozen=True)
class ToolItem(ActedItem):
    """A tool dialogue at one of its lengths."""

    task: ToolTask

    def world(self) -> ToolDialogue:
        return ToolDialogue(self.task)

    @property
    def gold(self) -> Sequence[Call]:
        return self.task.calls

    @property
    def farewell(self) -> str:
        return f"That is done; the reference is {self.task.said}."


@dataclass(frozen=True)
class RepairItem(ActedItem):
    """A code repair at one of its lengths."""

    task: RepairTask

    def world(self) -> PackageCopy:
        return PackageCopy(self.task, remembers=True)

    @property
    def gold(self) -> Sequence[Call]:
        repair = self.task.repair
        patch = repair.patches[repair.settled]
        return [Call(tool=EDIT, arguments={"path": repair.path, "old": patch.old, "new": patch.new})]


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
    item: ActedItem
    recall_at: RecallAt
    tokens: int
    native: bool

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=tokens) if self.recall_at != "tool" else []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """Return all steps of an episode as text."""
        dialogue = self.item.world()
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
    """The acted tasks of a release, at all their lengths, the shortest first."""

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        own = super().own_settings(options, whole=whole)
        return {**own, "recall_at": options.recall_at or "start", **acting_settings(options)}

    def subject(self, run: Run, item: DocumentItem, reasoner: ReasonerWithMemory) -> Recalling:
        if not isinstance(item, ActedItem):
            return reasoner
        manifest = run.manifest
        return ActingReasoner(reasoner, item, manifest.recall_at, manifest.tokens, manifest.native_tools)

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for size in super().sizes(manifest):
            yield replace(size, questions=[*size.questions] * USUAL_STEPS)


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release. Raises EvaluationError."""
    return release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)


def read_repair_tasks(folder: Path, record: type[RepairTask]) -> ToolTasks:
    """Return the code repairs of a verified release. Raises EvaluationError, also where nothing keeps their code in."""
    try:
        required_kind()
    except NoBoundary as error:
        raise EvaluationError(str(error)) from error
    return release_items(folder, record, item=RepairItem, tasks=ToolTasks, ask=ACT)
