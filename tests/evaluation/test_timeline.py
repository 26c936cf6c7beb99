"""A benchmark that is nothing but a list of steps: the runner plays it on any memory, and everything else follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.llm.async_calls import run_to_end
from assets.llm.ports import ModelRequest
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask
from pipelines.evaluation.records import AnswerRow, AskKind, RunManifest
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.perceived import events_of_run
from pipelines.evaluation.timeline.steps import Ask, AskedQuestion, Perceived, Settle, Timeline, Write
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.memories.contract import MemoryEvent, MemorySpec, Task
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

INFO = DatasetInfo(
    benchmark="toy",
    name="toy 1",
    digest="d" * 64,
    language="English",
    noun="walk",
    users=("walk",),
    prompts=("evaluation/",),
    tokens=500,
)


def repeat_recalled(request: ModelRequest) -> str:
    """What the reasoner was given."""
    return request.messages[0].content


@dataclass(frozen=True)
class Heard(AskedQuestion):
    """Whether a word is in what the reasoner was given."""

    word: str
    period: int
    kind: AskKind = "moment"

    @property
    def item(self) -> str:
        return f"{self.word} after {self.period}"

    def render(self) -> ReadableTask[str]:
        return ReadableTask(Task(text="What did you hear?", query=self.word), str)

    def verdict(self, value: Any, *, period: int) -> dict[str, Any]:
        status = "unscored" if value is None else "right" if self.word in value else "wrong"
        return {"expected": self.word, "given": value or "", "status": status}

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        verdict = self.verdict(given.value, period=self.period)
        written = len(seen.events)
        row = AnswerRow(
            user_id="walk", period=self.period, item=self.item, options=0, shown=0, required=1, age=0, written=written,
            **verdict, **given.columns
        )  # fmt: skip
        return [row]


@dataclass(frozen=True)
class ToyTasks:
    """One item: two words are heard, and both are asked for after each."""

    info: DatasetInfo = INFO

    def first(self, users: int | None) -> "ToyTasks":
        return replace(self, info=self.info.first(users))

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        return {"mode": "document"}

    def timelines(self, manifest: RunManifest) -> Sequence[Timeline]:
        steps: list[Write | Settle | Ask] = []
        for period, word in enumerate(("heron", "otter")):
            place = f"word {period}"
            steps.append(Write([MemoryEvent(word, "user")], place, {"end": "", "state": {}, "sessions": []}))
            questions = [Heard(asked, period) for asked in ("heron", "otter")]
            steps.append(Ask(f"{period}", place, questions, of_copy=True))
        return [Timeline("walk", "walk", steps, "A walk")]


def lived(folder: Path, kind: str) -> tuple[FinishedRun, HonestModel]:
    model = HonestModel({"chat": repeat_recalled})
    spec = MemorySpec(name=kind.rpartition(":")[2], kind=kind)
    return finish(run_of(folder, model, data=ToyTasks(), spec=spec, conditions=())), model


def test_a_copy_is_asked_what_it_heard_and_nothing_of_what_comes_later(tmp_path: Path) -> None:
    run, _ = lived(tmp_path, "full-history")
    found = {row.item: (row.status, row.written) for row in run.answers}
    assert found == {
        "heron after 0": ("right", 1),
        "otter after 0": ("wrong", 1),
        "heron after 1": ("right", 2),
        "otter after 1": ("right", 2),
    }
    questions = GradedQuestions(ToyTasks().timelines(run.manifest))
    for row in run.answers:
        assert questions.grade(row.model_copy(update={"status": "unscored", "given": ""})) == row


def test_size_events_and_calls_follow_from_the_steps(tmp_path: Path) -> None:
    work = run_of(tmp_path / "planned", HonestModel(), data=ToyTasks(), conditions=())
    size = run_to_end(forecast_run(work, embedded=work.models))
    run, model = lived(tmp_path, "full-history")
    timelines = ToyTasks().timelines(run.manifest)
    assert size.calls == len(model.requests) == 4
    assert size.steps == 2
    assert [event.text for event in events_of_run(timelines, ())] == ["heron", "otter"]


def test_what_was_asked_before_a_memory_failed_stays_and_the_sentence_names_the_step(tmp_path: Path) -> None:
    source = tmp_path / "shy.py"
    source.write_text(
        "class Shy:\n    def __init__(self, tools): self.kept = []\n"
        "    def write(self, events):\n        if events[0].text == 'otter': raise RuntimeError('too many')\n"
        "        self.kept += [event.text for event in events]\n"
        "    def recall(self, query, *, tokens): return self.kept\n"
    )
    run, _ = lived(tmp_path, f"{source}:Shy")
    [error] = run.results.errors
    assert error.sentence.startswith("Walk walk, word 1: Memory 'Shy' failed in 'write': RuntimeError: too many")
    assert {row.item: row.status for row in run.answers} == {"heron after 0": "right", "otter after 0": "wrong"}
