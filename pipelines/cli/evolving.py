"""Let policies evolve: what is told meanwhile and at the end."""

import asyncio
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pipelines.cli.evaluate import in_one_sentence, orders_of, say, tell
from pipelines.cli.evaluation import Choices
from pipelines.cli.evolve import EvolveChoices
from pipelines.cli.problems import Problem
from pipelines.evaluation.folder import PAGE
from pipelines.experiments.evolution.command import EvolutionOrder, EvolutionWatch, carry_out_evolution
from pipelines.experiments.evolution.plan import EvolutionPlan, EvolutionSize
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_report
from pipelines.experiments.evolution.results import FinishedEvolution, evolutions_folder
from pipelines.home import home

W = TypeVar("W", bound=str)


def evolve_and_tell(dataset: str, assistant: str, *, plan: EvolveChoices, choices: Choices) -> None:
    """Carry the evolution out and tell its results. Raises Problem with one sentence."""
    if choices.replay:
        raise Problem("An evolving assistant leads its own dialogues; leave --replay out.")
    [life] = orders_of(dataset, [assistant], choices)
    console = Console(stderr=True)
    done = in_one_sentence(lambda: _evolve(EvolutionOrder(life, plan_of(plan)), console))
    tell(evolution_report(done))
    say(console, f"Page: {evolutions_folder(home()) / done.manifest.run.run_id / PAGE}")


def plan_of(chosen: EvolveChoices) -> EvolutionPlan:
    """The plan that the options make. Raises Problem for counts that leave nothing to do."""
    if not (chosen.cycles and chosen.feedback_questions and chosen.most_characters):
        raise Problem("--cycles, --feedback-questions and --most-characters are 1 or more.")
    usual = EvolutionPlan()
    return EvolutionPlan(
        feedbacks=_known("--feedback", chosen.feedback, usual.feedbacks),
        protocols=_known("--protocol", chosen.protocol, usual.protocols),
        cycle=chosen.cycle,
        cycles=chosen.cycles,
        held_out_users=chosen.held_out_users,
        held_out_questions=chosen.held_out_questions,
        feedback_questions=chosen.feedback_questions,
        most_characters=chosen.most_characters,
        improver=chosen.improver_model,
    )


def _known(option: str, given: str, every: tuple[W, ...]) -> tuple[W, ...]:
    """The chosen ones, in their usual order."""
    chosen = [word.strip() for word in given.split(",")]
    wrong = [word for word in chosen if word not in every]
    if wrong:
        raise Problem(f"{option} {wrong[0]!r} is not known; give one or several of {','.join(every)}.")
    return tuple(word for word in every if word in chosen)


def _evolve(order: EvolutionOrder, console: Console) -> FinishedEvolution:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("steps"))
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(order.life.assistant, total=None)

        def begun(manifest: EvolutionManifest, size: EvolutionSize) -> None:
            say(console, f"{manifest.run.run_id}: {size.sentence} {size.warning(order.life.budget)}".strip())
            bars.update(task, total=size.steps)

        watch = EvolutionWatch(begun=begun, step=lambda key: bars.advance(task))
        return asyncio.run(carry_out_evolution(order, place=home(), watch=watch))
