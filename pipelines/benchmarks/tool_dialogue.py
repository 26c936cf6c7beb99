"""Tool dialogues: a customer's request to a firm with tools."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.tool_dialogue.pipeline:TOOL_DIALOGUE",
    prefix="td_",
    rules="validation.tool_dialogue.benchmark:TOOL_DIALOGUE_VALIDATION",
    release_format="dataset_card.tool_dialogue:TOOL_DIALOGUE_RELEASE",
    tasks="pipelines.evaluation.acted.tool_dialogues:read_tool_tasks",
    writers="pipelines.embedded.tool_dialogue.writers:WRITERS",
    shared_prompts=("memory_items/", "evaluation/act"),
    known_world="pipelines.embedded.tool_dialogue.world:KNOWN",
    print_item="dataset_card.tool_dialogue:print_task",
)
