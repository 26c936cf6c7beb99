"""The report sees every finished user through all stages, and its checks say what blocks a release."""

from cProfile import Profile
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.amemgym.episode_parts import parts_of
from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.amemgym.records.audit import Judgement, QueryReading, UserAudit
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import RunContext, SnapshotRef
from assets.records.base import GateRecord
from assets.text.contact_data import contact_data
from assets.text.text_checks import CONTACT
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.gate_votes import failure, gate_records
from tests.support.run_contexts import materialized, run_context, sampled
from tests.support.scenario import USER_ID, varied
from tests.support.scripted_model import Script, ScriptedModel, reply
from tests.support.small import persona, small_recipe
from tests.validation.random_questions import moved, random_users
from tests.validation.reports import finished_user, report_of, shortcut_lines
from validation.amemgym.benchmark import AMEMGYM_VALIDATION, RULES
from validation.amemgym.report.recovery import RecoveryCounter
from validation.amemgym.texts import TextCounter
from validation.finished_items import FinishedItems
from validation.report.asset import report_on
from validation.report.checks import report_checks

RECIPE = small_recipe()
Refs = dict[str, dict[str, SnapshotRef]]


def passed(folder: Path, script: Script | None = None) -> tuple[RunContext, Refs]:
    shop = run_context(folder, ScriptedModel(script or {}))
    results = materialized(shop, RECIPE, *STAGES[1:])
    refs = {name: {RECIPE.variant: result.ref} for name, result in results.items()}
    return shop, {"personas": {RECIPE.variant: sampled(shop, RECIPE)}, **refs}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunContext, Refs]:
    """Two users who passed through all stages; for reading."""
    return passed(tmp_path_factory.mktemp("clean"))


async def reported(shop: RunContext, refs: Refs, folder: Path) -> tuple[QualityReport, list[str]]:
    report, left_out = await report_on(FinishedItems(shop, RECIPE, refs, AMEMGYM), AMEMGYM_VALIDATION, project=folder / "gx")
    assert isinstance(report, QualityReport)
    return report, left_out


def test_a_clean_set_is_reported_in_full(clean: tuple[RunContext, Refs], tmp_path: Path) -> None:
    shop, refs = clean
    report, problems = run(reported(shop, refs, tmp_path))
    assert (report.users, report.crossed, problems) == (2, (), [])
    assert [(line.stage, line.rule) for line in report.rules] == [(s, rule.name) for s, own in RULES.items() for rule in own]
    assert {line.users for line in report.rules} == {2}
    assert {"options only", "question only", "profile only"} <= {line.shortcut for line in report.shortcuts}
    assert [(line.direction, line.recovered.value) for line in report.recovery] == [
        ("state_from_answer", 1.0),
        ("answer_from_state", 1.0),
    ]
    assert report.ceiling is not None
    assert report.ceiling.value == 1.0
    assert QualityReport.model_validate_json(report.model_dump_json()) == report


def test_rules_and_rates_look_at_each_text_once(clean: tuple[RunContext, Refs], tmp_path: Path) -> None:
    shop, refs = clean
    with Profile(subcalls=False, builtins=False) as profile:
        report, _ = run(reported(shop, refs, tmp_path))
    (looks,) = [entry.callcount for entry in profile.getstats() if entry.code is contact_data.__code__]
    finished_texts = sum(line.texts for line in report.texts if line.check == CONTACT.name)
    assert looks == finished_texts + RECIPE.num_users * RECIPE.num_questions  # a question's draft is a text of its own


def test_a_replacement_who_joined_late_is_reported_like_any_other(tmp_path: Path) -> None:
    refusal = reply("No.", finish="refusal")
    script: Script = {"audits/profile_only": [lambda request: refusal if "Ada Number0" in str(request.messages) else {"1": 1}]}
    shop, refs = passed(tmp_path, script)
    finished = FinishedItems(shop, RECIPE, refs, AMEMGYM, items_at_once=1)
    users = [persona(number).user_id for number in (1, 2)]
    assert [failure.item_id for failure in finished.failures()] == [persona(0).user_id]
    found = [{record.item_id for record in records.values()} for records in finished.items()]
    assert found == [{user} for user in users]
    assert [list(records) for records in finished.items()] == [[stage.name for stage in STAGES]] * len(users)
    report, _ = run(report_on(finished, AMEMGYM_VALIDATION, project=tmp_path / "gx"))
    assert {line.users for line in report.rules} == {2}
    assert report.replaced == {"audits: refused": 1}


