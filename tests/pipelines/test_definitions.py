"""What Dagster shows of the project: few jobs, and checks that say something."""

from pipelines.benchmarks import BENCHMARKS
from pipelines.definitions import defs

MOST_CHECKS = 270  # of all benchmarks; there were 327, and who looks at a list of those sees none


def test_each_benchmark_has_the_jobs_that_people_start() -> None:
    started = ("generate_and_release", "publish", "evaluate")
    wanted = [entry.benchmark.key(name) for entry in BENCHMARKS.values() for name in started]
    assert sorted(job.name for job in defs.resolve_all_job_defs() if not job.name.startswith("__")) == sorted(wanted)


def test_rules_about_the_words_of_a_stage_are_one_check_and_so_are_the_columns_of_all_tables() -> None:
    checks = defs.resolve_asset_graph().asset_check_keys
    names = sorted(
        key.name for key in checks if key.asset_key.to_user_string() in ("amemgym/answers", "amemgym/quality_report")
    )
    assert {"plain_prose", "table_columns"} < set(names)
    assert len(names) == 15
    assert len(checks) <= MOST_CHECKS
