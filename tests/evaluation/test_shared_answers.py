"""What makes a run cheaper: shared answers, probes that share calls, samples; and what a run is forecast to take."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.sample import places_asked
from pipelines.evaluation.folder import read_run, write_table
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.verifying.verdict import verify_run
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import CountingModel, HonestModel, episode, finish, run_of, tasks
from tests.support.coroutines import run
from tests.support.waiting import until

BM25 = MemorySpec(name="bm25", kind="bm25", settings={"topk": 1})
FULL = "full-history"
SHARED = ("no_memory", "facts", "everything", "upper_bound", "options_only")


def test_a_further_memory_asks_nothing_that_is_the_same_for_every_memory(tmp_path: Path) -> None:
    first = finish(run_of(tmp_path, HonestModel()))
    model = HonestModel()
    work = run_of(tmp_path, model, spec=BM25)
    second = finish(work)

    assert first.manifest.alone == second.manifest.alone
    stages = {request.labels.stage for request in model.requests}
    assert "evaluation baselines" not in stages
    for kind in SHARED:
        rows = [[row for row in done.answers if row.kind == kind] for done in (first, second)]
        assert rows[0] == rows[1] != []
    assert "baselines" not in second.results.spending
    verdict = verify_run(second, work.folder.path, tasks())
    assert verdict.problems == ()


class AnswersAfterADialogue(HonestModel):
    """What is the same for every memory is answered when all messages of the user have been."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.stage == "evaluation baselines":
            await until(lambda: len(self.asked("chat")) == 2 * 6)  # users and messages
        return await super().complete(request)


def test_dialogues_do_not_wait_for_what_is_the_same_for_every_memory(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, AnswersAfterADialogue()))

    assert {row.kind for row in finished.answers}.issuperset(SHARED)


def test_what_bears_on_the_conditions_has_a_run_of_its_own_and_nothing_else_has(tmp_path: Path) -> None:
    def alone(**options: Any) -> str:
        return run_of(tmp_path, HonestModel(), **options).manifest.alone

    plain = alone()
    assert [alone(probes="none"), alone(curve=(50,)), alone(attempt=1), alone(spec=BM25)] == [plain] * 4
    others = [alone(tokens=500), alone(later_holds=True), alone(wording="paper"), alone(questions=6), alone(conditions=())]
    assert len({plain, *others}) == 6
    assert alone(conditions=(), baselines=False) == ""


def test_conditions_that_somebody_edits_in_either_run_fail(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    done = finish(work)
    assert work.alone is not None
    rows = [row.model_copy(update={"calls": 0}) if row.kind == "facts" else row for row in done.answers if row.kind in SHARED]
    write_table(work.alone.folder.path / "answers.parquet", rows, kind=AnswerRow)

    problems = verify_run(done, work.folder.path, tasks()).problems
    assert f"its conditions and baselines are not the answers of {done.manifest.alone}." in problems


def test_states_are_asked_in_one_call_where_the_same_was_recalled_and_have_the_same_verdicts(tmp_path: Path) -> None:
    def probes(folder: Path, spec: MemorySpec, mode: str) -> tuple[int, dict[tuple[object, str], str]]:
        model = HonestModel()
        work = run_of(folder, model, spec=spec, probes=mode)
        done = finish(work)
        assert verify_run(done, work.folder.path, tasks()).problems == ()
        verdicts: dict[tuple[object, str], str] = {
            (row.question_key, row.probe): row.status for row in done.answers if row.kind == "state"
        }
        return len(model.asked("evaluation_tell_states")), verdicts

    full = MemorySpec(name="full-history", kind="full-history")
    (each, reference), (shared, same) = (probes(tmp_path / mode, full, mode) for mode in ("question", "period"))
    assert same == reference
    assert shared == 2 * 3 < each  # users and periods
    (each, reference), (shared, same) = (probes(tmp_path / f"bm25 {mode}", BM25, mode) for mode in ("question", "period"))
    assert same == reference
    assert 2 * 3 < shared <= each


@pytest.mark.parametrize("spec", [BM25, *(MemorySpec(name=kind, kind=kind) for kind in ("full-history", "rag"))])
def test_a_rehearsal_forecasts_what_the_run_then_takes(tmp_path: Path, spec: MemorySpec) -> None:
    model = CountingModel({"chat": "word " * 250, "evaluation/follow_up": "word " * 40})
    work = run_of(tmp_path, model, spec=spec, probes="question")
    assert work.alone is not None
    size = run(forecast_run(work, embedded=work.models))
    shared = run(forecast_run(work.alone, embedded=work.models))
    assert model.requests == []

    taken = finish(work).results.spending
    assert {purpose: used.calls for purpose, used in size.sizes.items() if used.calls} == {
        purpose: used.calls for purpose, used in taken.items()
    }
    assert size.usage.input_tokens == pytest.approx(sum(used.input_tokens for used in taken.values()), rel=0.15)
    conditions = read_run(work.manifest.alone, runs=work.alone.folder.path.parent).results.spending["baselines"]
    assert shared.usage.calls == conditions.calls
    assert shared.usage.input_tokens == pytest.approx(conditions.input_tokens, rel=0.15)
    assert "at most" not in (size + shared).sentence
    batched = run(forecast_run(replace(work.alone, batch=True), embedded=work.models))
    assert batched.usd is not None
    assert 2 * batched.usd == pytest.approx(shared.usd)


def test_a_memory_of_others_is_forecast_at_most_and_is_told_nothing(tmp_path: Path) -> None:
    source = tmp_path / "others.py"
    source.write_text("class Other:\n    def __init__(self, tools): raise RuntimeError('too early')\n")
    other, full = (run_of(tmp_path, HonestModel(), spec=MemorySpec(name="m", kind=kind)) for kind in (f"{source}:Other", FULL))
    most, known = (run(forecast_run(work, embedded=work.models)) for work in (other, full))

    assert most.sizes == known.sizes
    assert ["at most" in size.sentence for size in (most, known)] == [True, False]


def test_a_sample_is_balanced_over_users_periods_and_questions() -> None:
    users = [episode(f"user {number}") for number in range(6)]
    places = places_asked(users, 18, seed=1)
    assert {len(own) for own in places.values()} == {3}
    assert set(Counter(period for own in places.values() for period, _ in own).values()) == {6}
    assert places != places_asked(users, 18, seed=2)
    every = places_asked(users, None, seed=1)
    assert all(own < every[user] for user, own in places.items())


@pytest.mark.parametrize("questions", [1, 1000])
def test_a_sample_that_cannot_be_had_is_one_sentence(questions: int) -> None:
    with pytest.raises(EvaluationError, match=r"2 users have 12 questions; --questions takes one for each user at least"):
        places_asked([episode("ada"), episode("ben")], questions, seed=1)


def test_a_run_on_a_sample_asks_so_many_questions_in_every_condition_and_verifies(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), questions=6)
    done = finish(work)
    kinds = Counter(row.kind for row in done.answers)
    assert [kinds[kind] for kind in ("question", "no_memory", "facts", "everything")] == [6, 6, 6, 6]
    assert done.results.isolated is not None
    assert done.results.isolated.items == 6
    assert verify_run(done, work.folder.path, tasks()).problems == ()
