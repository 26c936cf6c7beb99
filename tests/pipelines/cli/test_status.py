"""`amemgym status` names what is out of date, by variant, and what makes just that."""

import shutil
from pathlib import Path

import pytest

from assets.recipe import loading
from pipelines.benchmark_definitions import definitions_of
from pipelines.benchmarks import BENCHMARKS
from pipelines.jobs import Phase
from pipelines.opening.out_of_date import OutOfDate, phases_of
from prompts.catalogue import override_prompts, prompt_path
from prompts.template import parse_prompt
from tests.support.commands import amemgym_here


def test_one_changed_prompt_puts_its_own_stage_out_of_date_and_nothing_else(demo_home: Path) -> None:
    words = prompt_path("answers/draft").read_text(encoding="utf-8")
    definitions_of.cache_clear()
    with override_prompts([parse_prompt("answers/draft", f"{words}\nBe brief.\n")]):
        status, output = amemgym_here(demo_home, "status", "demo")
    definitions_of.cache_clear()
    rows = [" ".join(line.split()) for line in output.splitlines()[3:]]
    assert (status, rows) == (
        0,
        [
            "answers demo the prompt answers/draft has changed",
            "amemgym status demo --make makes these, and what is made of them.",
        ],
    )
    assert amemgym_here(demo_home, "status") == (0, "demo: nothing is out of date.\n")


def test_what_is_made_again_is_what_is_out_of_date_and_what_is_made_of_it_and_never_published_or_evaluated() -> None:
    benchmark = BENCHMARKS["amemgym"].benchmark
    found = [OutOfDate("answers", "demo", "the prompt answers/draft has changed")]
    names = ("answers", "audits", "episodes", "quality_report", "dataset_card", "release")
    made = [f"amemgym/{name}" for name in names]
    assert [*phases_of(found, benchmark, "demo")] == [Phase("generate_and_release", "demo", assets=made)]


def test_a_snapshot_and_a_value_that_are_gone_are_told_and_made_again(demo_home: Path) -> None:
    shutil.rmtree(demo_home / "snapshots" / "answers")
    (demo_home / "values" / "quality_report" / "demo.json").unlink()
    output = amemgym_here(demo_home, "status", "demo")[1]
    rows = [" ".join(line.split()) for line in output.splitlines()[3:-1]]
    assert rows == ["answers demo its data are gone", "quality_report demo its data are gone"]

    assert amemgym_here(demo_home, "status", "demo", "--make")[0] == 0
    assert list((demo_home / "snapshots" / "answers").rglob("part-*.parquet"))
    assert (demo_home / "values" / "quality_report" / "demo.json").exists()


def test_what_is_made_is_told_with_its_reason_first_and_then_the_checks_and_the_release(demo_home: Path) -> None:
    (demo_home / "values" / "quality_report" / "demo.json").unlink()
    output = amemgym_here(demo_home, "status", "demo", "--make")[1].replace("\n", "")
    parts = ("its data are gone", "checks passed", "Made demo in", "demo: nothing is out of date.")
    told = [output.find(words) for words in parts]
    assert -1 not in told
    assert told == sorted(told)
    assert "--make makes these" not in output
    assert str(demo_home / "releases" / "demo") in output


def test_a_variant_that_was_not_made_is_told_as_that_and_an_unknown_one_is_refused(demo_home: Path) -> None:
    status, output = amemgym_here(demo_home, "status", "extra")
    assert status == 0
    assert output.count("it is not made yet") == len(BENCHMARKS["amemgym"].benchmark.stage_names) + 4
    status, output = amemgym_here(demo_home, "status", "demmo")
    assert (status, "Did you mean 'demo'?" in output) == (1, True)


def test_a_recipe_file_that_cannot_be_used_is_told_by_list_and_status_alone(
    tmp_path: Path, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "demo.yaml").write_bytes((loading.RECIPES / "demo.yaml").read_bytes())
    (tmp_path / "recipes" / "spoiled.yaml").write_text("num_users: [", encoding="utf-8")
    monkeypatch.setattr(loading, "RECIPES", tmp_path / "recipes")
    assert "spoiled.yaml cannot be read" in amemgym_here(demo_home, "recipe", "list")[1]
    (tmp_path / "recipes" / "wrong.yaml").write_text("start_date: 2020-13-45", encoding="utf-8")
    status, output = amemgym_here(demo_home, "status")
    assert (status, output.startswith("demo: nothing is out of date.\namemgym: ")) == (1, True)
    assert "spoiled.yaml cannot be read" in output
    assert "start_date is '2020-13-45'" in " ".join(output.split())
    for command in (["plan", "demo"], ["doctor"], ["ledger"]):
        status, output = amemgym_here(demo_home, *command)
        assert (status, "spoiled" in output) == (0, False), output
