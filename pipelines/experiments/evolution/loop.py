"""Algorithm 1 (App. E): run a cycle, score it, improve the policy, run the next cycle; all conditions at once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import RequestFailed
from assets.llm.structured_output import ReplySchema, ask_structured, object_of_enums
from assets.records.base import ItemFailed
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.interview import unasked_rows
from pipelines.evaluation.amemgym.subjects import Subject
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.amemgym.user_run import UserRun
from pipelines.evaluation.reasoning import end_tasks, gather_all
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, AnswersStep, DialogueTurn
from pipelines.evaluation.run import ENDS_ITEM, PAID_CALLS_SECONDS, Run
from pipelines.evaluation.spending import StepUsage
from pipelines.experiments.evolution.feedback import UserFeedback, exposed_values, feedback_of, sample_answers
from pipelines.experiments.evolution.improvement import Improver, PolicyUpdate, improve_policy, with_writer
from pipelines.experiments.evolution.plan import taught_questions, taught_variables
from pipelines.experiments.evolution.records import (
    EVERYBODY,
    Condition,
    EvolutionManifest,
    Improved,
    PolicyStep,
    Recalled,
    RecalledFact,
    Verdict,
)
from prompts.catalogue import load_prompt


async def check_recall(user: UserRun, subject: Subject, *, period: int, cycle: "Cycle") -> Recalled:
    """Every value that the period's sessions exposed, with a verdict; the memory is what it gives back for all of them."""
    episode = user.episode
    exposed = exposed_values(episode, [period], variables=frozenset(episode.state_schema.choices))
    query = "; ".join(name.replace("_", " ") for name in exposed)
    try:
        memory = await subject.recall(query, tokens=user.run.manifest.tokens)
        verdicts = await _verdicts(user, memory, exposed)
    except RequestFailed:  # of an embedding
        verdicts = {}
    facts = [
        RecalledFact(
            arm=cycle.arm.name,
            cycle=cycle.number,
            user_id=episode.user_id,
            period=period,
            variable=name,
            value=value,
            supported=verdicts.get(name, "unscored"),
        )
        for name, value in exposed.items()
    ]
    return Recalled(facts=tuple(facts))


async def _verdicts(user: UserRun, memory: Sequence[str], exposed: Mapping[str, str]) -> dict[str, Verdict]:
    """The judge's verdicts by variable, none where it could not be understood. An empty memory needs no judge."""
    if not memory or not exposed:
        return dict.fromkeys(exposed, "no")
    claims = {str(number): f"{name}: {value}" for number, (name, value) in enumerate(exposed.items(), start=1)}
    prompt = load_prompt("evaluation/check_memory").render(memory="\n".join(memory), claims=claims)
    reply_schema: ReplySchema[dict[str, Verdict]] = ReplySchema(object_of_enums(dict.fromkeys(claims, ("yes", "no"))))
    model = user.run.model("recall", item_id=user.episode.user_id)
    try:
        answers = await ask_structured(
            model, prompt=prompt, reply=reply_schema, convert=lambda reply: reply, recipe=user.run.recipe
        )
    except ItemFailed:
        return {}
    return {name: answers[number] for number, name in zip(claims, exposed, strict=True)}


@dataclass(frozen=True)
class Evolution:
    """An evolution at work: its run, whose folder stores every finished step."""

    manifest: EvolutionManifest
    run: Run
    tasks: AMemGymTasks

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Slots for users whose cycles go on at the same time."""
        return asyncio.Semaphore(self.run.items_at_once)


@dataclass(frozen=True)
class Cycle:
    """A cycle of a condition. `number` counts from 0."""

    work: Evolution
    arm: Condition
    number: int

    def key(self, *parts: object) -> str:
        """The name of a step in it."""
        return "/".join(map(str, (self.arm.name, self.number, *parts)))

    def periods(self, episode: Episode) -> Sequence[int]:
        """The periods of the episode that belong to it: one, or all."""
        every = range(len(episode.periods))
        return [period for period in every if period == self.number] if self.work.manifest.cycle == "period" else every


@dataclass
class UserCycle:
    """What one user's cycle came to. `failed`: why the user was given up."""

    failed: Exception | None = None
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    facts: list[RecalledFact] = field(default_factory=list[RecalledFact])
    usage: StepUsage = field(default_factory=StepUsage)


