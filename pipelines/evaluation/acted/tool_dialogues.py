"""Tool dialogues, by tools or in a browser, and code repairs for the runner.

Sessions are written as documents are; the answer is an acted episode.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world. In a browser that takes
long: a run grades an episode where it was acted, and `verify` acts it again.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from assets.code_repair.copy import EDIT, PackageCopy
from assets.code_repair.records import RepairTask
from assets.isolation.boundary import NoBoundary, required_kind
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.company import Call
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.agents.actions import read_episode, written_episode
from pipelines.agents.browser_page import NoBrowser, browser_windows, expect_browser
from pipelines.agents.company_site import CompanyInBrowser
from pipelines.agents.episode import MOST_STEPS, replayed, run_episode
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.agent import ACT, ActedWorld, Agent, acting_settings
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import ReadableTask
from pipelines.evaluation.records import RecallAt, RunManifest
from pipelines.evaluation.run import Run
from pipelines.evaluation.sources import release_recipe
from pipelines.memories.contract import Task
from prompts.template import Message

USUAL_STEPS = 6  # of an episode, for the forecast
USUAL_STEPS_IN_BROWSER = 14  # a field of a form is a step
MOST_STEPS_IN_BROWSER = 50


class ActedItem(DocumentItem):
    """A task in a world, at one of its lengths. It is right where the episode ends as was asked for."""

    usual_steps: ClassVar[int] = USUAL_STEPS
    most_steps: ClassVar[int] = MOST_STEPS

    def world(self) -> ActedWorld:
        """Return the world as it is before the first action; close it after use."""
        raise NotImplementedError

    def world_of_calls(self) -> ActedWorld:
        """Return the world in which the `gold` calls can be made."""
        return self.world()

    @property
    def gold(self) -> Sequence[Call]:
        """The calls that do what was asked."""
        raise NotImplementedError

    @property
    def farewell(self) -> str:
        """What has to be said in the end, in a sentence; "" for nothing."""
        return ""

    def remember(self, reply: str, world: ActedWorld) -> None:
        """Keep how an episode ended, for a world in which it takes long to act it again in the same process."""

    def asked(self, *, language: str) -> ReadableTask[str]:
        """Return the request; read as the settled values where the episode passes, else as what was done."""
        return ReadableTask(Task(text=self.task.question, query=self.task.question), self._graded)

    def _graded(self, reply: str) -> str:
        with closing(self.world()) as world:
            replayed(world, read_episode(reply))
            return self._end_of(world)

    def _end_of(self, world: ActedWorld) -> str:
        return world.written if world.failed_by else self.task.answer.value


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
class BrowserItem(ToolItem):
    """A tool dialogue at one of its lengths, whose company has pages in place of tools."""

    ends: dict[str, str] = field(default_factory=dict[str, str], compare=False)

    usual_steps: ClassVar[int] = USUAL_STEPS_IN_BROWSER
    most_steps: ClassVar[int] = MOST_STEPS_IN_BROWSER

    def world(self) -> CompanyInBrowser:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return CompanyInBrowser(self.task)
        except NoBrowser as error:
            raise EvaluationError(str(error)) from error

    def remember(self, reply: str, world: ActedWorld) -> None:
        self.ends[reply] = self._end_of(world)

    def _graded(self, reply: str) -> str:
        return self.ends[reply] if reply in self.ends else super()._graded(reply)

    def world_of_calls(self) -> ToolDialogue:
        return ToolDialogue(self.task)


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
        async with _turn_of(self.item):
            return await self._episode(recalled, task)

    async def _episode(self, recalled: Sequence[str], task: Task) -> str:
        with closing(await asyncio.to_thread(self.item.world)) as world:
            tools = [tool.shown() for tool in world.tools]
            source = Sessions(self.reasoner, self.tokens) if self.reasoner.memory is not None else None
            agent = Agent(
                self.reasoner.answer,
                world,
                world.rules,
                tools,
                task.query,
                source,
                self.recall_at,
                self.tokens,
                self.native,
                known=None if self.recall_at == "tool" else recalled,
            )
            recall = agent.recall_as_tool if agent.recalls_by_tool else None
            steps = await run_episode(world, agent.ask, recall=recall, most_steps=self.item.most_steps)
            reply = written_episode(agent.noted(steps))
            self.item.remember(reply, world)
            return reply


def _turn_of(item: ActedItem) -> "AbstractAsyncContextManager[object]":
    """Return what an episode waits for: one of the browser's windows; nothing in other worlds."""
    return browser_windows() if isinstance(item, BrowserItem) else nullcontext()


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
        steps = max(item.usual_steps for item in self.documents if isinstance(item, ActedItem))
        for size in super().sizes(manifest):
            yield replace(size, questions=[*size.questions] * steps)


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release. Raises EvaluationError, also where a browser is needed and missing."""
    if release_recipe(folder, ToolDialogueRecipe).interface == "tools":
        return release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)
    try:
        expect_browser()
    except NoBrowser as error:
        raise EvaluationError(str(error)) from error
    return release_items(folder, record, item=BrowserItem, tasks=ToolTasks, ask=ACT)


def read_repair_tasks(folder: Path, record: type[RepairTask]) -> ToolTasks:
    """Return the code repairs of a verified release. Raises EvaluationError, also where nothing keeps their code in."""
    try:
        required_kind()
    except NoBoundary as error:
        raise EvaluationError(str(error)) from error
    return release_items(folder, record, item=RepairItem, tasks=ToolTasks, ask=ACT)
