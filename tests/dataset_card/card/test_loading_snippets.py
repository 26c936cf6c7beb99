"""What the card promises about files: its header loads, its links lead somewhere, its snippets run."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from dataset_card.hub.layout import ReleaseSummary, release_paths
from dataset_card.hub.repo_card import RepositoryPage, VariantCard, repository_card
from dataset_card.release.manifest import CARD
from dataset_card.release_store.folder import Release, write_release
from tests.support import gate_votes, scenario
from tests.support.commands import clean_environment
from tests.support.releases import content, queried, readme, report

PROJECT = Path(__file__).parents[3]
IMAGE = re.compile(r"!\[(.*?)\]\((.*?)\)")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#:]+)\)")


def header(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


def snippets(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(*line: str, folder: Path, home: Path) -> str:
    """A command in the release folder, away from this process's settings; its output."""
    around = clean_environment(home, PYTHONPATH=str(PROJECT), HF_HOME=str(home), HF_HUB_OFFLINE="1")
    done = subprocess.run(line, cwd=folder, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return write_release(content(report=report()), root=tmp_path_factory.mktemp("releases"))


def test_the_header_is_what_the_hub_reads(tmp_path: Path) -> None:
    found = header(readme(tmp_path))
    assert found["license"] == "cc-by-4.0"
    assert found["language"] == ["en"]
    assert found["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in found["configs"] if config.get("default")] == ["demo"]


@pytest.mark.parametrize("failures", [[gate_votes.failure()], []], ids=["one replaced", "none"])
def test_every_configuration_of_the_header_loads_with_the_rows_of_the_manifest(tmp_path: Path, failures: list[Any]) -> None:
    release = write_release(content(failures=failures), root=tmp_path)
    rows = {file.path: file.rows for file in release.manifest.files}
    configs = header((release.folder / CARD).read_text(encoding="utf-8"))["configs"]
    loaded: dict[str, int] = {}
    for config in configs:
        (entry,) = config["data_files"]
        assert entry["split"] == "test"
        for path in release.folder.glob(entry["path"]):
            table = pq.read_table(path)  # pyright: ignore[reportUnknownMemberType]
            loaded[path.relative_to(release.folder).as_posix()] = table.num_rows
    assert loaded == {path: count for path, count in rows.items() if path.endswith(".parquet") and count}
    assert ("demo_failures" in {config["config_name"] for config in configs}) == bool(failures)


def test_images_have_words_and_links_lead_to_files_of_the_release(whole: Release) -> None:
    text = (whole.folder / CARD).read_text(encoding="utf-8")
    listed = {file.path for file in whole.manifest.files}
    images = IMAGE.findall(text)
    assert [path for _, path in images] == [f"figures/{name}.png" for name in ("course", "shortcuts")]
    assert all(len(words) > 20 for words, _ in images)
    assert {path for _, path in images} | set(LINK.findall(text)) <= listed
    assert {path for path in listed if path.startswith("figures/")} == {path for _, path in images}


def test_on_the_hub_links_of_the_top_card_and_of_the_variant_s_own_lead_somewhere_too(whole: Release) -> None:
    text = (whole.folder / CARD).read_text(encoding="utf-8")
    summary = ReleaseSummary.model_validate(whole.manifest.model_dump())
    there = set(release_paths(summary).values())
    page = RepositoryPage("me/mine", "https://hub/datasets/me/mine", {"demo": VariantCard(summary, text)})
    top = repository_card(page)
    assert len(IMAGE.findall(top)) == len(IMAGE.findall(text))
    assert {path for _, path in IMAGE.findall(top)} | set(LINK.findall(top)) <= there
    assert {f"demo/{path}" for _, path in IMAGE.findall(text)} | {f"demo/{path}" for path in LINK.findall(text)} <= there


def test_every_file_that_the_card_s_table_names_is_there_and_the_other_way_round(whole: Release) -> None:
    text = (whole.folder / CARD).read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[?`([^`]+)`", text.partition("<details>")[0], re.MULTILINE)
    unnamed = {path for path in (file.path for file in whole.manifest.files) if not path.startswith(("figures/", "demo/gx/"))}
    assert set(rows) == unnamed - {CARD, "LICENSE"} | {"manifest.json", "demo/gx/"}


def test_the_snippets_run_in_the_release_folder(whole: Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (whole.folder / CARD).read_text(encoding="utf-8")
    monkeypatch.chdir(whole.folder)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    seen: dict[str, Any] = {}
    for code in snippets(text, "python"):
        if "load_dataset" not in code and "great_expectations" not in code:
            exec(code, seen)
    assert seen["state"] == scenario.STATES[0]
    assert len(seen["sessions"]) == 8
    assert [user["id"] for user in seen["users"]] == [scenario.USER_ID, "5f0c-ada-003"]
    # The reference's shape knows neither which drafted types were merged nor ids of ours.
    assert [life.user_profile for life in seen["lives"]] == [getattr(item, "user_profile") for item in content().items]  # noqa: B009
    assert seen["first_questions"][0]["questions/query"].decode() == 'What should I cook "before" a run?'
    (query,) = snippets(text, "sql")
    assert [row[2] for row in queried(query)][:3] == list(scenario.STATES)


def test_the_snippet_for_datasets_loads_the_very_rows(whole: Release, tmp_path: Path) -> None:
    (code,) = [one for one in snippets((whole.folder / CARD).read_text(encoding="utf-8"), "python") if "load_dataset" in one]
    show = "print([(len(one), one[0]['user_id']) for one in (episodes, questions)])"
    told = run(sys.executable, "-c", f"{code}\n{show}", folder=whole.folder, home=tmp_path / "home")
    assert told.splitlines()[-1] == str([(2, scenario.USER_ID), (4, scenario.USER_ID)])
