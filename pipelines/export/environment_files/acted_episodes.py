"""Tool dialogues as episodes: the sessions turn by turn, then a request that is acted on, and the grade of the end.

An exported folder holds a copy of this module, and of those that it needs: the company's interpreter.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from assets.records.base import Record
from assets.tool_dialogue.company import Row
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.worlds.steps import MOST_STEPS, USER_SAYS, EpisodeStep, goes_round, take_step
from assets.worlds.tools import Call
from pipelines.export.rows import ExportedDocument, read_rows, turns_of


class ExportedDialogue(Record):
    """A request to a company, as it is acted on. `instructions`: whom the agent works for, its tools, and how it acts."""

    id: str
    user_id: str
    instructions: str
    question: str
    company: str
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    said: tuple[str, ...]


class ActedEpisode(Record):
    """One request with all sessions before it. A reply is one action."""

    name: str
    turns: tuple[str, ...]
    task: ExportedDialogue

    @property
    def opening(self) -> str:
        """What the environment says after the turns."""
        return f"{self.task.instructions}\n\n{USER_SAYS}{self.task.question}"

    def respond(self, replies: Sequence[str]) -> str | None:
        """Return what comes of the last action, None at the end. `replies`: all since the opening."""
        _, steps = self._act(replies)
        last = steps[-1]
        if last.did == "finished" or len(steps) >= MOST_STEPS or goes_round(steps):
            return None
        return f"{USER_SAYS}{last.seen}" if last.did == "said" else last.seen

    def grade(self, replies: Sequence[str]) -> float:
        """Return 1 where the company is at the end as was asked for and the customer was told so, else 0."""
        world, _ = self._act(replies)
        return float(not world.failed_by)

    def _act(self, replies: Sequence[str]) -> tuple[ToolDialogue, list[EpisodeStep]]:
        world = ToolDialogue(self.task)
        return world, [take_step(world, reply) for reply in replies]


def read_episodes(folder: Path) -> list[ActedEpisode]:
    """Return an episode for each request of an exported folder, in the order of the file."""
    documents = read_rows(folder / "documents.jsonl", kind=ExportedDocument)
    turns = {group: turns_of(told) for group, told in groupby(documents, key=lambda document: document.user_id)}
    tasks = read_rows(folder / "dialogues.jsonl", kind=ExportedDialogue)
    return [ActedEpisode(name=task.id, turns=turns[task.user_id], task=task) for task in tasks]
