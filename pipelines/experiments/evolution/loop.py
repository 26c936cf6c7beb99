"""Algorithm 1 (App. E): run a cycle, score it, improve the policy, run the next cycle; all conditions at once."""

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Self

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import PAID_CALLS_SECONDS, wait_for_shielded_calls
from assets.llm.ports import RequestFailed
from assets.llm.structured_output import ReplySchema, ask_structured, object_of_enums
from assets.records.base import ItemFailed
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.sample import places_asked
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.reasoning import end_tasks, gather_or_cancel
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, AnswersStep, DialogueTurn
from pipelines.evaluation.run import Run
from pipelines.evaluation.spending import StepUsage
from pipelines.evaluation.timeline.play import ENDS_ITEM, Play
from pipelines.evaluation.timeline.steps import Ask, Converse, Life
from pipelines.evaluation.timeline.subjects import Subject
from pipelines.experiments.evolution.improvement import (
    Improver,
    UserFeedback,
    changed_lines,
    exposed_values,
    feedback_of,
    improve_section,
    sample_answers,
    with_writer,
)
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


@dataclass
class UserPlay:
    """One user at work, whose memory goes on from cycle to cycle, or begins anew."""

    episode: Episode
    play: Play

    @classmethod
    def of(cls, work: "Evolution", episode: Episode, *, key: str = "") -> Self:
        """Return the user before the first session. `key` begins the names of its steps."""
        manifest = work.run.manifest
        places = places_asked(work.tasks.dataset.episodes, None, seed=manifest.seed)
        return cls(episode, Play(work.run, work.tasks.timeline(episode, manifest, places), Life(manifest.tokens), key))

    @cached_property
    def sessions(self) -> list[Converse]:
        """The sessions of each period."""
        return [step for step in self.play.timeline.steps if isinstance(step, Converse)]

    @cached_property
    def questions(self) -> list[Ask]:
        """The questions after each period, behind those that need no memory."""
        return [step for step in self.play.timeline.steps if isinstance(step, Ask) and step.needs_memory]

    async def ask_baselines(self) -> AnswersStep:
        """Ask what no policy changes; nothing where the run has no baselines."""
        for step in self.play.timeline.steps:
            if isinstance(step, Ask) and not step.needs_memory:
                return await (await self.play.begin_ask(step))
        return AnswersStep()


async def check_recall(user: UserPlay, subject: Subject, *, period: int, cycle: "Cycle") -> Recalled:
    """Judge every value that the period's sessions exposed by what the memory gives back for all of them."""
    episode = user.episode
    exposed = exposed_values(episode, period, variables=frozenset(episode.state_schema.choices))
    query = "; ".join(name.replace("_", " ") for name in exposed)
    try:
        memory = await subject.recall(query, tokens=user.play.context.manifest.tokens)
        verdicts = await _verdicts(user, memory, exposed)
    except RequestFailed:  # of an embedding
        verdicts = {}
    facts: list[RecalledFact] = []
    for name, value in exposed.items():
        fact = RecalledFact(
            arm=cycle.arm.name,
            cycle=cycle.number,
            user_id=episode.user_id,
            period=period,
            variable=name,
            value=value,
            supported=verdicts.get(name, "unscored"),
        )
        facts.append(fact)
    return Recalled(facts=tuple(facts))


async def _verdicts(user: UserPlay, memory: Sequence[str], exposed: Mapping[str, str]) -> dict[str, Verdict]:
    """The judge's verdicts by variable, none where it could not be understood. An empty memory needs no judge."""
    if not memory or not exposed:
        return dict.fromkeys(exposed, "no")
    names = {str(number): name for number, name in enumerate(exposed, start=1)}
    claims = {number: f"{name}: {exposed[name]}" for number, name in names.items()}
    prompt = load_prompt("evaluation/check_memory").render(memory="\n".join(memory), claims=claims)
    reply_schema: ReplySchema[dict[str, Verdict]] = ReplySchema(object_of_enums(dict.fromkeys(claims, ("yes", "no"))))
    model = user.play.context.model("recall", item_id=user.episode.user_id)
    try:
        answers = await ask_structured(
            model, prompt=prompt, reply=reply_schema, convert=lambda reply: reply, settings=user.play.context.asking
        )
    except ItemFailed:
        return {}
    return {name: answers[number] for number, name in names.items()}


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
    """A cycle of a condition: the period of this number, from 0, of each user whose life is so long."""

    work: Evolution
    arm: Condition
    number: int

    def key(self, *parts: object) -> str:
        """Return the name of a step in it."""
        return "/".join(map(str, (self.arm.name, self.number, *parts)))


