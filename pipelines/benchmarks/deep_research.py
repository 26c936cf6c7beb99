"""Deep research: a question over several turns of documents."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.deep_research.pipeline:DEEP_RESEARCH",
    prefix="dr_",
    rules="validation.deep_research.benchmark:DEEP_RESEARCH_VALIDATION",
    release_format="dataset_card.deep_research:DEEP_RESEARCH_RELEASE",
    tasks="pipelines.evaluation.answered.document_tasks:read_document_tasks",
    asks=("evaluation/", "memories/", "memory_items/ask"),
    writers="pipelines.embedded.deep_research.writers:WRITERS",
    shared_prompts=("memory_items/",),
    known_world="pipelines.embedded.deep_research.writers:KNOWN",
    print_item="dataset_card.memory_items:print_task",
)
