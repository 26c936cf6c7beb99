"""What told the needed values is looked for in what a memory gave back: in rows, results, report and page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluation.folder import FinishedRun, read_run, read_table
from pipelines.evaluation.metrics.evidence import Evidence, PerceivedTexts
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.report.formatting import gives_back_everything
from pipelines.evaluation.report.markdown import run_report
from pipelines.memories.contract import MemoryEvent, MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_document_tasks import documents, evaluated
from tests.evaluation.test_page import blocks

TOLD = ("I drink green tea every day.", "My cat sleeps all day long.", "I have moved to Porto this year.")
EVENTS = [MemoryEvent(text, "user") for text in TOLD]


def columns(*recalled: str, needed: tuple[int, ...] = (0, 2)) -> tuple[int, ...]:
    evidence = Evidence(PerceivedTexts.of(EVENTS), [[TOLD[place]] for place in needed])
    return tuple(evidence.columns(recalled).values())[1:]


@pytest.mark.parametrize(
    ("recalled", "expected"),
    [
        ([EVENTS[0].line, EVENTS[1].line], (2, 1, 2, 0)),
        ([" ".join(TOLD).upper()], (2, 2, 3, 0)),
        (["The user drinks tea.", "He lives in Porto."], (2, 0, 0, 2)),
        (["I drink green", EVENTS[2].line], (2, 1, 1, 1)),
        ([EVENTS[2].line, "user: my cat"], (2, 1, 1, 0)),
        ([], (2, 0, 0, 0)),
    ],
)
def test_evidence_is_counted_word_for_word(recalled: list[str], expected: tuple[int, ...]) -> None:
    assert columns(*recalled) == expected


def test_a_piece_of_a_document_is_evidence_where_it_holds_the_sentence_that_states_the_fact() -> None:
    parts = {text: [f"{text} first", f"{text} second", "Signed by the office of works"] for text in TOLD}
    events = [MemoryEvent(text, "document") for text in TOLD]
    evidence = Evidence(PerceivedTexts.of(events, parts=parts), [[parts[TOLD[0]][1]]])
    assert evidence.columns([f"... {TOLD[0]} second"])["evidence_recalled"] == 1
    assert evidence.columns([f"{TOLD[0]} first"]) == {
        "told": 3,
        "evidence": 1,
        "evidence_recalled": 0,
        "recalled_events": 1,
        "rewritten": 0,
    }
    assert evidence.columns(["Signed by the office of works"])["recalled_events"] == 0, "it shows none of the three"


def lived(folder: Path, kind: str, **settings: Any) -> FinishedRun:
    return finish(run_of(folder, HonestModel(), spec=MemorySpec(name=kind, kind=kind, settings=settings)))


def test_a_memory_of_everything_recalls_all_evidence_and_a_short_one_does_not(tmp_path: Path) -> None:
    full, short = lived(tmp_path, "full-history"), lived(tmp_path, "window", events=2)
    assert full.results.operations.given_back == 1
    assert (short.results.operations.given_back or 0) < 0.5
    renamed = full.manifest.model_copy(update={"memory": MemorySpec(name="bm25", kind="bm25", settings={"topk": 1000})})
    assert "bm25 gives back 100 % of all" in run_report(replace(full, manifest=renamed))
    assert not gives_back_everything(full)
    assert not gives_back_everything(short)
    assert full.results.metrics["evidence_recall"].value == 1
    assert full.results.metrics["right_with_evidence"].value == full.results.metrics["overall"].value
    recall = short.results.metrics["evidence_recall"].value
    assert recall is not None
    assert 0 < recall < 1
    asked = [row for row in short.answers if row.kind == "question"]
    assert recall == pytest.approx(sum(row.evidence_recalled for row in asked) / sum(row.evidence for row in asked), abs=1e-6)


def test_evidence_stands_in_the_report_and_beside_each_answer_of_the_page(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), spec=MemorySpec(name="window", kind="window", settings={"events": 2}))
    finished = finish(work)
    report = run_report(finished)
    assert "| evidence recall |" in report
    page = blocks((work.folder.path / "report.html").read_text("utf-8"))
    columns = page["user-0"]["columns"]
    shown = {tuple(evidence) for kind, evidence in zip(columns["kind"], columns["evidence"], strict=True) if kind == "question"}
    assert {needed for needed, _, _ in shown} == {row.evidence for row in finished.answers if row.kind == "question"}
    assert any(recalled < needed for needed, recalled, _ in shown)


def test_of_a_memory_that_rewrites_what_it_hears_evidence_is_not_known(tmp_path: Path) -> None:
    source = tmp_path / "rewriting.py"
    source.write_text(
        "class Rewriting:\n    def __init__(self): self.said = []\n"
        "    def write(self, events): self.said += [event.text for event in events]\n"
        "    def recall(self, query, *, tokens): return ['In short: ' + text[::-1] for text in self.said]\n"
    )
    results = lived(tmp_path, f"{source}:Rewriting").results
    assert results.metrics["evidence_recall"].value is None
    assert results.metrics["misread"].value is None
    assert results.operations.given_back is None


def test_documents_that_state_the_needed_facts_are_found_among_all(tmp_path: Path) -> None:
    full = evaluated(tmp_path, "full-history")
    [answer] = [row for row in full.answers if row.kind == "question"]
    [item] = documents().documents
    assert (answer.evidence, answer.evidence_recalled, answer.recalled_events) == (2, 2, len(item.events))
    assert full.results.metrics["evidence_precision"].value == pytest.approx(2 / len(item.events), abs=1e-6)


def test_rows_keep_what_the_oracle_condition_was_given(tmp_path: Path) -> None:
    finished = evaluated(tmp_path, "bm25")
    folder = tmp_path / finished.manifest.run_id
    [item] = documents().documents
    [row] = read_table(folder / "memory.parquet", kind=MemoryRow)
    assert list(row.facts) == item.facts
    [facts] = [row for row in read_run(str(folder), runs=tmp_path).answers if row.kind == "facts"]
    assert list(facts.memories) == item.facts


def test_a_memory_can_be_asked_without_the_options_which_is_another_run(tmp_path: Path) -> None:
    source = tmp_path / "echo.py"
    source.write_text(
        "class Echo:\n    def write(self, events): ...\n    def recall(self, query, *, tokens): return [query]\n"
        "    def fork(self): return Echo()\n"
    )
    spec = MemorySpec(name="Echo", kind=f"{source}:Echo")
    with_options, bare = (
        finish(run_of(tmp_path, HonestModel(), spec=spec, recall_query=query)) for query in ("question-and-options", "question")
    )
    assert bare.manifest.run_id != with_options.manifest.run_id
    queries = {question.query for episode in tasks().dataset.episodes for question in episode.questions}
    assert {row.memories for row in bare.answers if row.kind == "question"} == {(query,) for query in queries}
    assert all(query not in queries for row in with_options.answers if row.kind == "question" for query in row.memories)
    assert [row.asked for row in bare.answers] == [row.asked for row in with_options.answers], "the reasoner sees the same"
    assert "asked with the question alone" in run_report(bare)
    assert "asked with the question and its options" in run_report(with_options)
