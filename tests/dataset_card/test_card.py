"""The card: facts that agree with the data, a header that agrees with the files, snippets that run."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.records.recipe import Models, ModelSpec
from assets.records.report import GateLine, QualityReport, RuleLine, Spread
from assets.tokens import count_tokens
from dataset_card.card import EMBEDDED_FAMILY
from dataset_card.folder import write_release
from dataset_card.manifest import Usage
from tests import scenario
from tests.dataset_card.releases import content, queried
from validation.facts import FactCounter, length_rows, parity_rows


def readme(root: Path, **changes: Any) -> str:
    return (write_release(content(**changes), root=root).folder / "README.md").read_text(encoding="utf-8")


def header(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


def one_line(text: str) -> str:
    return " ".join(text.split())


def snippets(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def report() -> QualityReport:
    return QualityReport.model_validate(
        {
            "variant": "demo",
            "users_wanted": 1,
            "counts": {"users": 1},
            "lengths": {"options": Spread(unit="options", least=2, mean=2, most=2)},
            "turns_per_user": 3.0,
            "golden_changes": 0.75,
            "replaced": {},
            "gates": [
                GateLine(
                    gate="exposure",
                    items=11,
                    readings=22,
                    passed_at_once=7,
                    passed_after_refining=3,
                    passed_after_redrafting=1,
                )
            ],
            "rules": [RuleLine(stage="episodes", rule="r", truth="Values | stay", blocking=True, users=1, violations=0)],
        }
    )


def test_facts_count_the_scenario() -> None:
    counter = FactCounter()
    counter.add(scenario.episode())
    facts = counter.facts(failures=[scenario.failure(), scenario.failure(position=2)])
    assert facts.counts == {
        "users": 1,
        "periods": 3,
        "sessions": 4,
        "questions": 2,
        "state_variables": 3,
        "state_updates": 3,
        "answer_choices": 6,
    }
    assert facts.turns_per_user == 4
    assert facts.failures == {("answers", "gate_exhausted"): 2}
    assert facts.size_category == "n<1K"
    queries = [count_tokens(session.query) for period in scenario.sessions() for session in period]
    spread = facts.lengths["query_tokens"]
    assert (spread.least, spread.most, spread.mean) == (min(queries), max(queries), round(sum(queries) / 4, 2))
    assert [row[0] for row in length_rows(facts)] == [
        "tokens of a session's query",
        "tokens of an answer",
        "options of a question",
    ]


def test_counts_stand_beside_the_paper_s() -> None:
    counter = FactCounter()
    for number in range(3):
        counter.add(scenario.episode(f"user-{number}"))
    assert parity_rows(counter.facts(failures=[])) == [
        ("users", "3", "20", "20"),
        ("periods, with the initial ones", "9", "220", "420"),
        ("sessions", "12", "943", "1,632"),
        ("questions", "6", "200", "200"),
        ("user turns per user (one per session)", "4", "47.15", "81.60"),
    ]


def test_the_card_tells_the_facts(tmp_path: Path) -> None:
    text = readme(tmp_path)
    assert "| sessions | 8 | 943 | 1,632 |" in text
    assert "| `tables/demo/states.parquet` | 18 |" in text
    assert "| answers | gate_exhausted | 1 |" in text
    assert "12 model calls with 3,456 input and 789 output tokens, at a price that is not known." in text
    assert "| `pool.paths` | personas.parquet |" in text
    assert "No quality report was attached" in text


def test_the_header_is_what_the_hub_reads(tmp_path: Path) -> None:
    found = header(readme(tmp_path))
    assert found["license"] == "cc-by-4.0"
    assert found["language"] == ["en"]
    assert found["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in found["configs"] if config.get("default")] == ["demo"]


@pytest.mark.parametrize("failures", [[scenario.failure()], []])
def test_every_data_file_of_the_header_exists_and_has_rows(tmp_path: Path, failures: list[Any]) -> None:
    release = write_release(content(failures=failures), root=tmp_path)
    rows = {file.path: file.rows for file in release.manifest.files}
    configs = header((release.folder / "README.md").read_text(encoding="utf-8"))["configs"]
    named: set[str] = set()
    for config in configs:
        (entry,) = config["data_files"]
        found = [path.relative_to(release.folder).as_posix() for path in release.folder.glob(entry["path"])]
        assert entry["split"] == "test"
        assert [bool(rows[path]) for path in found] == [True]
        named.update(found)
    assert named == {path for path, count in rows.items() if path.endswith(".parquet") and count}
    assert ("demo_failures" in {config["config_name"] for config in configs}) == bool(failures)


def test_the_card_s_snippets_run_in_the_release_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = readme(tmp_path)
    monkeypatch.chdir(tmp_path / "demo" / "0.1.0")
    seen: dict[str, Any] = {}
    for code in snippets(text, "python"):
        if "load_dataset" not in code:
            exec(code, seen)
    assert seen["state"] == scenario.STATES[0]
    assert len(seen["sessions"]) == 8
    assert [user["id"] for user in seen["users"]] == [scenario.USER_ID, "5f0c-ada-003"]
    (query,) = snippets(text, "sql")
    assert [row[2] for row in queried(query)][:3] == list(scenario.STATES)


def test_a_release_by_the_embedded_model_says_that_it_is_for_trying_the_tooling(tmp_path: Path) -> None:
    spec = ModelSpec(model=f"{EMBEDDED_FAMILY}-0123abcd")
    embedded = scenario.recipe(num_users=2, models=Models(writer=spec))
    warning = "Do not publish it"
    assert warning in one_line(readme(tmp_path / "a", recipe=embedded))
    assert warning not in one_line(readme(tmp_path / "b"))


def test_the_embedded_model_s_name_is_the_one_that_the_card_knows() -> None:
    bank = pytest.importorskip("pipelines.embedded.bank")
    assert bank.MODEL_FAMILY == EMBEDDED_FAMILY


def test_a_short_release_says_so(tmp_path: Path) -> None:
    assert "asks for 3 users, and only 2 could be finished" in one_line(readme(tmp_path, recipe=scenario.recipe(num_users=3)))
    assert "is short" not in readme(tmp_path / "whole")


def test_a_quality_report_is_shown(tmp_path: Path) -> None:
    text = readme(tmp_path, report=report())
    assert "| exposure | 11 | 22 | 7 | 3 | 1 |" in text
    assert "| Values \\| stay | yes | 0 |" in text
    assert "75.0 % of the questions" in text


def test_known_and_unrecorded_costs_are_told_apart(tmp_path: Path) -> None:
    assert "for 0.40 USD" in readme(tmp_path / "a", usage=Usage(calls=2, cost_usd=0.4))
    assert "was not recorded" in readme(tmp_path / "b", usage=None)


def test_loading_names_the_repository_where_it_is_known(tmp_path: Path) -> None:
    named, local = readme(tmp_path / "a", repository="me/my-benchmark"), readme(tmp_path / "b")
    assert 'folder = "me/my-benchmark"' in named
    assert "hf download me/my-benchmark" in named
    assert "Path.cwd()" in local


def test_the_card_names_the_paper_and_has_no_emoji_or_version(tmp_path: Path) -> None:
    text = readme(tmp_path, episodes=[scenario.episode()], recipe=scenario.recipe())
    assert "title = {{AM}emGym: Interactive Memory Benchmarking" in text
    assert not re.search("[\U0001f000-\U0001faff\u2600-\u27bf]", text)
    assert text == readme(tmp_path / "again", episodes=[scenario.episode()], recipe=scenario.recipe())
