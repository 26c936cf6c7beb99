"""Code questions: a code base, and what its developers agreed on."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.code_qa.pipeline:CODE_QA",
    prefix="code_",
    rules="validation.code_qa.benchmark:CODE_QA_VALIDATION",
    release_format="dataset_card.code_qa:CODE_QA_RELEASE",
    tasks="pipelines.evaluation.answered.document_tasks:read_document_tasks",
    asks=("evaluation/", "memories/", "memory_items/ask"),
    writers="pipelines.embedded.code_qa.writers:WRITERS",
    shared_prompts=("memory_items/",),
    known_world="pipelines.embedded.code_qa.writers:KNOWN",
    print_item="dataset_card.memory_items:print_task",
)
