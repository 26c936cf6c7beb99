"""`amemgym evolve`."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import typer
from rich.console import Console

from pipelines.cli.errors import Problem
from pipelines.cli.evaluate import EvaluateOptions, evaluation_errors, evaluation_requests, run_to_end
from pipelines.cli.options import DatasetArgument, option, options_of
from pipelines.cli.terminal import print_markdown, print_plain, step_progress
from pipelines.evaluation.folder import PAGE
from pipelines.experiments.evolution.command import EvolutionProgress, EvolutionRequest, run_evolution
from pipelines.experiments.evolution.plan import EvolutionForecast, EvolutionPlan
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_report
from pipelines.experiments.evolution.results import FinishedEvolution, evolutions_folder
from pipelines.home import home

W = TypeVar("W", bound=str)


@dataclass(frozen=True, kw_only=True)
class EvolveOptions:
    """Options of an evolution, beside those of every evaluation in it."""

    feedback: str = option(
        "What those who improve a policy are told, in one or several conditions.", "none,question-only,complete"
    )
    protocol: str = option(
        "paper: users learn from their own questions; held-out: one policy, new users and questions.", "paper,held-out"
    )
    cycle: Literal["period", "episode"] = option("A policy may change after each: period or episode.", "period")
    cycles: int = option("Episodes to live, with --cycle episode.", 4)
    held_out_users: float = option("Share of users that no feedback tells of.", 0.3, most=1)
    held_out_questions: float = option("Share of the other users' questions that no feedback tells.", 0.3, most=1)
    feedback_questions: int = option("Questions that one cycle's feedback tells at most.", 40)
    most_characters: int = option("Length of an improved policy at most.", 6000)
    improver_model: str = option("Model that rewrites policies; the memory's by default.")


@options_of(EvolveOptions, keyword="plan", panel="Evolution")
@options_of(EvaluateOptions, keyword="options")
def evolve(
    dataset: DatasetArgument,
    memory: Annotated[
        str, typer.Option(help="Name, FILE.py:CLASS or YAML file of a memory with a policy, such as awi.")
    ] = "awi",
    *,
    plan: EvolveOptions,
    options: EvaluateOptions,
) -> None:
    """Let a memory's policy evolve through feedback, and tell learning from leaking. Again: goes on."""
    if options.replay:
        raise Problem("An evolving memory leads its own dialogues; leave --replay out.")
    [request] = evaluation_requests(dataset, [memory], options)
    console = Console(stderr=True)
    with evaluation_errors():
        evolution = _evolve(EvolutionRequest(request, plan_of(plan)), console)
    print_markdown(evolution_report(evolution))
    print_plain(console, f"Page: {evolutions_folder(home()) / evolution.manifest.run.run_id / PAGE}")


def plan_of(chosen: EvolveOptions) -> EvolutionPlan:
    """The plan that the options make. Raises Problem for counts that leave nothing to do."""
    if not (chosen.cycles and chosen.feedback_questions and chosen.most_characters):
        raise Problem("--cycles, --feedback-questions and --most-characters are 1 or more.")
    usual = EvolutionPlan()
    return EvolutionPlan(
        feedbacks=_chosen("--feedback", chosen.feedback, usual.feedbacks),
        protocols=_chosen("--protocol", chosen.protocol, usual.protocols),
        cycle=chosen.cycle,
        cycles=chosen.cycles,
        held_out_users=chosen.held_out_users,
        held_out_questions=chosen.held_out_questions,
        feedback_questions=chosen.feedback_questions,
        most_characters=chosen.most_characters,
        improver=chosen.improver_model,
    )


def _chosen(option: str, text: str, allowed: tuple[W, ...]) -> tuple[W, ...]:
    """The values of a comma-separated option in their usual order. Raises Problem for one that is not allowed."""
    chosen = [word.strip() for word in text.split(",")]
    wrong = [word for word in chosen if word not in allowed]
    if wrong:
        raise Problem(f"{option} {wrong[0]!r} is not known; give one or several of {','.join(allowed)}.")
    return tuple(word for word in allowed if word in chosen)


def _evolve(request: EvolutionRequest, console: Console) -> FinishedEvolution:
    with step_progress(console) as bars:
        task = bars.add_task(request.evaluation.memory, total=None)

        def begun(manifest: EvolutionManifest, size: EvolutionForecast) -> None:
            print_plain(console, f"{manifest.run.run_id}: {size.sentence} {size.warning(request.evaluation.budget)}".strip())
            bars.update(task, total=size.steps)

        watch = EvolutionProgress(begun=begun, step=lambda key: bars.advance(task))
        return run_to_end(run_evolution(request, home=home(), progress=watch))
