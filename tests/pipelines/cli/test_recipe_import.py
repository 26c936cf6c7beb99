"""`amemgym recipe import`: a configuration of the paper's code that cannot be used is answered in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataset_card.amemgym.reference.configuration import read_configuration
from tests.support.commands import amemgym_here


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested in it more than 100 levels deep"),
        (b'{"a": "\xff"}', "it is not UTF-8 (byte 7)"),
        (b"[]", "must be one JSON object"),
        (b"{", "Expecting"),
    ],
)
def test_a_configuration_that_cannot_be_used_ends_in_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "config.json").write_bytes(content)
    status, told = amemgym_here(tmp_path / "home", "recipe", "import", str(tmp_path / "config.json"), "theirs")

    assert (status, told.count("\n")) == (1, 1), told
    assert told.startswith(f"amemgym: The configuration {tmp_path / 'config.json'} ")
    assert reason in told


CONFIGURATION: dict[str, Any] = {
    "start_date": "2021-01-01",
    "lang": "zh",
    "num_user_profiles": 3,
    "num_questions": 2,
    "min_state_variants": 5,
    "num_rounds_init": 3,
    "llm_config_high_temp": {"base_url": "http://localhost:8000/v1", "api_key": "EMPTY", "llm_model": "m", "temperature": 0.5},
    "llm_config_low_temp": {"llm_model": "m", "temperature": 0.2, "max_tokens": 900, "source": "env:data-generation"},
}


def test_everything_with_a_counterpart_is_taken_over() -> None:
    assert read_configuration(CONFIGURATION) == {
        "start_date": "2021-01-01",
        "language": "zh",
        "num_users": 3,
        "num_questions": 2,
        "min_variants_per_question": 5,
        "num_rounds_initial": 3,
        "models": {"writer": {"model": "m", "creative_temperature": 0.5, "temperature": 0.2, "max_output_tokens": 900}},
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"persona_style": "brief"}, "A recipe has nothing for these fields of the configuration: persona_style. Take out"),
        ({"llm_config_low_temp": {"top_p": 0.9}}, "llm_config_low_temp.top_p"),
        ({"language": "English"}, "language is 'English', but another field of the configuration says 'zh' of the same"),
        ({"llm_config_low_temp": {"llm_model": "other"}}, "two models that differ in llm_model"),
        ({"lang": "zh-conv"}, "zh-conv"),
    ],
)
def test_what_would_change_rows_and_has_no_counterpart_is_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**CONFIGURATION, **changes}))
    status, output = amemgym_here(tmp_path / "home", "recipe", "import", str(tmp_path / "config.json"), "theirs")
    assert (status, output.count("\n"), told in output) == (1, 1, True), output


@pytest.mark.parametrize("name", ["../elsewhere", "my variant", "tables"])
def test_a_name_that_no_release_can_have_is_refused_before_a_file_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    status, told = amemgym_here(tmp_path / "home", "recipe", "import", str(tmp_path / "config.json"), name)
    assert (status, told.count("\n")) == (1, 1), told
    assert repr(name) in told


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path) -> None:
    status, told = amemgym_here(tmp_path / "home", "recipe", "import", str(tmp_path / "none.json"), "theirs")
    assert (status, "none.json cannot be read: No such file or directory." in told) == (1, True), told


def test_a_release_carries_a_canary_and_gets_a_twin_with_other_people(
    finished_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.cli.recipe.RECIPES", tmp_path)
    [release] = (finished_demo / "releases" / "demo").glob("0*")
    assert "`amemgym-canary-" in (release / "README.md").read_text(encoding="utf-8")

    status, told = amemgym_here(finished_demo, "twin", "demo")
    assert status == 0, told
    fields = yaml.safe_load((tmp_path / "demo-twin.yaml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((release / "recipe.yaml").read_text(encoding="utf-8"))
    assert fields["seed"] == recipe["seed"] + 1
    assert "salt" not in fields
    assert len(fields["exclude_ids"]) == recipe["num_users"] == fields["num_users"]

    status, told = amemgym_here(finished_demo, "twin", "demo")
    assert (status, "exists already; choose another name." in told) == (1, True), told
