"""Errata change exactly what they name, in every form of the next release, and are told there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.amemgym.records.episode import Episode
from assets.records.erratum import Erratum
from dataset_card.amemgym.errata import Corrector
from dataset_card.amemgym.reference.data_json import read_data_json
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.errata_files import ERRATA, read_errata
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.verify import verify_release
from dataset_card.release_store.folder import Release, write_release
from tests.support.releases import all_bytes, content, queried
from tests.support.scenario import DIET, EVENINGS, GOAL, USER_ID, episode

ADA = "5f0c-ada-003"


def erratum(**changes: Any) -> Erratum:
    """The first question of Zoë is left out."""
    fields = {"user_id": USER_ID, "question_id": "q01", "action": "exclude", "reason": "No option | fits."}
    return Erratum.model_validate({**fields, **changes})


def write_errata(path: Path, *errata: Erratum) -> None:
    lines = [erratum.model_dump(mode="json", exclude_defaults=True) for erratum in errata]
    path.write_text(yaml.safe_dump(lines, allow_unicode=True), encoding="utf-8")


def corrected(*errata: Erratum) -> list[Episode]:
    return list(Corrector(errata).correct_episodes([episode(), episode(ADA)]))


def released(root: Path, *errata: Erratum, version: str = "auto") -> Release:
    """The next release of the demo with these errata beside its versions."""
    home = root / "demo"
    home.mkdir(exist_ok=True)
    write_errata(home / ERRATA, *errata)
    return write_release(content(), root=root, version=version)


def test_a_question_left_out_takes_along_what_served_no_other() -> None:
    first, second = corrected(erratum())
    assert [question.question_id for question in first.questions] == ["q02"]
    assert list(first.state_schema.choices) == [DIET, EVENINGS]
    assert all(GOAL not in period.state for period in first.periods)
    assert [dict(session.exposed_states) for session in first.periods[1].sessions] == [{DIET: "vegetarian"}]
    assert second == episode(ADA)


def test_a_session_that_told_nothing_else_goes_too() -> None:
    (first, _) = corrected(erratum(question_id="q02"))
    assert [len(period.sessions) for period in first.periods] == [1, 1, 0]


def test_the_last_question_left_out_leaves_no_user() -> None:
    assert [one.user_id for one in corrected(erratum(), erratum(question_id="q02"))] == [ADA]
    assert [one.user_id for one in corrected(erratum(question_id=None))] == [ADA]


@pytest.mark.parametrize("change", [{"was": "Other words?"}, {"question_id": "q07"}, {"user_id": "nobody"}])
def test_an_erratum_about_what_is_here_no_more_is_outdated_and_changes_nothing(change: dict[str, Any]) -> None:
    corrector = Corrector([erratum(**change)])
    assert list(corrector.correct_episodes([episode()])) == [episode()]
    assert [one.outcome for one in corrector.outcomes()] == ["outdated"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"choice_id": "q01-c1"}, "Only a question or a whole user"),
        ({"question_id": None, "period": 1, "session": 0}, "Only a question or a whole user"),
        ({"session": 0}, "period and session together"),
    ],
)
def test_an_erratum_that_cannot_be_carried_out_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        erratum(**changes)


def test_the_next_release_applies_lists_and_proves_its_errata(tmp_path: Path) -> None:
    before = write_release(content(), root=tmp_path)
    after = released(tmp_path, erratum(), erratum(user_id=ADA, action="note", reason="Odd wording."))
    card = (after.folder / "README.md").read_text(encoding="utf-8")
    rows = f"SELECT question_id FROM read_parquet('{after.folder}/tables/demo/questions.parquet') WHERE user_id = '{USER_ID}'"
    data = next(one for one in read_data_json(after.folder / "demo/data.json") if one.user_id == USER_ID)

    assert (before.version, after.version) == ("0.1.0", "1.0.0")
    assert verify_release(after.folder) == []
    assert queried(rows) == [("q02",)]
    assert len(data.questions) == 1
    assert "| question q01 | `5f0c-zoë-001` | No option \\| fits. | left out |" in card
    assert "| question q01 | `5f0c-ada-003` | Odd wording. | told only |" in card
    assert "errata.json" in {file.path for file in after.manifest.files}


def test_the_diff_tells_errata_and_what_they_took(tmp_path: Path) -> None:
    before, after = write_release(content(), root=tmp_path), released(tmp_path, erratum())
    found = compare_releases(read_compared(before.folder), read_compared(after.folder), form=AMEMGYM_RELEASE)
    assert {one.name: one.after for one in found.settings} == {
        f"erratum question q01 of {USER_ID}": "applied (exclude): No option | fits."
    }
    assert {one.table: one.removed for one in found.tables if one.removed}["questions"] == 1


def test_the_same_errata_give_the_same_bytes_and_the_release_stays_as_it_is(tmp_path: Path) -> None:
    first, again = released(tmp_path, erratum()), write_release(content(), root=tmp_path)
    (tmp_path / "there").mkdir()
    elsewhere = released(tmp_path / "there", erratum())
    assert (again.created, again.version) == (False, first.version)
    assert all_bytes(first.folder) == all_bytes(elsewhere.folder)


@pytest.mark.parametrize(
    "text", ["- user_id: [", "- {user_id: u, action: drop, reason: r}", "- just words", "[" * 5000, "- 2020-13-01"]
)
def test_a_bad_errata_file_stops_the_release_with_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / ERRATA).write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"errata\.yaml (is wrong at erratum 1|cannot be read)"):
        write_release(content(), root=tmp_path)


def test_a_file_of_errata_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / ERRATA
    written = (erratum(), erratum(question_id=None, reason="Zoë: {odd}"))
    write_errata(path, *written)
    assert read_errata(path) == written
    assert read_errata(tmp_path / "none.yaml") == ()
