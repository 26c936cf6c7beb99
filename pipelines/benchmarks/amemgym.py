"""AMemGym: a user whose state changes over the months."""

from pipelines.benchmarks import BenchmarkEntry

ENTRY = BenchmarkEntry(
    stages="assets.amemgym.pipeline:AMEMGYM",
    rules="validation.amemgym.benchmark:AMEMGYM_VALIDATION",
    release_format="dataset_card.amemgym.release:AMEMGYM_RELEASE",
    item="assets.amemgym.records.episode:Episode",
    tasks="pipelines.evaluation.amemgym.tasks:read_amemgym_tasks",
    asks=("evaluation/", "memories/", "paper/"),
    files=".json",
    file_tasks="pipelines.evaluation.amemgym.tasks:read_amemgym_file",
    writers="pipelines.embedded.amemgym.writers:WRITERS",
    print_item="dataset_card.amemgym.story:print_episode",
    print_figures="dataset_card.amemgym.story:print_figures",
    report_on_source="pipelines.evaluation.amemgym.given_data:report_on_source",
    read_configuration="dataset_card.amemgym.reference.configuration:read_configuration",
    forecast_notes="pipelines.planning.amemgym:forecast_notes",
)
