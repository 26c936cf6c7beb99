"""An exported release as a data set of the Agent Memory Benchmark (vectorize-io/agent-memory-benchmark), which ingests first.

Its runner ingests all documents before it asks. So the namespace of a question is its user and period, and each namespace gets
the documents until that period. On documents in turns answers are mostly free: all questions are asked openly then, and what is
read with one stands in it.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pipelines.experiments.export import ExportedDocument, ExportedQuestion


def _read(path: Path, kind: type[Any]) -> list[Any]:
    return [kind.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _numbered(one: ExportedQuestion) -> str:
    return one.gold_answer if one.gold_option is None else f"({one.gold_option + 1}) {one.gold_answer}"


def benchmark_dataset(folder: Path) -> Any:
    """A `memory_bench.dataset.base.Dataset` over the files of `amemgym export`. Needs the package `memory_bench`."""
    base, models = import_module("memory_bench.dataset.base"), import_module("memory_bench.models")
    documents: Sequence[ExportedDocument] = _read(folder / "documents.jsonl", ExportedDocument)
    questions: Sequence[ExportedQuestion] = _read(folder / "questions.jsonl", ExportedQuestion)

    chosen = all(one.options for one in questions)

    def asked(one: ExportedQuestion) -> str:
        options = [f"({place}) {text}" for place, text in enumerate(one.options, start=1)] if chosen else []
        return "\n".join([*one.shown, one.query, *options])

    class ExportedRelease(base.Dataset):
        """The questions, with a namespace for each user and period."""

        name, description, splits = "amemgym", "A release of amemgym-synth, ingested first", ["all"]
        task_type, isolation_unit = "mcq" if chosen else "open", "user and period"

        def load_queries(self, split: str, category: str | None = None, limit: int | None = None) -> list[Any]:
            return [
                models.Query(
                    id=one.id,
                    query=asked(one),
                    gold_ids=[f"{document}@{one.period}" for document in one.gold_document_ids],
                    gold_answers=[_numbered(one) if chosen else one.gold_answer],
                    user_id=f"{one.user_id}@{one.period}",
                    meta={"retrieval_query": one.query},
                )
                for one in questions[:limit]
            ]

        def load_documents(
            self,
            split: str,
            category: str | None = None,
            limit: int | None = None,
            ids: set[str] | None = None,
            user_ids: set[str] | None = None,
        ) -> list[Any]:
            spaces = dict.fromkeys((one.user_id, one.period) for one in questions)
            found = [
                models.Document(id=f"{one.id}@{period}", content=one.text, user_id=f"{user}@{period}", timestamp=one.at)
                for user, period in spaces
                for one in documents
                if one.user_id == user and one.period <= period
            ]
            wanted = [one for one in found if (not ids or one.id in ids) and (not user_ids or one.user_id in user_ids)]
            return wanted[:limit]

    return ExportedRelease()
