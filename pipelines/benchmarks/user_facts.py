"""Facts of a user: corrected, ended, derived from each other, to be forgotten."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.user_facts.pipeline:USER_FACTS",
    prefix="facts_",
    rules="validation.user_facts.benchmark:USER_FACTS_VALIDATION",
    release_format="dataset_card.user_facts:USER_FACTS_RELEASE",
    tasks="pipelines.evaluation.answered.fact_tasks:read_fact_tasks",
    asks=("evaluation/", "memories/", "facts_questions/"),
    writers="pipelines.embedded.user_facts.writers:WRITERS",
    shared_prompts=("memories/leave_out_forgotten",),
    print_item="dataset_card.user_facts:print_user",
)
