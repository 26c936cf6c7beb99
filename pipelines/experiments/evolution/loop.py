"""Algorithm 1 (App. E): live a cycle, score it, learn from it, go on with the better policy; for every condition at once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.context import Life
from pipelines.evaluation.interview import together
from pipelines.evaluation.records import Answer, Asked
from pipelines.evaluation.run import kept_step, measure_baselines
from pipelines.evaluation.spending import Toll
from pipelines.experiments.evolution.feedback import Lesson, feedback_of, fewer, told_in
from pipelines.experiments.evolution.improvement import Improver, Turning, improved, writing
from pipelines.experiments.evolution.lives import CycleLived, Evolution, Round, diagnose, live_cycle
from pipelines.experiments.evolution.records import EVERYBODY, Arm, Improved, PolicyStep
from pipelines.experiments.evolution.splits import taught_questions, taught_variables


@dataclass
class ArmLived:
    """All that one condition came to: each user's cycles in order, the policies' steps, and what learning took."""

    arm: Arm
    cycles: dict[str, list[CycleLived]] = field(default_factory=dict[str, list[CycleLived]])
    steps: list[PolicyStep] = field(default_factory=list[PolicyStep])
    toll: Toll = field(default_factory=Toll)


@dataclass(frozen=True)
class Lived:
    """All conditions, the baselines' answers, which no policy changes, and what everything took."""

    arms: list[ArmLived]
    baselines: list[Answer]
    toll: Toll


async def evolve(work: Evolution) -> Lived:
    """Do what is left to do. The first error ends it; finished steps stay."""
    baselines = asyncio.ensure_future(_baselines(work))
    living = asyncio.ensure_future(together(_arm(work, arm) for arm in work.manifest.arms))
    try:
        # Whichever fails first ends both.
        asked, arms = await asyncio.gather(baselines, living)
    finally:
        baselines.cancel()
        living.cancel()
        await asyncio.gather(baselines, living, return_exceptions=True)
    toll = sum((one.toll for one in (*asked, *arms)), Toll())
    return Lived(arms, [answer for one in asked for answer in one.answers], toll)


async def _baselines(work: Evolution) -> list[Asked]:
    lives = [Life(work.run, episode) for episode in work.run.dataset.episodes]
    return await together(
        kept_step(work.run, f"{life.episode.user_id}/baselines", Asked, partial(measure_baselines, life)) for life in lives
    )


async def _arm(work: Evolution, arm: Arm) -> ArmLived:
    """One condition: a policy for each user in the paper's protocol, else one for all."""
    episodes, lived = work.run.dataset.episodes, ArmLived(arm)
    apart = {episode.user_id: (episode,) for episode in episodes}
    schools: Mapping[str, Sequence[Episode]] = apart if arm.protocol == "paper" else {EVERYBODY: episodes}
    for school in await together(_school(work, arm, learner=learner, members=members) for learner, members in schools.items()):
        lived.cycles |= school.cycles
        lived.steps += school.steps
        lived.toll += school.toll
    for episode in episodes:
        cycles = lived.cycles[episode.user_id]
        lived.toll = sum((cycle.toll for cycle in cycles), lived.toll)
        diagnose(work.manifest, episode, cycles)
    return lived


async def _school(work: Evolution, arm: Arm, *, learner: str, members: Sequence[Episode]) -> ArmLived:
    """The users who share a policy, cycle by cycle."""
    school, policy = ArmLived(arm, {episode.user_id: [] for episode in members}), work.manifest.initial_policy
    for cycle in range(work.manifest.cycles):
        round_ = Round(work, arm, cycle)
        lives = [Life(work.run, episode, policy) for episode in members]
        lived = await together(live_cycle(round_, life, before=school.cycles[life.episode.user_id]) for life in lives)
        for episode, one in zip(members, lived, strict=True):
            school.cycles[episode.user_id].append(one)
        if arm.feedback != "none" and cycle + 1 < work.manifest.cycles:
            turning = Turning(arm.name, learner, cycle, policy)
            learn = partial(_learn, round_, turning, members=members, lived=lived)
            found = await kept_step(work.run, round_.key(learner, "policy"), Improved, learn)
            school.steps.append(found.step)
            school.toll += found.toll
            policy = found.step.after
    return school


async def _learn(round_: Round, turning: Turning, *, members: Sequence[Episode], lived: Sequence[CycleLived]) -> Improved:
    """Make the policy of the next cycle from what this one brought."""
    work, manifest = round_.work, round_.work.manifest
    lessons = [_lesson(round_, episode, cycle.answers) for episode, cycle in zip(members, lived, strict=True)]
    rng = SeededRandom(manifest.run.seed, "feedback", turning.learner, round_.cycle)
    few = fewer(lessons, most=manifest.feedback_questions, rng=rng)
    step = work.run.step(turning.learner)
    found = await improved(
        turning,
        feedback_of(few, round_.arm.feedback, seed=manifest.run.seed),
        improver=Improver(step.model("improvement"), writing(work.run.recipe, manifest.improver), manifest.most_characters),
    )
    return Improved(step=found, toll=Toll(spending=step.spending))


def _lesson(round_: Round, episode: Episode, answers: Sequence[Answer]) -> Lesson:
    manifest, protocol = round_.work.manifest, round_.arm.protocol
    taught = taught_questions(manifest, episode, protocol=protocol)
    variables = frozenset(episode.state_schema.choices) if protocol == "paper" else taught_variables(episode, taught)
    asked = tuple(answer for answer in answers if answer.kind == "question" and answer.item in taught)
    return Lesson(episode, asked, told_in(episode, round_.periods(episode), variables=variables))
