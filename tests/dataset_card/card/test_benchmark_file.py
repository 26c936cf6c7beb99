"""The benchmark's file of a release, by which the Hub knows its tasks."""

import yaml

from dataset_card.card.benchmark_file import MEMORIES, benchmark_file
from pipelines.memories.registry import find_memory


def test_each_reference_memory_and_budget_is_a_task_of_its_own() -> None:
    told = yaml.safe_load(benchmark_file("Ours", ["base", "demo"]))
    ids = [task["id"] for task in told["tasks"]]
    assert len(set(ids)) == len(ids) == 18
    assert {"base-none", "demo-bm25-6000", "demo-full-history-100000"} <= set(ids)
    assert {(task["config"], task["split"]) for task in told["tasks"]} == {("base", "test"), ("demo", "test")}
    assert [find_memory(name).name for name in MEMORIES] == list(MEMORIES)
