"""A finished run as a log of Inspect, read back by Inspect itself."""

from dataclasses import replace
from pathlib import Path

from inspect_ai.log import read_eval_log
from inspect_ai.scorer import CORRECT

from pipelines.export.inspect_log import write_inspect_log
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of
from tests.evaluation.test_document_tasks import documents
from tests.support.embedded_model import EmbeddedModel


def test_every_question_is_a_sample_with_what_was_sent_and_the_runs_own_score(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    finished = finish(work)
    count = write_inspect_log(finished, tmp_path / "run.eval", made_at=work.folder.made_at)
    log = read_eval_log(str(tmp_path / "run.eval"))

    assert log.status == "success"
    assert log.samples is not None
    assert len(log.samples) == count == finished.results.counts["question.asked"]
    assert log.results is not None
    assert log.results.scores[0].metrics["overall"].value == finished.results.metrics["overall"].value
    [sent, asked, answer] = log.samples[0].messages[-3:]
    assert "user: {" in sent.text, "what was recalled"
    assert asked.text == log.samples[0].input
    assert answer.text == log.samples[0].output.completion
    assert all(sample.scores and sample.scores["choice"].value == CORRECT for sample in log.samples)


def test_a_task_over_documents_at_two_lengths_is_two_samples(tmp_path: Path) -> None:
    data = documents()
    [item] = data.documents
    longer = replace(item, sized=item.sized.model_copy(update={"target_tokens": 2 * item.sized.target_tokens}))
    spec = MemorySpec(name="full-history", kind="full-history")
    work = run_of(tmp_path, EmbeddedModel(), data=replace(data, documents=(item, longer)), spec=spec)
    write_inspect_log(finish(work), tmp_path / "run.eval", made_at=work.folder.made_at)
    log = read_eval_log(str(tmp_path / "run.eval"))

    assert log.samples is not None
    assert len({sample.id for sample in log.samples}) == len(log.samples) == 2