async def run_cycle(cycle: Cycle, user: UserRun, *, before: Sequence[UserCycle]) -> UserCycle:
    """Run one user's periods of the cycle, as an evaluation does, and check beside it what the memory holds.

    A user whose memory fails, or whose dialogue the endpoint does not serve, is given up for as long as the memory would have
    gone on: the answers from then on are unscored.
    """
    goes_on = bool(before) and cycle.work.manifest.cycle == "period"
    done, asked = UserCycle(before[-1].failed if goes_on else None), list[asyncio.Task[AnswersStep] | asyncio.Task[Recalled]]()
    try:
        await _run_periods(cycle, user, done, asked)
    finally:
        await end_tasks(asked)
    if done.failed is not None:
        unasked = unasked_rows(user.episode, done.answers, manifest=user.run.manifest, reason=f"{CALL_FAILED}: {done.failed}")
        done.answers += [row for row in unasked if row.period in cycle.periods(user.episode)]
    return done


async def _run_periods(
    cycle: Cycle, user: UserRun, done: UserCycle, asked: list[asyncio.Task[AnswersStep] | asyncio.Task[Recalled]]
) -> None:
    """Live and ask, into `done`; what was begun to be asked is in `asked`."""
    async with cycle.work.slots:
        for period in cycle.periods(user.episode):
            if done.failed is not None:
                break
            try:
                step = await user.live(period)
                asked.append(await user.begin_interview(period))
                check = partial(check_recall, user, period=period, cycle=cycle)
                asked.append(await user.begin(f"{period}/recalled", Recalled, check))
            except ENDS_ITEM as failed:
                done.failed = failed
                break
            done.turns += step.turns
            done.usage += step.usage
        for part in await gather_all(asked):
            done.usage += part.usage
            if isinstance(part, AnswersStep):
                done.answers += part.answers
            else:
                done.facts += part.facts


def diagnose_cycles(manifest: EvolutionManifest, episode: Episode, cycles: Sequence[UserCycle]) -> None:
    """Say of every wrong answer where it was lost; with periods as cycles a value may have been updated in an earlier one."""
    if manifest.cycle == "episode":
        for cycle in cycles:
            cycle.answers = diagnose(episode, cycle.answers)
        return
    answers = diagnose(episode, [answer for cycle in cycles for answer in cycle.answers])
    for period, cycle in enumerate(cycles):
        cycle.answers = [answer for answer in answers if answer.period == period]


@dataclass
class ConditionRun:
    """All that one condition came to: each user's cycles in order, the policies' steps, and what learning took."""

    arm: Condition
    cycles: dict[str, list[UserCycle]] = field(default_factory=dict[str, list[UserCycle]])
    steps: list[PolicyStep] = field(default_factory=list[PolicyStep])
    usage: StepUsage = field(default_factory=StepUsage)


@dataclass(frozen=True)
class EvolutionRun:
    """All conditions, the baselines' answers, which no policy changes, and what everything took."""

    arms: list[ConditionRun]
    baselines: list[AnswerRow]
    usage: StepUsage


async def evolve(work: Evolution) -> EvolutionRun:
    """Do what is left to do. The first error ends it; finished steps stay."""
    baselines = asyncio.ensure_future(_baselines(work))
    conditions = asyncio.ensure_future(gather_all(_run_condition(work, arm) for arm in work.manifest.arms))
    try:
        # Whichever fails first ends both.
        asked, arms = await asyncio.gather(baselines, conditions)
    finally:
        baselines.cancel()
        conditions.cancel()
        await asyncio.gather(baselines, conditions, return_exceptions=True)
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
    usage = sum((part.usage for part in (*asked, *arms)), StepUsage())
    return EvolutionRun(arms, [answer for step in asked for answer in step.answers], usage)


