"""What the whole chain cannot start from ends it with one sentence: a wrong word, key, address or data folder."""

from pathlib import Path

import pytest

from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from tests.pipelines.chained import SMALL, Counted
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import amemgym_here


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["generate", "bose"], "There is no recipe 'bose'"),
        (["generate", "demo", "--set", "num_user=3"], "Did you mean 'num_users'?"),
        (["generate", "demo", "--set", "num_users"], "FIELD=VALUE"),
        (["generate", "demo", "--set", "pool.paths=[/no/such/file.parquet]"], "matches no file"),
        (["generate", "demo", "--version", "one"], "is no version"),
        (["show", "1", "--variant", "extra"], "Nothing of 'extra' is finished yet"),
        (["regenerate", "1", "--from", "answers"], "Nothing of 'demo' is finished yet"),
    ],
)
def test_bad_input_gets_one_sentence_and_a_failing_status(tmp_path: Path, words: list[str], sentence: str) -> None:
    status, output = amemgym_here(tmp_path, *words, *(SMALL[2:] if words[:2] == ["generate", "demo"] else []))
    assert status == 1
    last = output.strip().splitlines()[-1]
    assert last.startswith("amemgym: ")
    assert sentence in last
    assert "Traceback" not in output


def test_overrides_that_are_refused_do_not_stay(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "generate", "demo", "--set", "num_users=500")
    last = output.strip().splitlines()[-1]
    assert (status, last.startswith("amemgym: "), "offers only 120; lower num_users" in last) == (1, True, True)
    assert "Traceback" not in output
    status, output = amemgym_here(tmp_path, "recipe", "show", "demo")
    assert (status, "of the last run" in output) == (0, False)


def test_a_wrong_key_ends_the_run_with_one_sentence_that_does_not_tell_the_key(tmp_path: Path) -> None:
    with on_a_port(Counted(embedded_app(api_key="sk-right-0123456789"))) as url:
        given = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "sk-wrong-9876543210"}
        status, output = amemgym_here(tmp_path, "generate", "demo", *SMALL, "--model", model_name(), **given)
    assert status == 1
    assert "AMEMGYM_API_KEY" in output.strip().splitlines()[-1]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-wrong-9876543210" not in kept
    assert "sk-wrong-9876543210" not in output


def test_an_endpoint_where_nobody_answers_is_told_before_anything_is_begun(tmp_path: Path) -> None:
    given = {"AMEMGYM_BASE_URL": "http://127.0.0.1:9/v1", "AMEMGYM_API_KEY": "any"}
    status, output = amemgym_here(tmp_path, "generate", "demo", *SMALL, **given)
    assert (status, len(output.strip().splitlines())) == (1, 1)
    assert "The model endpoint http://127.0.0.1:9/v1 could not be reached; start the server there, or correct" in output
    assert not list(tmp_path.rglob("runs.db"))  # no run of Dagster's


def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    place = tmp_path / "taken"
    place.write_text("", encoding="utf-8")
    status, output = amemgym_here(place, "generate", "demo", *SMALL)
    assert status == 1
    assert str(place) in output.strip().splitlines()[-1]
