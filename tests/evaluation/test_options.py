"""Options of an evaluation: one record, which command line, file of a run and manifest share."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pipelines.cli.main import load_command
from pipelines.cli.scoring.run_options import FLAGS, evaluation_options
from pipelines.errors import EvaluationError, Problem
from pipelines.evaluation.options import EvaluationOptions, read_options
from pipelines.evaluation.records import RunManifest, RunSettings
from tests.evaluation.test_plan import manifest

app = typer.Typer()
GIVEN: list[EvaluationOptions] = []


@app.command()
@evaluation_options()
def show(dataset: str, *, options: EvaluationOptions) -> None:
    GIVEN.append(options)


def shown(*words: object) -> EvaluationOptions:
    assert CliRunner().invoke(app, ["demo", *map(str, words)], catch_exceptions=False).exit_code == 0
    return GIVEN[-1]


def test_a_flag_and_set_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("tokens: 1000\nseed: 1\ncurve: [300, 500]\nextra_body: {judge: {top_k: 20}}\n")
    found = shown("--config", file, "--set", "seed=2", "--tokens", "3000", "--set", "arms=all")
    assert (found.tokens, found.seed, found.curve) == (3000, 2, (300, 500))
    assert found.extra_body == {"judge": {"top_k": 20}}
    assert found.arms == ("placebo", "stale", "another", "noise")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--set", "tokens=2000", "--tokens", "3000"),
            "--set tokens and --tokens give the same option; leave one of them out.",
        ),
        (
            ("--set", "max_cost=2", "--max-cost", "2"),
            "--set max_cost and --max-cost give the same option; leave one of them out.",
        ),
        (("--set", "tokens"), "--set 'tokens' does not have the form FIELD=VALUE, as in --set curve=500,1000."),
        (("--set", "curve=soon"), "--set: curve.0 has to be a whole number."),
    ],
)
def test_options_that_cannot_be_meant_are_refused_in_own_words(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises((EvaluationError, Problem)) as refused:
        shown(*words)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("limit", ["nan", "0", "-1", "inf"])
def test_a_cap_that_is_no_number_above_zero_is_refused_alike(limit: str) -> None:
    sentence = f"A budget must be a finite number above 0, not {limit}; leave it out for no limit."
    for name in ("max_cost", "max_tokens"):
        if name == "max_cost" or limit not in ("nan", "inf"):
            with pytest.raises(EvaluationError) as refused:
                _ = shown(f"--set={name}={limit.replace('nan', '.nan').replace('inf', '.inf')}").budget
            assert str(refused.value) == sentence
    with pytest.raises(EvaluationError) as refused:
        _ = shown("--max-cost", limit).budget
    assert str(refused.value) == sentence


def test_a_flag_of_zero_is_given_and_no_conditions_are_none() -> None:
    assert shown("--set", "seed=0").seed == 0
    assert shown("--conditions", "").conditions == ()
    assert shown("--set", "curve=500,1000", "--set", "arms=placebo").curve == (500, 1000)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"tokenz": 5}, "--set has 'tokenz', which is no option of an evaluation; these are: tokens, "),
        ({"tokens": 0}, "--set: tokens has to be 1 or more"),
        ({"probes": "all"}, "--set: probes has to be 'period', 'question' or 'none'"),
    ],
)
def test_what_cannot_be_an_option_is_one_sentence_that_names_its_source(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(EvaluationError) as refused:
        read_options(fields, source="--set")
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("content", ["- tokens", "tokens: [", "a: 1\na: 2\n"])
def test_a_file_that_holds_no_options_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.yaml").write_text(content)
    with pytest.raises(EvaluationError, match=r"run\.yaml (cannot be read|is no mapping of options)"):
        shown("--config", tmp_path / "run.yaml")
    with pytest.raises(EvaluationError, match=r"lost\.yaml cannot be read \(No such file or directory\)"):
        shown("--config", tmp_path / "lost.yaml")


def test_a_manifest_holds_every_setting_that_decides_results() -> None:
    made = json.loads(manifest(tokens=500, curve=(500, 300), recall_query="question").model_dump_json())
    assert set(RunSettings.model_fields) <= set(made)
    assert (made["tokens"], made["curve"], made["recall_query"]) == (500, [300], "question")
    assert RunManifest.model_validate(made).tokens == 500


def test_evaluate_shows_sixteen_options_and_the_guide_has_a_line_for_each_of_a_run() -> None:
    command = load_command("evaluate")
    assert len([one for one in command.params if one.param_type_name == "option" and not getattr(one, "hidden", False)]) <= 16
    guide = Path("pipelines/evaluation/README.md").read_text(encoding="utf-8")
    missing = [name for name in EvaluationOptions.model_fields if name not in FLAGS and f"| `{name}` |" not in guide]
    assert missing == []