def test_a_set_without_some_stages_is_reported_as_far_as_it_goes(clean: tuple[RunContext, Refs], tmp_path: Path) -> None:
    shop, refs = clean
    report, _ = run(reported(shop, {"episodes": refs["episodes"]}, tmp_path))
    assert report.users == 2
    assert report.gates == ()
    assert report.recovery == ()
    assert report.ceiling is None
    assert {line.stage for line in report.rules} == {"episodes"}


def judged(expected: str, chosen: str | None, *, period: int = 0, sample: int = 0) -> Judgement:
    return Judgement(
        probe="answer_from_state", question_id="q01", period=period, expected=expected, chosen=chosen, sample=sample
    )


def counted(audit: UserAudit) -> RecoveryCounter:
    counter = RecoveryCounter()
    counter.add(audit, scenario.episode())
    return counter


def test_the_ceiling_counts_the_first_reading_of_every_question_drawn() -> None:
    audit = UserAudit(
        user_id=USER_ID,
        judgements=(
            judged("q01-c1", None),
            judged("q01-c1", "q01-c1", sample=1),
            judged("q01-c2", "q01-c2", period=1),
            judged("q01-c2", "q01-c2", period=2),
        ),
    )
    counter = counted(audit)
    found, sample = counter.ceiling([]), counter.ceiling_sample(scenario.recipe(), [])
    assert found is not None
    assert found.value == pytest.approx(2 / 3, abs=1e-6)
    assert sample is not None
    assert (sample.questions, sample.readings, sample.users) == (3, 3, 1)


def test_the_ceiling_counts_users_whom_the_audit_lost_and_says_what_stays_without_them() -> None:
    audit = UserAudit(user_id=USER_ID, judgements=(judged("q01-c1", "q01-c1"), judged("q01-c1", "q01-c1", period=1)))
    lost = failure(stage="audits", reason="ambiguous", gate_records=(read("q01-t00"), read("q02-t01", accepted=True)))
    counter = counted(audit)
    drawn, sample = counter.ceiling([lost]), counter.ceiling_sample(scenario.recipe(), [lost])
    assert drawn is not None
    assert drawn.value == 0.75
    assert sample is not None
    assert sample.released.value == 1.0
    assert sample.questions == 4
    assert sample.readings == 3
    assert sample.users == 2


def read(item: str, *, accepted: bool = False) -> GateRecord:
    return gate_records()[0].model_copy(update={"gate": "answer_from_state", "item_id": item, "accepted": accepted})


@pytest.mark.parametrize(
    ("models", "auditor", "by", "sentence"),
    [
        ({"writer": "m", "judge": "m"}, None, "author", "The author judged itself"),
        ({"writer": "m", "judge": "n"}, None, "judge", "a judge of the gates"),
        ({"writer": "m", "judge": "n"}, "o", "other", "neither wrote nor judged"),
        ({"writer": "m", "judge": "n"}, "m", "author", "The author judged itself"),
    ],
)
def test_the_ceiling_says_who_read_for_it(models: dict[str, str], auditor: str | None, by: str, sentence: str) -> None:
    specs = {role: {"model": name} for role, name in models.items()}
    recipe = scenario.recipe(models=specs, audit={"model": auditor})
    counter = counted(UserAudit(user_id=USER_ID, judgements=(judged("q01-c1", "q01-c1"),)))
    sample = counter.ceiling_sample(recipe, [])
    assert sample is not None
    assert sample.by == by
    assert sentence in sample.reader
    report = report_of(recipe, finished_user(scenario.episode()))
    assert ("the author judged itself" in report.judged_itself) == (models["writer"] == models["judge"])


