"""Tool dialogues for the runner: sessions are written as documents are, and the answer is an episode that is acted.

An episode's reply is all of its steps as text. It is graded by doing the same again in a new world, so that no grade rests on
what was graded before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.agents.actions import ACTION_SCHEMA, read_action, read_episode, written_episode
from pipelines.agents.episode import replayed, run_episode
from pipelines.evaluation.document_tasks import DocumentItem, DocumentTasks, release_items
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import ReadableTask, joined_text
from pipelines.evaluation.records import RecallAt, RunManifest
from pipelines.evaluation.run import Run
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
        replayed(dialogue, read_episode(reply))
        if not dialogue.failed_by:
            return self.task.answer.value
        return dialogue.written


@dataclass(frozen=True)
class ActingReasoner:
    """The reasoner as an agent, which acts with what was recalled in its instructions.

    `recall_at`: the memory is asked for the request at the start, and where it says so again: before each step, or before a
    call that writes. `tokens`: what it may give back then. Where there is no memory, the texts at the start stay.
    """

    reasoner: ReasonerWithMemory
    task: ToolTask
    recall_at: RecallAt
    tokens: int

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=tokens)

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """Return all steps of an episode as text."""
        dialogue = ToolDialogue(self.task)
        tools = [tool.shown() for tool in dialogue.tools]
        instructions = Message("user", joined_text(load_prompt(ACT).render(rules=dialogue.rules, tools=tools).messages))
        recalls_again = self.reasoner.memory is not None

        async def ask(messages: Sequence[Message]) -> str:
            *before, last = messages
            action = Task(
                text=last.content,
                query=task.query,
                window=(instructions, *before),
                schema_name="evaluation_act",
                json_schema=ACTION_SCHEMA,
            )
            known = recalled
            if recalls_again and self.recall_at == "step" and before:
                known = await self.recall(f"{task.query}\n{last.content}", tokens=self.tokens)
            reply = await self.reasoner.answer(known, action)
            if recalls_again and self.recall_at == "write" and _is_write(dialogue, reply):
                known = await self.recall(f"{task.query}\n{reply}", tokens=self.tokens)
                reply = await self.reasoner.answer(known, action)
            return reply

        return written_episode(await run_episode(dialogue, ask))


def _is_write(dialogue: ToolDialogue, reply: str) -> bool:
    try:
        action = read_action(reply)
    except ValueError:
        return False
    return action.action == "call" and dialogue.writes(action.tool or "")


@dataclass(frozen=True)
class ToolTasks(DocumentTasks):
    """The tool dialogues of a release, at all their lengths, the shortest first."""

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        return {**super().own_settings(options, whole=whole), "recall_at": options.recall_at}

    def subject(self, run: Run, item: DocumentItem, reasoner: ReasonerWithMemory) -> Recalling:
        if not isinstance(item, ToolItem):
            return reasoner
        return ActingReasoner(reasoner, item.task, run.manifest.recall_at, run.manifest.tokens)

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for size in super().sizes(manifest):
            yield replace(size, questions=[*size.questions] * USUAL_STEPS)


def read_tool_tasks(folder: Path, record: type[ToolTask]) -> ToolTasks:
    """Return the tool dialogues of a verified release. Raises EvaluationError."""
    return release_items(folder, record, item=ToolItem, tasks=ToolTasks, ask=ACT)
