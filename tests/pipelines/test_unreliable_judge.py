"""What the audit measures of a judge that is wrong now and then is what is true of it."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import compress
from statistics import mean
from typing import cast

import pytest

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS, audit_user
from assets.amemgym.events import EVENTS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.audit import DIRECTIONS, Decoy, UserAudit
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.ports import RunContext
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import GatePolicy
from assets.records.estimate import Estimate
from assets.reporting.statistic import UserShare
from pipelines.embedded.bank import model_name
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.pipelines.unreliable import Unreliable, accepted_by_votes
from tests.support.coroutines import run
from tests.support.run_contexts import DictRecordCache, materialized
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.small import small_recipe
from validation.amemgym.report.gates import GateErrors

POLICIES = {
    votes: {"votes": votes, "votes_needed": votes, "unexposed": False, "consistency": False, "texts_per_call": 1}
    for votes in (1, 2)
}
Parts = tuple[UserProfile, StateSchema, StateTrajectory, SessionSet, AnswerSet]
Reading = Callable[[float, int], list[UserAudit]]
pytestmark = pytest.mark.slow  # each rate is found by many audits
REPEATS = 16
CHOICES = 3


def recipe(*, sample: int = 0, gates: dict[str, int] | None = None, audit: dict[str, int] | None = None) -> AMemGymRecipe:
    spec = {"model": model_name()}
    return small_recipe(
        num_users=1,
        num_questions=4,
        num_choices_per_state=CHOICES,
        num_periods=4,
        min_variants_per_question=4,
        sample=sample,
        models={"writer": spec, "judge": spec, "user_simulator": spec},
        gates=gates or POLICIES[2],
        audit=audit or {"decoys": 4, "pairs": 0, "guesses": 0},
    )


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A user of the embedded model, made by judges that err as little as it does."""
    shop = RunContext(Unreliable(FaultProfile()), ParquetSnapshots(tmp_path_factory.mktemp("parts")), DictRecordCache())
    stages = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES, ANSWERS)
    made = materialized(shop, recipe(), *stages)
    found = [next(iter(shop.snapshots.read(made[one.name].ref, one.name, record=one.record).values())) for one in AUDITS.needs]
    return cast(Parts, tuple(found))


def audited(parts: Parts, rate: float, gates: dict[str, int], *, repeats: int = REPEATS) -> list[UserAudit]:
    """The same decoys, read anew again and again, each time for a user of another name."""
    model = Unreliable(FaultProfile(wrong_judgements=rate, seed=4))
    made = [run(audit_user(*parts, recipe=recipe(sample=sample, gates=gates), model=model)) for sample in range(repeats)]
    return [audit.model_copy(update={"user_id": f"u{number}"}) for number, audit in enumerate(made)]


@pytest.fixture(scope="module")
def reading(parts: Parts) -> Reading:
    """Audits by a judge of this unreliability under this policy."""

    @cache
    def read(rate: float, votes: int) -> list[UserAudit]:
        return audited(parts, rate, POLICIES[votes])

    return read


@pytest.fixture(scope="module")
def reliable(parts: Parts) -> UserAudit:
    """What a reliable judge says of the decoys, in single readings."""
    return audited(parts, 0.0, POLICIES[1], repeats=1)[0]


def accepting(decoy: Decoy, gate: str, rate: float, options: dict[str, int]) -> float:
    """How likely one reading accepts the decoy; `decoy` says whether a reliable one does.

    A wrong judgement is another legal one, each as likely: it ends any acceptance, and hits a label by chance.
    """
    if decoy.first_readings[gate]:
        return 1 - rate
    if gate != "exposure":
        # All numbers but the one meant, and 0 for none.
        return rate / (options[decoy.item_id[:3]] - (decoy.kind == "taken_out"))
    return rate / len(decoy.label) / CHOICES


def truth(reliable: UserAudit, parts: Parts, *, rate: float) -> dict[tuple[str, str], float]:
    """The error rates of readings that follow from the judge's faults, of the gates that read every decoy."""
    options = {one.question_id: len(one.choices) for one in parts[-1].questions}
    wrong: dict[tuple[str, str], list[float]] = {}
    for decoy in reliable.decoys:
        gate = decoy.gate.partition(" ")[0]
        accepts = accepting(decoy, gate, rate, options)
        error = (gate, "false_reject" if decoy.right else "false_accept")
        wrong.setdefault(error, []).append(1 - accepts if decoy.right else accepts)
    return {error: mean(chances) for error, chances in wrong.items()}


def count_errors(audits: Sequence[UserAudit]) -> GateErrors:
    errors = GateErrors()
    for audit in audits:
        errors.add(audit)
    return errors


