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
from pipelines.experiments.evolution.feedback import UserFeedback, feedback_of, fewer, told_in
from pipelines.experiments.evolution.improvement import Improver, PolicyUpdate, improve_policy, writing
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


async def check_recall(life: UserRun, *, state: bytes, period: int, arm: str, cycle: int) -> Recalled:
    """Every value that the user let be known in the period, with a verdict; the memory is what the assistant looks up.

    What still stands in a short-term memory is not yet kept, and so does not count.
    """
    step, episode = life.step(), life.episode
    told = told_in(episode, [period], variables=frozenset(episode.state_schema.choices))
    copy = step.assistant("recall", state)
    memory = await copy.memories("; ".join(name.replace("_", " ") for name in told))
    verdicts = await _verdicts(step, memory, told)
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
        for name, value in told.items()
    ]
    return Recalled(facts=tuple(facts), usage=StepUsage(spending=step.spending))


async def _verdicts(step: StepContext, memory: Sequence[str], told: Mapping[str, str]) -> dict[str, Verdict]:
    """The judge's verdicts by variable, none where it could not be understood. An empty memory needs no judge."""
    if not memory or not told:
        return dict.fromkeys(told, "no")
    claims = {str(number): f"{name}: {value}" for number, (name, value) in enumerate(told.items(), start=1)}
    prompt = load_prompt("evaluation/check_memory").render(memory="\n".join(memory), claims=claims)
    reply_schema: ReplySchema[dict[str, Verdict]] = ReplySchema(object_of_enums(dict.fromkeys(claims, ("yes", "no"))))
    try:
        found = await ask_structured(
            step.model("recall"), prompt=prompt, reply=reply_schema, convert=lambda reply: reply, recipe=step.run.recipe
        )
    except ItemFailed:
        return {}
    return {name: found[number] for number, name in zip(claims, told, strict=True)}


@dataclass(frozen=True)
class Evolution:
    """An evolution at work: the run that its lives belong to, whose folder keeps every finished step."""

    manifest: EvolutionManifest
    run: Run

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Users who live at the same time."""
        return asyncio.Semaphore(self.run.users_at_once)


@dataclass(frozen=True)
class Cycle:
    """One cycle of one condition."""

    work: Evolution
    arm: Condition
    cycle: int

    def key(self, *parts: object) -> str:
        """The name of a step in it."""
        return "/".join(map(str, (self.arm.name, self.cycle, *parts)))

    def periods(self, episode: Episode) -> Sequence[int]:
        """The periods that are lived in it: one, or the whole episode."""
        every = range(len(episode.periods))
        return [period for period in every if period == self.cycle] if self.work.manifest.cycle == "period" else every


@dataclass
class UserCycle:
    """What one user's cycle came to, and the memory at its end."""

    state: bytes
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    facts: list[RecalledFact] = field(default_factory=list[RecalledFact])
    usage: StepUsage = field(default_factory=StepUsage)


async def run_cycle(round_: Cycle, life: UserRun, *, before: Sequence[UserCycle]) -> UserCycle:
    """Live the cycle's periods. The memory of the cycle before goes on where cycles are periods; an episode begins without."""
    goes_on = bool(before) and round_.work.manifest.cycle == "period"
    done, states = UserCycle(before[-1].state if goes_on else b""), dict[int, bytes]()
    async with round_.work.slots:
        for period in round_.periods(life.episode):
            key = round_.key(life.episode.user_id, period, "lived")
            lived = await checkpointed(
                life.run, key, DialogueStep, partial(run_dialogue, life, period=period, state=done.state)
            )
            done.state = states[period] = base64.b64decode(lived.snapshot)
            done.turns += lived.turns
            done.usage += lived.usage
        for part in await gather_all(_asked(round_, life, states)):
            done.usage += part.usage
            if isinstance(part, AnswersStep):
                done.answers += part.answers
            else:
                done.facts += part.facts
    return done


def _asked(round_: Cycle, life: UserRun, states: Mapping[int, bytes]) -> Iterator[Awaitable[AnswersStep | Recalled]]:
    """Interviews and checks of the memory at the end of each period, to be done at the same time."""
    for period, state in states.items():
        asking = partial(run_interview, life, period=period, state=state)
        yield checkpointed(life.run, round_.key(life.episode.user_id, period, "asked"), AnswersStep, asking)
        checking = partial(check_recall, life, state=state, period=period, arm=round_.arm.name, cycle=round_.cycle)
        yield checkpointed(life.run, round_.key(life.episode.user_id, period, "recalled"), Recalled, checking)


