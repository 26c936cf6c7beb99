"""What is refused before a run asks a model for anything."""

import re
from pathlib import Path

import pytest

from dataset_card.amemgym.reference.data_json import data_json
from dataset_card.release.manifest import ReleaseError, read_manifest
from dataset_card.release_store.folder import check_next_version, write_release
from pipelines import home
from pipelines.home import Home, obstacles
from pipelines.resources.ledger.ledger import ledger_file
from tests.evaluation.scripted_evaluation import episode
from tests.support.commands import amemgym_here
from tests.support.releases import content


def test_a_version_that_the_release_cannot_get_is_refused_before_the_first_call(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "generate", "demo", "--version", "1")
    assert (status, output) == (1, "amemgym: '1' is no version; give three numbers such as 0.1.0, or 'auto'.\n")


def test_a_version_of_before_and_one_of_another_recipe_are_refused(tmp_path: Path) -> None:
    released = write_release(content(), root=tmp_path, version="1.2.0").folder
    fingerprint = read_manifest(released).recipe_fingerprint
    for version in ("auto", "1.2.0", "1.10.0"):
        check_next_version(version, home=released.parent, fingerprint=lambda: fingerprint)
    with pytest.raises(ReleaseError, match=r"Version 1\.1\.9 of 'demo' is lower than 1\.2\.0, which is there"):
        check_next_version("1.1.9", home=released.parent, fingerprint=lambda: fingerprint)
    with pytest.raises(ReleaseError, match=r"Version 1\.2\.0 of 'demo' is already released, from another recipe"):
        check_next_version("1.2.0", home=released.parent, fingerprint=lambda: "another")


def test_a_tilde_in_the_data_folder_s_name_is_the_user_s_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AMEMGYM_HOME", "~/amem")
    assert home.home().root == tmp_path / "amem"


def test_a_disk_that_is_nearly_full_is_told_before_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not list(obstacles(Home(tmp_path)))
    monkeypatch.setattr(home, "LEAST_FREE", 10**18)
    (sentence,) = obstacles(Home(tmp_path / "not made yet"))
    assert re.search(r"has \d+ MB left, and a run needs", sentence)


def test_a_file_that_cannot_be_written_is_told_before_the_first_call() -> None:
    # Linux lets nobody write there, not even root.
    assert "/sys cannot be written (" in "".join(obstacles(Home(Path("/sys"))))


def test_a_data_folder_that_is_a_file_or_below_one_is_told_as_that(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    for place, words in ((taken, "is"), (taken / "data", f"lies in {taken}, which is")):
        status, output = amemgym_here(place, "generate", "demo")
        assert (status, output) == (1, f"amemgym: The data folder {place} {words} a file; name a folder in AMEMGYM_HOME.\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("releases", ("generate", "demo")),
        ("releases/demo", ("generate", "demo")),
        ("runs", ("evaluate", "{folder}/data.json", "--memory", "none")),
    ],
)
def test_a_file_in_a_folder_s_place_is_told_before_the_first_call(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    (tmp_path / "data.json").write_bytes(data_json([episode("ada")]))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    status, output = amemgym_here(tmp_path, *(word.format(folder=tmp_path) for word in words))
    told = f"amemgym: {tmp_path / name} is a file, and a folder has to be there; move it away, and run the command again."
    assert (status, output.splitlines()[-1]) == (1, told)
    assert not ledger_file(Home(tmp_path)).exists()


def test_a_page_over_a_folder_that_cannot_be_written_is_refused_before_dagster_starts() -> None:
    status, output = amemgym_here(Path("/sys"), "ui", "--port", "0")
    assert (status, output.splitlines()[0].startswith("amemgym: /sys cannot be written (")) == (1, True), output


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "demo", "--concurrency", "0"),
        ("evaluate", "demo", "--memory", "bm25", "--set", "concurrency=0"),
        ("evaluate", "demo", "--memory", "bm25", "--set", "deadline=0"),
        ("evaluate", "demo", "--memory", "bm25", "--users", "0"),
        ("evolve", "demo", "--set", "concurrency=0"),
        ("evolve", "demo", "--set", "deadline=0"),
        ("quality", "demo", "--users", "0"),
        ("memory", "check", "bm25", "--deadline", "0"),
    ],
)
def test_an_option_that_would_let_nothing_through_is_refused_by_name(tmp_path: Path, words: tuple[str, ...]) -> None:
    status, output = amemgym_here(tmp_path, *words)
    option = words[-1].partition("=")[0] if words[-2] == "--set" else words[-2]
    assert status in (1, 2)
    assert re.search(rf"{option}('?: Input should be greater than or equal to 1| has to be 1 or more)", output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["AMEMGYM_MAX_IN_FLIGHT", "AMEMGYM_REQUESTS_PER_MINUTE", "AMEMGYM_TOKENS_PER_MINUTE", "AMEMGYM_TIMEOUT"]
)
@pytest.mark.parametrize("endpoint", [{}, {"AMEMGYM_BASE_URL": "http://localhost:1/v1"}])
def test_a_variable_that_would_let_nothing_through_is_refused_by_name(
    tmp_path: Path, name: str, endpoint: dict[str, str]
) -> None:
    status, output = amemgym_here(tmp_path, "generate", "demo", **endpoint, **{name: "0"})
    assert status == 1
    assert output.startswith(f"amemgym: The model endpoint's settings cannot be used. In the environment, {name} ")
    assert not list(tmp_path.iterdir())