def test_the_leaks_of_first_drafts_and_of_finished_queries_are_reported() -> None:
    votes = [
        gate_records()[1].model_copy(update={"item_id": item, "refinement": 0, "reading": {**reading, "evenings": "Tue"}})
        for item, reading in (("s00-01", {}), ("s01-01", {}))
    ]
    clean = gate_records()[1].model_copy(update={"item_id": "s02-01", "refinement": 0})
    queries = (
        QueryReading(item_id="s00-01", recovered=True, leaked={"evenings": "Tue"}),
        *(QueryReading(item_id=f"s0{number}-01", recovered=number > 1, leaked={}) for number in (1, 2, 3)),
    )
    audit = UserAudit(user_id=USER_ID, queries=queries)
    leaks = report_of(scenario.recipe(), finished_user(scenario.episode(), votes=(*votes, clean), audit=audit)).leaks
    assert leaks is not None
    assert leaks.drafts.value == 0.666667
    assert leaks.accepted.value == 0.25
    assert leaks.missed.value == 0.25
    assert leaks.queries == 4


def test_the_items_that_judges_missed_are_shown_with_their_text() -> None:
    audit = UserAudit(user_id=USER_ID, judgements=(judged("q01-c1", "q01-c1"), judged("q01-c3", None)))
    (line,) = counted(audit).lines()
    (item,) = line.worst
    assert (item.query, item.share, line.cannot_tell) == ('What should I cook "before" a run?', 0.5, 0.5)
    assert item.text.startswith("Lentils and rice")


def test_a_set_that_nobody_audited_has_no_ceiling() -> None:
    assert report_of(scenario.recipe(), finished_user(scenario.episode())).ceiling is None


def test_figures_stand_beside_the_papers() -> None:
    report = report_of(scenario.recipe(), finished_user(scenario.episode()))
    lines = {line.what: line for line in report.parity}
    assert (lines["sessions"].here, lines["sessions"].base, lines["sessions"].extra) == ("4", "943", "1,632")
    assert (lines["ages"].here, lines["ages"].base) == ("41", "18 to 85")


def test_states_that_move_are_described() -> None:
    movement = report_of(scenario.recipe(), finished_user(scenario.episode())).movement
    assert movement is not None
    assert movement.choice_shares[0] == (1.0,)
    assert movement.choice_shares[2] == (0.0, 1.0)


def results(report: QualityReport) -> dict[str, dg.AssetCheckResult]:
    check: Any = report_checks(AMEMGYM_VALIDATION)[0]
    found: Any = check(report)
    return {str(one.check_name): one for one in found}


def test_every_check_of_a_good_report_passes() -> None:
    report = report_of(scenario.recipe(), finished_user(scenario.episode()))
    assert {name: one.passed for name, one in results(report).items()} == dict.fromkeys(
        ("all_users_finished", "rules_hold", "shortcuts_hold"), True
    )


def test_a_shortcut_beyond_its_limit_blocks_the_release_and_the_worst_items_are_named() -> None:
    episodes = random_users(20, change=moved)
    report = report_of(scenario.recipe(), finished_user(scenario.episode()))
    crossed = varied(report, shortcuts=shortcut_lines(episodes, recipe=scenario.recipe(num_periods=10)))
    check = results(crossed)["shortcuts_hold"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "'place 2'" in str(check.description)
    assert "How early should I go?" in str(check.description)
    assert "How early should I go?" in str(check.metadata["worst"].value)


def test_a_missing_user_blocks_the_release() -> None:
    report = report_of(scenario.recipe(num_users=2), finished_user(scenario.episode()))
    assert not results(report)["all_users_finished"].passed


def test_any_set_of_episodes_has_rates_of_faulty_texts() -> None:
    spelled = scenario.varied(scenario.answers()[0].choices[0], answer="Eat what you like; eats-everything people run best.")
    first = scenario.episode().questions[0]
    question = scenario.varied(first, answer_choices=(spelled, *first.answer_choices[1:]))
    episode = scenario.episode(questions=(question, scenario.episode().questions[1]))
    counter = TextCounter(scenario.recipe())
    counter.add(parts_of(episode))
    lines = {(line.text, line.check): line for line in counter.lines()}
    line = lines["answer", "no_copied_value"]
    assert line.faulty == 1
    assert line.texts == 6
    assert line.users == 1
    assert line.rate == 1 / 6
    assert "spells the values ['eats everything']" in line.examples[0]
    assert lines["query", "no_copied_value"].faulty == 0