def reading_rates(audits: Sequence[UserAudit]) -> dict[tuple[str, str], Estimate]:
    return {(line.gate, line.error): line.share for line in count_errors(audits).of_readings()}


def by_chance(audits: Sequence[UserAudit], reliable: UserAudit) -> list[UserAudit]:
    """Without the decoys that even a reliable judge gets wrong: no vote of its own mends those."""
    right = [one.accepted == one.right for one in reliable.decoys]
    return [audit.model_copy(update={"decoys": tuple(compress(audit.decoys, right))}) for audit in audits]


@pytest.mark.parametrize("rate", [0.15, 0.3])
def test_measured_error_rates_have_the_truth_in_their_intervals(
    parts: Parts, reliable: UserAudit, reading: Reading, rate: float
) -> None:
    missed: dict[tuple[str, str], str] = {}
    expected = truth(reliable, parts, rate=rate)
    assert expected.keys() == {(gate, error) for gate in ("exposure", "recovery") for error in ("false_accept", "false_reject")}
    for votes in POLICIES:
        found = reading_rates(reading(rate, votes))
        for error, chance in expected.items():
            share = found[error]
            assert share.low is not None
            assert share.high is not None
            if not share.low <= chance <= share.high:
                missed[error] = f"with {votes}: {share}, truth {chance}"
    # Of four intervals that hold 19 times in 20. All policies begin with the same first readings, and share their misses.
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("rate", [0.15, 0.3])
def test_a_wrong_item_is_accepted_as_often_as_any_of_its_texts(
    parts: Parts, reliable: UserAudit, reading: Reading, rate: float
) -> None:
    options = {one.question_id: len(one.choices) for one in parts[-1].questions}
    for votes, gates in POLICIES.items():
        refused: dict[int, float] = {}
        for decoy in reliable.decoys:
            if decoy.gate == "exposure" and not decoy.right:
                chance = accepted_by_votes(accepting(decoy, "exposure", rate, options), GatePolicy.model_validate(gates))
                refused[decoy.item] = refused.get(decoy.item, 1.0) * (1 - chance)
        found = {(line.gate, line.error): line.share for line in count_errors(reading(rate, votes)).rates() if not line.kind}
        share = found["exposure", "false_accept"]
        assert share.low is not None
        assert share.high is not None
        assert share.low - 0.05 <= 1 - mean(refused.values()) <= share.high + 0.05


@pytest.mark.parametrize("rate", [0.15, 0.3])
def test_two_votes_of_two_let_far_fewer_wrong_labels_pass_and_refuse_more_right_ones(
    reliable: UserAudit, reading: Reading, rate: float
) -> None:
    one, two = (wrong_share(by_chance(reading(rate, votes), reliable), right=False) for votes in (1, 2))
    assert one.low is not None
    assert two.high is not None
    assert two.high < one.low
    one, two = (wrong_share(by_chance(reading(rate, votes), reliable), right=True) for votes in (1, 2))
    assert one.value is not None
    assert two.value is not None
    assert two.value > one.value
    assert two.low is not None
    assert two.high is not None
    # Both votes have to accept.
    assert two.low <= 1 - (1 - rate) ** 2 <= two.high


def wrong_share(audits: Sequence[UserAudit], *, right: bool) -> Estimate:
    """The error rate of all gates together."""
    share = UserShare()
    for audit in audits:
        wrong = [decoy.accepted != right for decoy in audit.decoys if decoy.right == right]
        share.add(sum(wrong), len(wrong))
    return share.estimate()


def test_a_reliable_judge_hardly_errs(reliable: UserAudit) -> None:
    assert len(reliable.decoys) == 2 * (4 * GatePolicy().texts + 2)
    assert sum(decoy.accepted != decoy.right for decoy in reliable.decoys) <= 1


@pytest.mark.parametrize("rate", [0.0, 0.15])
def test_a_pair_is_lost_by_chance_seldom_and_found_again_when_read_again(parts: Parts, rate: float) -> None:
    policy = {"decoys": 0, "pairs": 8, "guesses": 0, "min_ceiling": 0}
    made = [
        run(
            audit_user(
                *parts,
                recipe=recipe(sample=sample, audit=policy),
                # Each time other faults: the same pair is read by the same words.
                model=Unreliable(FaultProfile(wrong_judgements=rate, seed=sample)),
            )
        )
        for sample in range(20)
    ]
    for direction in DIRECTIONS:
        share = UserShare()
        for audit in made:
            first = [one for one in audit.judgements if (one.probe, one.sample) == (direction, 0)]
            share.add(sum(one.chosen == one.expected for one in first), len(first))
        recovered = share.estimate()
        assert recovered.low is not None
        assert recovered.high is not None
        assert share.items == 160
        assert recovered.low <= 1 - rate <= recovered.high
