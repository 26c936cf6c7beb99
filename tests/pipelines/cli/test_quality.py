"""`amemgym quality` on anybody's data: the whole report, on what can be used, with judges if asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assets.amemgym.records.report import QualityReport
from assets.text.text_checks import TextInContext
from dataset_card.release_store.folder import write_release
from pipelines.cli.main import app
from pipelines.errors import user_errors
from tests.bench.published_audit import copied_values
from tests.dataset_card.reference.foreign_data import foreign_users, write_foreign_data
from tests.support import releases, scenario
from tests.support.commands import own_surroundings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("quality")
    with own_surroundings(folder / "home"):
        yield folder


def told(*words: object, status: int = 1) -> str:
    found = CliRunner().invoke(app, ["quality", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == status, found.output
    return " ".join(found.output.split())


def report_in(place: Path) -> QualityReport:
    (path,) = (place / "home" / "reports").glob("*.json")
    report = QualityReport.model_validate_json(path.read_bytes())
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert f"Quality report: {report.variant}" in page
    path.unlink()
    return report


@pytest.fixture(scope="module")
def judged(place: Path) -> tuple[str, QualityReport]:
    """What is said of two users of whom a question cannot be used, with gates and audit."""
    items = foreign_users(3)
    items[1]["qas"][2]["required_info"] = ["mood"]
    items[2]["periods"] = []
    words = ("--gates", "--audit", "--set", "language=de", "--set", "audit.pairs=2")
    output = told(write_foreign_data(place / "data.json", items), *words)
    return output, report_in(place)


def test_rates_and_rules_are_told_of_what_can_be_used(judged: tuple[str, QualityReport]) -> None:
    output, report = judged
    assert (report.users, report.counts["questions"], report.writer) == (2, 7, "")
    assert [(one.user_id, one.question_id) for one in report.left_out] == [("tourist-01", "q03"), ("tourist-02", "")]
    assert "Left out of the file, since they cannot be used: users 1, questions 1." in output
    broken = {line.rule: line.violations for line in report.rules if line.violations}
    assert (broken["no_orphans"], broken["variables_differ"]) == (3, 4)
    spelled = next(line for line in report.texts if (line.text, line.check) == ("answer", "no_copied_value"))
    assert f"of {spelled.texts} answers spell a value" in output
    assert 0.4 < spelled.rate < 0.7


def test_a_judge_that_cannot_tell_right_labels_from_wrong_ones_gives_no_verdict(judged: tuple[str, QualityReport]) -> None:
    output, report = judged
    assert "is the embedded model, which says nothing about the texts" in output
    assert "There is no verdict of judges: amemgym-embedded" in output
    assert "No judge read the labels" not in output
    assert "Perfect memory was not measured" in output
    assert (report.gates, report.ceiling, report.recovery, report.writer) == ((), None, (), "")
    assert not {line.shortcut for line in report.shortcuts} & {"options only", "question only", "profile only"}
    assert not [line for line in report.rules if line.rule.endswith(("passed_gate", "passed_gates"))]


def test_judges_who_can_judge_read_every_text(place: Path, demo_home: Path) -> None:
    (release,) = (demo_home / "releases" / "demo").glob("0*")
    output = told(release, "--gates", "--audit", "--users", "2", status=0)
    report = report_in(place)
    assert "There is no verdict" not in output
    assert {line.gate for line in report.gates} == {"schema", "summary", "event", "exposure", "recovery", "choice"}
    assert report.ceiling is not None
    assert report.writer.startswith("amemgym-embedded")
    assert {line.shortcut for line in report.shortcuts} >= {"options only", "question only", "profile only"}


def test_few_users_have_no_intervals(judged: tuple[str, QualityReport]) -> None:
    output, _ = judged
    assert output.count("There are no intervals: fewer than 6 users do not show how much users differ.") == 1


def test_language_of_a_bare_file_decides_the_checks(judged: tuple[str, QualityReport]) -> None:
    _, report = judged
    foreign = next(line for line in report.texts if (line.text, line.check) == ("query", "own_language"))
    assert foreign.faulty > foreign.texts / 2


def test_a_release_is_reported_on_by_its_own_recipe_and_no_model_is_asked(place: Path) -> None:
    release = write_release(releases.content(recipe=scenario.recipe(num_users=2, cast=True)), root=place / "releases")
    output = told(release.folder)
    report = report_in(place)
    assert "does not say" not in output
    assert "No judge read the labels for this report" in output
    assert "May be released" not in output
    assert "No judge read the labels" in next(place.rglob("*.html")).read_text(encoding="utf-8")
    assert report.users == 2
    assert report.judges == ()
    assert report.gates == ()
    assert report.left_out == ()
    # The reference's shape has no place for people and setting.
    assert [line.violations for line in report.rules if line.rule == "cast"] == [0]
    assert not [line for line in report.rules if line.rule.endswith(("passed_gate", "passed_gates"))]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["demo", "--gates"], "Options are for a data.json or a release"),
        (["demo"], "no quality report of 'demo' yet"),
        (["nowhere"], "neither a release folder nor a variant with a release"),
        (["data.json", "--set", "language=klingon"], "language cannot be set to that"),
        (["data.json", "--set", "num_userz=3"], "num_userz"),
        (["data.json", "--gates", "--offline"], "reply cache has no reply"),
        (["data.json", "--users", "9"], "has 2 users"),
    ],
)
def test_a_problem_is_one_sentence(place: Path, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "problems").mkdir(exist_ok=True)
    write_foreign_data(place / "problems" / "data.json", foreign_users(2))
    monkeypatch.chdir(place / "problems")
    with pytest.raises(user_errors(), match=sentence):
        CliRunner().invoke(app, ["quality", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("In a small backyard, plant herbs.", ["spells"]),
        ("If your backyard is small, plant herbs.", ["other form"]),
        ("Plant a few small herbs in pots behind the house, or in the backyard.", []),
    ],
)
def test_the_audit_counts_a_value_in_its_own_words_or_with_all_of_them_side_by_side(text: str, found: list[str]) -> None:
    context = TextInContext("answer", text, "en", own=("small_backyard",))
    assert [name for name, _ in copied_values(context)] == found
