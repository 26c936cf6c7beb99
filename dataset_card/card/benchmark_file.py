"""`eval.yaml`, by which the Hub knows a data set as a benchmark and shows scores of models on it.

A task of it is one memory with one budget, so that models are ranked under the same memory. Scores lie in the models'
repositories. The form is described at huggingface.co/docs/hub/eval-results.
"""

from collections.abc import Iterable

import yaml

from dataset_card.card.header import SPLIT

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


def benchmark_file(name: str, variants: Iterable[str]) -> str:
    """Return the file for a data set of these variants. `name`: what the Hub calls the benchmark."""
    tasks: list[dict[str, str]] = []
    for variant in variants:
        ids = [f"{variant}-{NO_MEMORY}"]
        for memory in MEMORIES:
            ids += [f"{variant}-{memory}-{tokens}" for tokens in BUDGETS]
        tasks += [{"id": id_, "config": variant, "split": SPLIT} for id_ in ids]
    fields = {"name": name, "description": DESCRIPTION, "evaluation_framework": FRAMEWORK, "tasks": tasks}
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1_000)