@dataclass
class UserCycle:
    """The outcome of one user's cycle. `failed`: why the user was given up."""

    episode: Episode
    failed: Exception | None = None
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    facts: list[RecalledFact] = field(default_factory=list[RecalledFact])
    usage: StepUsage = field(default_factory=StepUsage)


AskedStep = asyncio.Task[AnswersStep] | asyncio.Task[Recalled]


async def run_cycle(cycle: Cycle, user: UserPlay, *, before: Sequence[UserCycle]) -> UserCycle:
    """Run one user's period, as an evaluation does, and check beside it what the memory holds.

    A user whose memory fails, or whose dialogue the endpoint does not serve, is given up: later answers are unscored.
    """
    done = UserCycle(user.episode, before[-1].failed if before else None)
    asked: list[AskedStep] = []
    try:
        if cycle.number < len(user.episode.periods):
            await _run_period(cycle, user, done, asked)
    finally:
        await end_tasks(asked)
    if done.failed is not None:
        unasked = user.play.timeline.unasked_rows(done.answers, reason=f"{CALL_FAILED}: {done.failed}")
        done.answers += [row for row in unasked if row.period == cycle.number]
    return done


async def _run_period(cycle: Cycle, user: UserPlay, done: UserCycle, asked: list[AskedStep]) -> None:
    """Live and ask, into `done`; what was begun to be asked is in `asked`."""
    period = cycle.number
    async with cycle.work.slots:
        if done.failed is None:
            try:
                step = await user.play.converse(user.sessions[period])
                asked.append(await user.play.begin_ask(user.questions[period]))
                check = partial(check_recall, user, period=period, cycle=cycle)
                asked.append(await user.play.begin(f"{period}/recalled", Recalled, check))
                done.turns += step.turns
                done.usage += step.usage
            except ENDS_ITEM as failed:
                done.failed = failed
        for part in await gather_or_cancel(asked):
            done.usage += part.usage
            if isinstance(part, AnswersStep):
                done.answers += part.answers
            else:
                done.facts += part.facts


def diagnose_cycles(episode: Episode, cycles: Sequence[UserCycle]) -> None:
    """Say of every wrong answer where it was lost; a value may have been updated in an earlier cycle."""
    every: list[AnswerRow] = []
    for cycle in cycles:
        every.extend(cycle.answers)
    answers = diagnose(episode, every)
    for period, cycle in enumerate(cycles):
        cycle.answers = [answer for answer in answers if answer.period == period]


@dataclass
class ConditionRun:
    """All that one condition came to: each user's cycles in order, the policies' steps, and what learning took."""

    arm: Condition
    cycles: dict[str, list[UserCycle]] = field(default_factory=dict[str, list[UserCycle]])
    steps: list[PolicyStep] = field(default_factory=list[PolicyStep])
    usage: StepUsage = field(default_factory=StepUsage)


@dataclass
class EvolutionRun:
    """All conditions, the baselines' answers, which no policy changes, and what everything took."""

    arms: list[ConditionRun]
    baselines: list[AnswerRow] = field(default_factory=list[AnswerRow])
    usage: StepUsage = field(default_factory=StepUsage)


async def evolve_policies(work: Evolution) -> EvolutionRun:
    """Do what is left to do. The first error ends it; finished steps stay."""
    baselines = asyncio.ensure_future(_baselines(work))
    conditions = asyncio.ensure_future(gather_or_cancel(map(partial(_run_condition, work), work.manifest.arms)))
    try:
        # Whichever fails first ends both.
        asked, arms = await asyncio.gather(baselines, conditions)
    finally:
        baselines.cancel()
        conditions.cancel()
        await asyncio.gather(baselines, conditions, return_exceptions=True)
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
    done = EvolutionRun(arms)
    for step in asked:
        done.baselines.extend(step.answers)
        done.usage += step.usage
    for arm in arms:
        done.usage += arm.usage
    return done


