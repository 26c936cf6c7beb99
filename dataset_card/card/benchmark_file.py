"""`eval.yaml`, by which the Hub knows a data set as a benchmark and shows scores of models on it.

A task of it is one memory with one budget, so that models are ranked under the same memory. Scores lie in the models'
repositories (`amemgym export RUN --as eval-results`). The form is described at huggingface.co/docs/hub/eval-results.
"""

from collections.abc import Iterable

import yaml

from dataset_card.card.paths import SPLIT

BENCHMARK_FILE = "eval.yaml"
FRAMEWORK = "amemgym-synth"
# Memories as `amemgym evaluate --memory` names them; the budgets are the usual ones, of documents and of dialogues.
MEMORIES = ("full-history", "bm25", "rag-2-4-30", "awe-2-4-30")
BUDGETS = (6_000, 100_000)
NO_MEMORY = "none"
DESCRIPTION = (
    "Questions about what was said or read long before, which a model answers with what a memory gives back. Each task fixes "
    "the memory and the tokens that it may give back, so that models compare. A score is the share of right answers, 0 to 1."
)


def task_id(variant: str, *, memory: str, tokens: int) -> str | None:
    """Return the id of the task with this memory and budget; None where it is none of the reference ones."""
    if memory == NO_MEMORY:
        return f"{variant}-{memory}"
    if memory in MEMORIES and tokens in BUDGETS:
        return f"{variant}-{memory}-{tokens}"
    return None


def benchmark_file(name: str, variants: Iterable[str]) -> str:
    """Return the file for a data set of these variants. `name`: what the Hub calls the benchmark."""
    tasks: list[dict[str, str]] = []
    for variant in variants:
        ids = [task_id(variant, memory=NO_MEMORY, tokens=0)]
        for memory in MEMORIES:
            ids += [task_id(variant, memory=memory, tokens=tokens) for tokens in BUDGETS]
        tasks += [{"id": id_, "config": variant, "split": SPLIT} for id_ in ids if id_]
    fields = {"name": name, "description": DESCRIPTION, "evaluation_framework": FRAMEWORK, "tasks": tasks}
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1_000)
