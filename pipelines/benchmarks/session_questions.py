"""Session questions: what a team settled, gave up and agreed on in earlier sessions."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.code_qa.session_questions.pipeline:SESSION_QUESTIONS",
    prefix="sq_",
    rules="validation.code_qa.benchmark:SESSION_QUESTIONS_VALIDATION",
    release_format="dataset_card.code_qa:SESSION_QUESTIONS_RELEASE",
    tasks="pipelines.evaluation.answered.document_tasks:read_document_tasks",
    asks=("evaluation/", "memories/", "memory_items/ask"),
    writers="pipelines.embedded.code_qa.writers:WRITERS",
    shared_prompts=("memory_items/",),
    known_world="pipelines.embedded.code_qa.session_questions:KNOWN",
    print_item="dataset_card.memory_items:print_task",
)