async def _baselines(work: Evolution) -> list[AnswersStep]:
    asked: list[Awaitable[AnswersStep]] = []
    for episode in work.tasks.dataset.episodes:
        asked.append(UserPlay.of(work, episode, key=episode.user_id).ask_baselines())
    return await gather_or_cancel(asked)


async def _run_condition(work: Evolution, arm: Condition) -> ConditionRun:
    """Run one condition: a policy for each user in the paper's protocol, else one for all."""
    episodes = work.tasks.dataset.episodes
    condition = ConditionRun(arm)
    policies: list[Awaitable[ConditionRun]] = []
    if arm.protocol == "paper":
        for episode in episodes:
            policies.append(_evolve_policy(work, arm, learner=episode.user_id, members=[episode]))
    else:
        policies.append(_evolve_policy(work, arm, learner=EVERYBODY, members=episodes))
    for group in await gather_or_cancel(policies):
        condition.cycles |= group.cycles
        condition.steps += group.steps
        condition.usage += group.usage
    for episode in episodes:
        cycles = condition.cycles[episode.user_id]
        for cycle in cycles:
            condition.usage += cycle.usage
        diagnose_cycles(episode, cycles)
    return condition


async def _evolve_policy(work: Evolution, arm: Condition, *, learner: str, members: Sequence[Episode]) -> ConditionRun:
    """Run the users who share a policy, cycle by cycle."""
    group = ConditionRun(arm)
    for episode in members:
        group.cycles[episode.user_id] = []
    policy = work.manifest.initial_policy
    users = [UserPlay.of(work, episode) for episode in members]
    async with AsyncExitStack() as started:
        for user in users:
            started.push_async_callback(user.play.close)
        for number in range(work.manifest.cycles):
            cycle = Cycle(work, arm, number)
            running: list[Awaitable[UserCycle]] = []
            for user in users:
                user.play.key = cycle.key(user.episode.user_id)
                user.play.policy = policy
                running.append(run_cycle(cycle, user, before=group.cycles[user.episode.user_id]))
            outcomes = await gather_or_cancel(running)
            for outcome in outcomes:
                group.cycles[outcome.episode.user_id].append(outcome)
            if arm.feedback != "none" and number + 1 < work.manifest.cycles:
                improve = partial(_improve, cycle, policy, learner=learner, outcomes=outcomes)
                improved = await work.run.step(cycle.key(learner, "policy"), Improved, improve)
                group.steps.append(improved.step)
                group.usage += improved.usage
                policy = improved.step.after
    return group


async def _improve(cycle: Cycle, policy: str, *, learner: str, outcomes: Sequence[UserCycle]) -> Improved:
    """Make the policy of the next cycle from what this one brought."""
    work = cycle.work
    manifest = work.manifest
    feedbacks = [_user_feedback(cycle, outcome) for outcome in outcomes if outcome.failed is None]
    rng = SeededRandom(manifest.run.seed, "feedback", learner, cycle.number)
    sampled = sample_answers(feedbacks, most=manifest.feedback_questions, rng=rng)
    model = work.run.model("improvement", item_id=learner)
    improver = Improver(model, with_writer(work.run.asking, manifest.improver), manifest.most_characters)
    feedback = feedback_of(sampled, cycle.arm.feedback, manifest=manifest.run)
    unchanged = PolicyStep(
        arm=cycle.arm.name,
        learner=learner,
        cycle=cycle.number,
        before=policy,
        after=policy,
        outcome="unchanged",
        problem="There was no feedback.",
        changes=(),
        diff=changed_lines(policy, policy),
        feedback=json.dumps(feedback, ensure_ascii=False),
        prompt=(),
        replies=(),
    )
    return Improved(step=await improve_section(unchanged, feedback, improver=improver))


def _user_feedback(cycle: Cycle, outcome: UserCycle) -> UserFeedback:
    episode = outcome.episode
    manifest = cycle.work.manifest
    protocol = cycle.arm.protocol
    taught = taught_questions(manifest, episode, protocol=protocol)
    variables = frozenset(episode.state_schema.choices) if protocol == "paper" else taught_variables(episode, taught)
    asked = [answer for answer in outcome.answers if answer.kind == "question" and answer.item in taught]
    exposed = exposed_values(episode, cycle.number, variables=variables)
    return UserFeedback(episode, asked, exposed)
