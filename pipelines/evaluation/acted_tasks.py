"""Tool dialogues for the runner: sessions are written as documents are, and the answer is an episode that is acted.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world, so that no grade rests on
what was graded before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.agents.actions import ACTION_SCHEMA, read_steps, written_steps
from pipelines.agents.episode import replayed, run_episode
from pipelines.evaluation.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import Recalling
from pipelines.evaluation.reasoning import ReadableTask, joined_text
from pipelines.evaluation.records import RunManifest
from pipelines.memories.contract import Task
from prompts.catalogue import load_prompt
from prompts.template import Message

ACT = "evaluation/act"
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
        replayed(dialogue, read_steps(reply))
        if not dialogue.failed_by:
            return self.task.answer.value
        return dialogue.written


@dataclass(frozen=True)
class ActingReasoner:
    """The reasoner as an agent: it recalls once, for the request, and then acts with what was recalled in its instructions."""

    reasoner: Recalling
    task: ToolTask

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=tokens)

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """Return all steps of an episode as text."""
        dialogue = ToolDialogue(self.task)
        tools = [tool.shown() for tool in dialogue.tools]
        instructions = Message("user", joined_text(load_prompt(ACT).render(rules=dialogue.rules, tools=tools).messages))

        async def ask(messages: Sequence[Message]) -> str:
            *before, last = messages
            action = Task(
                text=last.content,
                query=task.query,
                window=(instructions, *before),
                schema_name="evaluation_act",
                json_schema=ACTION_SCHEMA,
            )
            return await self.reasoner.answer(recalled, action)

        return written_steps(await run_episode(dialogue, ask))


@dataclass(frozen=True)
class ToolTasks(DocumentTasks):
    """The tool dialogues of a release, at all their lengths, the shortest first."""

    def acting(self, subject: Recalling, item: DocumentItem) -> Recalling:
        return ActingReasoner(subject, item.task) if isinstance(item, ToolItem) else subject

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for size in super().sizes(manifest):
            yield replace(size, questions=[*size.questions] * USUAL_STEPS)


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release. Raises EvaluationError."""
    return release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)
