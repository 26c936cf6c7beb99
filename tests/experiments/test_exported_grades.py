"""Exported folders grade by themselves: the right reply earns all, and nine cheats nothing."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assets.memory_items.tasks import MemoryTask
from assets.tool_dialogue.dialogue import report_done
from assets.worlds.tools import Call
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.export.environment_files.acted_episodes import ExportedDialogue
from pipelines.export.formats import release_writer
from pipelines.export.rows import ExportedQuestion
from tests.assets.code_qa.test_session_questions import FORMS, task_of
from tests.evaluation.scripted_evaluation import tasks
from tests.evaluation.test_acted_tasks import tasks as tool_tasks
from tests.evaluation.test_document_tasks import INFO, documents
from tests.evaluation.test_fact_tasks import tasks as fact_tasks
from tests.support.code_questions import made_question

FINISH = json.dumps({"action": "finish"})


def document_tasks(benchmark: str, *made: MemoryTask) -> DocumentTasks:
    items = [DocumentItem(task, task.lengths[0], "English") for task in made]
    return DocumentTasks(replace(INFO, benchmark=benchmark), tuple(items))


MADE: Mapping[str, Callable[[], BenchmarkTasks]] = {
    "amemgym": lambda: tasks("ada"),
    "code_qa": lambda: document_tasks("code_qa", made_question().instance),
    "deep_research": documents,
    "session_questions": lambda: document_tasks("session_questions", *map(task_of, FORMS)),
    "tool_dialogue": tool_tasks,
    "user_facts": fact_tasks,
}


def exported_episodes(folder: Path, data: BenchmarkTasks, monkeypatch: pytest.MonkeyPatch) -> Sequence[Any]:
    """The episodes as the folder's own modules read them."""
    release_writer("verifiers")(data, folder)
    [found] = folder.rglob("episodes.py")
    package = ModuleType("exported_folder")
    package.__path__ = [str(found.parent)]
    for name in [name for name in sys.modules if name.startswith(f"{package.__name__}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package.__name__, package)
    return import_module(f"{package.__name__}.episodes").read_episodes(found.parent)


def say(text: str) -> str:
    return json.dumps({"action": "say", "text": text})


def written(call: Call) -> str:
    arguments = [{"name": name, "value": value} for name, value in call.arguments.items()]
    return json.dumps({"action": "call", "tool": call.tool, "arguments": arguments})


def honest_replies(task: ExportedDialogue) -> list[str]:
    return [*map(written, task.calls), say(report_done(task.said)), FINISH]


def acted_cheats(opening: str, task: ExportedDialogue) -> list[list[str]]:
    """Nothing, words instead of deeds, all at once, the wrong beside the right."""
    calls = [written(call) for call in task.calls]
    told = say(", ".join(task.said))
    references = say(
        " ".join(f"{letter}-{number}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(100_001, 100_020))
    )
    return [
        [""],
        [FINISH],
        [opening],
        [say(opening), FINISH],
        ["\n".join(honest_replies(task))],
        [say("; ".join(call.text for call in task.calls)), told, FINISH],
        [references, FINISH],
        [*calls, FINISH],
        [*calls, calls[-1], told, FINISH],
    ]


def question_cheats(opening: str, turns: Sequence[str], question: ExportedQuestion) -> list[list[str]]:
    """Nothing, everything that was read, and every candidate in some form, the right one last."""
    candidates = sorted(question.options or ("14", "Grey Harbour", question.gold_answer), key=question.gold_answer.__eq__)
    replies = [
        "",
        "ANSWER:",
        opening,
        "\n".join([*turns, opening]),
        f"ANSWER: {', '.join(candidates)}",
        f"ANSWER: {' or '.join(candidates)}",
        "\n".join(f"ANSWER: {candidate}" for candidate in candidates),
        "ANSWER: 1, 2, 3, 4, 5",
        "ANSWER: (A) (B) (C) (D) (E)",
    ]
    return [[reply] for reply in replies]


@pytest.mark.parametrize("benchmark", MADE)
def test_no_cheat_gains_and_the_right_reply_does(benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for episode in exported_episodes(tmp_path, MADE[benchmark](), monkeypatch):
        if benchmark == "tool_dialogue":
            honest = honest_replies(episode.task)
            cheats = acted_cheats(episode.opening, episode.task)
            assert [episode.respond(honest[:place]) is None for place in range(1, 1 + len(honest))] == [
                *(False for _ in honest[1:]),
                True,
            ]
        else:
            gold = episode.question.gold_option
            honest = [f"I am sure.\n**ANSWER: {episode.question.gold_answer if gold is None else gold + 1}**"]
            cheats = question_cheats(episode.opening, episode.turns, episode.question)
        assert episode.grade(honest) == 1
        assert [episode.grade(replies) for replies in cheats] == [0] * 9


@pytest.mark.parametrize("benchmark", MADE)
def test_an_exported_folder_imports_nothing_of_ours(benchmark: str, tmp_path: Path) -> None:
    release_writer("verifiers")(MADE[benchmark](), tmp_path)
    code = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.py")]
    assert not any(
        f"{word} {ours}" in text for text in code for word in ("from", "import") for ours in ("assets", "pipelines", "prompts")
    )
