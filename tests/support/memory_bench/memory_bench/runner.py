"""The runner for data sets with units: one ingestion of a unit, then all its questions; the first letter decides."""

import asyncio
from pathlib import Path
from typing import Any

from memory_bench.models import EvalSummary, QueryResult


def _letter(text: str) -> str:
    return text.strip().lower().strip("(). ")[:1]


class EvalRunner:
    def __init__(self, output_dir: Path = Path("outputs")) -> None:
        self.output_dir = output_dir

    def run(self, dataset: Any, split: str, memory: Any, mode: Any, category: str | None = None) -> EvalSummary:
        memory.initialize()
        queries = dataset.load_queries(split, category=category, limit=None)
        documents = dataset.load_documents(split, category=category, limit=None)
        units = {dataset.get_isolation_id(one) for one in documents}
        memory.prepare(self.output_dir / dataset.name, unit_ids=units)
        results = asyncio.run(_asked(dataset, split, memory, mode, queries=queries, documents=documents))
        memory.cleanup()
        return EvalSummary(len(results), sum(one.correct for one in results), len(documents), results)


async def _asked(
    dataset: Any, split: str, memory: Any, mode: Any, *, queries: list[Any], documents: list[Any]
) -> list[QueryResult]:
    def prompt_of(query: str, context: str, meta: dict[str, Any] | None = None) -> str:
        return dataset.build_rag_prompt(query, context, dataset.task_type, split, None, meta)

    results = list[QueryResult]()
    for unit in dict.fromkeys(one.user_id for one in queries):
        await memory.async_ingest([one for one in documents if dataset.get_isolation_id(one) == unit])
        for one in queries:
            if one.user_id != unit:
                continue
            meta = {**one.meta, "_prompt_fn": prompt_of}
            given = await mode.async_answer(one.query, memory, task_type=dataset.task_type, user_id=unit, meta=meta)
            right = bool(given.context) and _letter(given.answer) in map(_letter, one.gold_answers)
            results.append(QueryResult(one.id, given.answer, right, dataset.get_result_categories(one.meta)))
    return results