async def _baselines(work: Evolution) -> list[AnswersStep]:
    users = [work.tasks.user_run(work.run, episode, episode.user_id) for episode in work.tasks.dataset.episodes]
    return await gather_all(user.baselines() for user in users)


async def _run_condition(work: Evolution, arm: Condition) -> ConditionRun:
    """One condition: a policy for each user in the paper's protocol, else one for all."""
    episodes, condition = work.tasks.dataset.episodes, ConditionRun(arm)
    apart = {episode.user_id: (episode,) for episode in episodes}
    groups: Mapping[str, Sequence[Episode]] = apart if arm.protocol == "paper" else {EVERYBODY: episodes}
    for group in await gather_all(
        _evolve_policy(work, arm, learner=learner, members=members) for learner, members in groups.items()
    ):
        condition.cycles |= group.cycles
        condition.steps += group.steps
        condition.usage += group.usage
    for episode in episodes:
        cycles = condition.cycles[episode.user_id]
        condition.usage = sum((cycle.usage for cycle in cycles), condition.usage)
        diagnose_cycles(work.manifest, episode, cycles)
    return condition


async def _evolve_policy(work: Evolution, arm: Condition, *, learner: str, members: Sequence[Episode]) -> ConditionRun:
    """The users who share a policy, cycle by cycle."""
    group, policy = ConditionRun(arm, {episode.user_id: [] for episode in members}), work.manifest.initial_policy
    users = list[UserRun]()
    for number in range(work.manifest.cycles):
        cycle = Cycle(work, arm, number)
        # The memory goes on where cycles are periods; an episode begins without.
        if work.manifest.cycle == "episode" or not users:
            users = [work.tasks.user_run(work.run, episode, "") for episode in members]
        for user in users:
            user.key, user.policy = cycle.key(user.episode.user_id), policy
        outcomes = await gather_all(run_cycle(cycle, user, before=group.cycles[user.episode.user_id]) for user in users)
        for episode, outcome in zip(members, outcomes, strict=True):
            group.cycles[episode.user_id].append(outcome)
        if arm.feedback != "none" and number + 1 < work.manifest.cycles:
            update = PolicyUpdate(arm.name, learner, number, policy)
            improve = partial(_improve, cycle, update, members=members, outcomes=outcomes)
            improved = await work.run.step(cycle.key(learner, "policy"), Improved, improve)
            group.steps.append(improved.step)
            group.usage += improved.usage
            policy = improved.step.after
    return group


async def _improve(
    cycle: Cycle, update: PolicyUpdate, *, members: Sequence[Episode], outcomes: Sequence[UserCycle]
) -> Improved:
    """Make the policy of the next cycle from what this one brought."""
    work, manifest = cycle.work, cycle.work.manifest
    feedbacks = [
        _user_feedback(cycle, episode, outcome.answers)
        for episode, outcome in zip(members, outcomes, strict=True)
        if outcome.failed is None
    ]
    rng = SeededRandom(manifest.run.seed, "feedback", update.learner, cycle.number)
    sampled = sample_answers(feedbacks, most=manifest.feedback_questions, rng=rng)
    improved = await improve_policy(
        update,
        feedback_of(sampled, cycle.arm.feedback, manifest=manifest.run),
        improver=Improver(
            work.run.model("improvement", item_id=update.learner),
            with_writer(work.run.recipe, manifest.improver),
            manifest.most_characters,
        ),
    )
    return Improved(step=improved)


def _user_feedback(cycle: Cycle, episode: Episode, answers: Sequence[AnswerRow]) -> UserFeedback:
    manifest, protocol = cycle.work.manifest, cycle.arm.protocol
    taught = taught_questions(manifest, episode, protocol=protocol)
    variables = frozenset(episode.state_schema.choices) if protocol == "paper" else taught_variables(episode, taught)
    asked = tuple(answer for answer in answers if answer.kind == "question" and answer.item in taught)
    return UserFeedback(episode, asked, exposed_values(episode, cycle.periods(episode), variables=variables))