def diagnose_cycles(manifest: EvolutionManifest, episode: Episode, cycles: Sequence[UserCycle]) -> None:
    """Say of every wrong answer where it was lost; a value may have been told in an earlier cycle of the same life."""
    if manifest.cycle == "episode":
        for cycle in cycles:
            cycle.answers = diagnose(episode, cycle.answers)
        return
    answers = diagnose(episode, [answer for cycle in cycles for answer in cycle.answers])
    for place, cycle in enumerate(cycles):
        cycle.answers = [answer for answer in answers if answer.period == place]


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
    living = asyncio.ensure_future(gather_all(_run_condition(work, arm) for arm in work.manifest.arms))
    try:
        # Whichever fails first ends both.
        asked, arms = await asyncio.gather(baselines, living)
    finally:
        baselines.cancel()
        living.cancel()
        await asyncio.gather(baselines, living, return_exceptions=True)
    usage = sum((one.usage for one in (*asked, *arms)), StepUsage())
    return EvolutionRun(arms, [answer for one in asked for answer in one.answers], usage)


async def _baselines(work: Evolution) -> list[AnswersStep]:
    lives = [UserRun(work.run, episode) for episode in work.run.dataset.episodes]
    return await gather_all(
        checkpointed(work.run, f"{life.episode.user_id}/baselines", AnswersStep, partial(run_baselines, life)) for life in lives
    )


async def _run_condition(work: Evolution, arm: Condition) -> ConditionRun:
    """One condition: a policy for each user in the paper's protocol, else one for all."""
    episodes, lived = work.run.dataset.episodes, ConditionRun(arm)
    apart = {episode.user_id: (episode,) for episode in episodes}
    schools: Mapping[str, Sequence[Episode]] = apart if arm.protocol == "paper" else {EVERYBODY: episodes}
    for school in await gather_all(
        _evolve_policy(work, arm, learner=learner, members=members) for learner, members in schools.items()
    ):
        lived.cycles |= school.cycles
        lived.steps += school.steps
        lived.usage += school.usage
    for episode in episodes:
        cycles = lived.cycles[episode.user_id]
        lived.usage = sum((cycle.usage for cycle in cycles), lived.usage)
        diagnose_cycles(work.manifest, episode, cycles)
    return lived


async def _evolve_policy(work: Evolution, arm: Condition, *, learner: str, members: Sequence[Episode]) -> ConditionRun:
    """The users who share a policy, cycle by cycle."""
    school, policy = ConditionRun(arm, {episode.user_id: [] for episode in members}), work.manifest.initial_policy
    for cycle in range(work.manifest.cycles):
        round_ = Cycle(work, arm, cycle)
        lives = [UserRun(work.run, episode, policy) for episode in members]
        lived = await gather_all(run_cycle(round_, life, before=school.cycles[life.episode.user_id]) for life in lives)
        for episode, one in zip(members, lived, strict=True):
            school.cycles[episode.user_id].append(one)
        if arm.feedback != "none" and cycle + 1 < work.manifest.cycles:
            turning = PolicyUpdate(arm.name, learner, cycle, policy)
            learn = partial(_learn, round_, turning, members=members, lived=lived)
            found = await checkpointed(work.run, round_.key(learner, "policy"), Improved, learn)
            school.steps.append(found.step)
            school.usage += found.usage
            policy = found.step.after
    return school


async def _learn(round_: Cycle, turning: PolicyUpdate, *, members: Sequence[Episode], lived: Sequence[UserCycle]) -> Improved:
    """Make the policy of the next cycle from what this one brought."""
    work, manifest = round_.work, round_.work.manifest
    lessons = [_lesson(round_, episode, cycle.answers) for episode, cycle in zip(members, lived, strict=True)]
    rng = SeededRandom(manifest.run.seed, "feedback", turning.learner, round_.cycle)
    few = fewer(lessons, most=manifest.feedback_questions, rng=rng)
    step = work.run.step(turning.learner)
    found = await improve_policy(
        turning,
        feedback_of(few, round_.arm.feedback, seed=manifest.run.seed),
        improver=Improver(step.model("improvement"), writing(work.run.recipe, manifest.improver), manifest.most_characters),
    )
    return Improved(step=found, usage=StepUsage(spending=step.spending))


def _lesson(round_: Cycle, episode: Episode, answers: Sequence[AnswerRow]) -> UserFeedback:
    manifest, protocol = round_.work.manifest, round_.arm.protocol
    taught = taught_questions(manifest, episode, protocol=protocol)
    variables = frozenset(episode.state_schema.choices) if protocol == "paper" else taught_variables(episode, taught)
    asked = tuple(answer for answer in answers if answer.kind == "question" and answer.item in taught)
    return UserFeedback(episode, asked, told_in(episode, round_.periods(episode), variables=variables))
