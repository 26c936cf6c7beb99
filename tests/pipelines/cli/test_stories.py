"""Users on the command line: answers as they become right, and which user is meant."""

import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from assets.records.estimate import Estimate
from assets.reporting.verdict import verdict_on
from dataset_card.amemgym.story import print_episode
from pipelines.benchmarks import entry_of
from pipelines.cli.generate import asked_models
from pipelines.cli.main import app
from pipelines.cli.show import print_summary
from pipelines.cli.stories import choose_item
from pipelines.errors import Problem
from tests.support import scenario
from tests.support.scenario import varied
from tests.support.small import small_recipe
from tests.validation.reports import finished_user, report_of


@pytest.mark.parametrize("width", [60, 100])
def test_answers_of_a_user_stand_as_they_become_right_and_no_name_is_cut(width: int) -> None:
    episode, console = scenario.episode(), Console(width=width)
    with console.capture() as shown:
        print_episode(console, episode)

    told = shown.get()
    assert "\N{HORIZONTAL ELLIPSIS} │" not in told  # as rich ends what it cuts
    ends = re.findall(r"│ (\d[\d, ]*|never) +│", told)
    count = len(episode.questions[0].answer_choices)
    assert ends[:count] == sorted(ends[:count], key=lambda one: (one == "never", one))


def test_every_shortcut_stands_in_one_line_of_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Why one above its limit is allowed is said below the table."""
    monkeypatch.setenv("COLUMNS", "80")
    report = report_of(scenario.recipe(), finished_user(scenario.episode()))
    wide = Estimate(value=0.625, low=0.251, high=0.944)
    lines = [
        varied(line, shortcut="least common words", accuracy=wide, limit=0.3, verdict=line.verdict) for line in report.shortcuts
    ]
    report = varied(report, shortcuts=(*lines, varied(lines[0], verdict="holds")))
    print_summary(report, verdict_on(report), entry=entry_of(scenario.recipe()))
    told = capsys.readouterr().out.splitlines()
    assert told[0].split()[-1] == "verdict"
    words = {line.split("  ")[-1].strip() for line in told[2 : 2 + len(lines) + 1]}
    assert "allowed" in words
    assert words <= {"below", "unproven", "beyond", "allowed", "no limit"}
    assert "'least common words' is above its limit, but" in "\n".join(told)


def test_an_item_is_chosen_by_number_id_or_name() -> None:
    user = scenario.episode()
    for wanted in ("1", user.item_id, user.display_name.upper()):
        assert choose_item(wanted, [user], noun="user") == user
    with pytest.raises(Problem, match=f"There is no user '9'; there are 1 {user.display_name}"):
        choose_item("9", [user], noun="user")


def test_address_and_models_by_role_are_told_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_BASE_URL", "http://user:secret@models.example:8000/v1")
    told = list(asked_models(small_recipe(), embedded=None, offline=False))

    assert told == [
        "small: asks http://models.example:8000/v1.",
        "Models: writer gpt-4.1, judge gpt-4.1, user simulator gpt-4.1.",
    ]
    assert next(asked_models(small_recipe(), embedded=None, offline=True)).startswith("No model is asked")


def test_the_name_of_a_variant_in_place_of_an_item_is_answered_with_the_right_command() -> None:
    with pytest.raises(Problem, match="amemgym show 1 --variant base"):
        CliRunner().invoke(app, ["show", "base"], catch_exceptions=False)
