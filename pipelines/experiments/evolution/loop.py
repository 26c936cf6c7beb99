"""Algorithm 1 (App. E): run a cycle, score it, improve the policy, run the next cycle; all conditions at once."""

import asyncio
import base64
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import ReplySchema, ask_structured, object_of_enums
from assets.records.base import ItemFailed
from pipelines.evaluation.interview import gather_all
from pipelines.evaluation.metrics.diagnosis import diagnose
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueStep, DialogueTurn
from pipelines.evaluation.run import Run, StepContext, UserRun, checkpointed, run_baselines, run_dialogue, run_interview
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


async def check_recall(user: UserRun, *, state: bytes, period: int, arm: str, cycle: int) -> Recalled:
    """Every value that the period's sessions exposed, with a verdict; the memory is what the assistant looks up.

    What is only in a short-term memory does not count.
    """
    step, episode = user.step(), user.episode
    exposed = exposed_values(episode, [period], variables=frozenset(episode.state_schema.choices))
    copy = step.assistant("recall", state)
    memory = await copy.memories("; ".join(name.replace("_", " ") for name in exposed))
    verdicts = await _verdicts(step, memory, exposed)
    facts = [
        RecalledFact(
            arm=arm,
            cycle=cycle,
            user_id=episode.user_id,
            period=period,
            variable=name,
            value=value,
            supported=verdicts.get(name, "unscored"),
        )
        for name, value in exposed.items()
    ]
    return Recalled(facts=tuple(facts), usage=StepUsage(spending=step.spending))


async def _verdicts(step: StepContext, memory: Sequence[str], exposed: Mapping[str, str]) -> dict[str, Verdict]:
    """The judge's verdicts by variable, none where it could not be understood. An empty memory needs no judge."""
    if not memory or not exposed:
        return dict.fromkeys(exposed, "no")
    claims = {str(number): f"{name}: {value}" for number, (name, value) in enumerate(exposed.items(), start=1)}
    prompt = load_prompt("evaluation/check_memory").render(memory="\n".join(memory), claims=claims)
    reply_schema: ReplySchema[dict[str, Verdict]] = ReplySchema(object_of_enums(dict.fromkeys(claims, ("yes", "no"))))
    try:
        answers = await ask_structured(
            step.model("recall"), prompt=prompt, reply=reply_schema, convert=lambda reply: reply, recipe=step.run.recipe
        )
    except ItemFailed:
        return {}
    return {name: answers[number] for number, name in zip(claims, exposed, strict=True)}


@dataclass(frozen=True)
class Evolution:
    """An evolution at work: its run, whose folder stores every finished step."""

    manifest: EvolutionManifest
    run: Run

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Slots for users whose cycles go on at the same time."""
        return asyncio.Semaphore(self.run.users_at_once)


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
    """What one user's cycle came to, and the memory at its end."""

    state: bytes
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    facts: list[RecalledFact] = field(default_factory=list[RecalledFact])
    usage: StepUsage = field(default_factory=StepUsage)


async def run_cycle(cycle: Cycle, user: UserRun, *, before: Sequence[UserCycle]) -> UserCycle:
    """Run one user's periods of the cycle. The memory goes on where cycles are periods; an episode begins without."""
    goes_on = bool(before) and cycle.work.manifest.cycle == "period"
    done, states = UserCycle(before[-1].state if goes_on else b""), dict[int, bytes]()
    async with cycle.work.slots:
        for period in cycle.periods(user.episode):
            key = cycle.key(user.episode.user_id, period, "lived")
            dialogue = partial(run_dialogue, user, period=period, state=done.state)
            step = await checkpointed(user.run, key, DialogueStep, dialogue)
            done.state = states[period] = base64.b64decode(step.snapshot)
            done.turns += step.turns
            done.usage += step.usage
        for part in await gather_all(_asked(cycle, user, states)):
            done.usage += part.usage
            if isinstance(part, AnswersStep):
                done.answers += part.answers
            else:
                done.facts += part.facts
    return done


def _asked(cycle: Cycle, user: UserRun, states: Mapping[int, bytes]) -> Iterator[Awaitable[AnswersStep | Recalled]]:
    """Interviews and checks of the memory at the end of each period, to be done at the same time."""
    for period, state in states.items():
        asking = partial(run_interview, user, period=period, state=state)
        yield checkpointed(user.run, cycle.key(user.episode.user_id, period, "asked"), AnswersStep, asking)
        checking = partial(check_recall, user, state=state, period=period, arm=cycle.arm.name, cycle=cycle.number)
        yield checkpointed(user.run, cycle.key(user.episode.user_id, period, "recalled"), Recalled, checking)


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
    usage = sum((part.usage for part in (*asked, *arms)), StepUsage())
    return EvolutionRun(arms, [answer for step in asked for answer in step.answers], usage)


async def _baselines(work: Evolution) -> list[AnswersStep]:
    users = [UserRun(work.run, episode) for episode in work.run.dataset.episodes]
    return await gather_all(
        checkpointed(work.run, f"{user.episode.user_id}/baselines", AnswersStep, partial(run_baselines, user)) for user in users
    )


async def _run_condition(work: Evolution, arm: Condition) -> ConditionRun:
    """One condition: a policy for each user in the paper's protocol, else one for all."""
    episodes, condition = work.run.dataset.episodes, ConditionRun(arm)
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
    for number in range(work.manifest.cycles):
        cycle = Cycle(work, arm, number)
        users = [UserRun(work.run, episode, policy) for episode in members]
        outcomes = await gather_all(run_cycle(cycle, user, before=group.cycles[user.episode.user_id]) for user in users)
        for episode, outcome in zip(members, outcomes, strict=True):
            group.cycles[episode.user_id].append(outcome)
        if arm.feedback != "none" and number + 1 < work.manifest.cycles:
            update = PolicyUpdate(arm.name, learner, number, policy)
            improve = partial(_improve, cycle, update, members=members, outcomes=outcomes)
            improved = await checkpointed(work.run, cycle.key(learner, "policy"), Improved, improve)
            group.steps.append(improved.step)
            group.usage += improved.usage
            policy = improved.step.after
    return group


async def _improve(
    cycle: Cycle, update: PolicyUpdate, *, members: Sequence[Episode], outcomes: Sequence[UserCycle]
) -> Improved:
    """Make the policy of the next cycle from what this one brought."""
    work, manifest = cycle.work, cycle.work.manifest
    feedbacks = [_user_feedback(cycle, episode, outcome.answers) for episode, outcome in zip(members, outcomes, strict=True)]
    rng = SeededRandom(manifest.run.seed, "feedback", update.learner, cycle.number)
    sampled = sample_answers(feedbacks, most=manifest.feedback_questions, rng=rng)
    step = work.run.step(update.learner)
    improved = await improve_policy(
        update,
        feedback_of(sampled, cycle.arm.feedback, seed=manifest.run.seed),
        improver=Improver(step.model("improvement"), with_writer(work.run.recipe, manifest.improver), manifest.most_characters),
    )
    return Improved(step=improved, usage=StepUsage(spending=step.spending))


def _user_feedback(cycle: Cycle, episode: Episode, answers: Sequence[AnswerRow]) -> UserFeedback:
    manifest, protocol = cycle.work.manifest, cycle.arm.protocol
    taught = taught_questions(manifest, episode, protocol=protocol)
    variables = frozenset(episode.state_schema.choices) if protocol == "paper" else taught_variables(episode, taught)
    asked = tuple(answer for answer in answers if answer.kind == "question" and answer.item in taught)
    return UserFeedback(episode, asked, exposed_values(episode, cycle.periods(episode), variables=variables))
