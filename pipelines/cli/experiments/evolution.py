"""`amemgym evolve`: let the policy of a memory evolve through feedback."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from assets.llm.async_calls import run_to_end
from pipelines.cli.options import DatasetArgument, QuietOption, json_option, option, options_of
from pipelines.cli.scoring.evaluate import SCORING, evaluation_errors
from pipelines.cli.scoring.run_options import evaluation_options
from pipelines.cli.terminal import LiveProgress, print_json, print_markdown, print_plain, prints_of_others_apart, stderr_console
from pipelines.errors import Problem
from pipelines.evaluation.command import EvaluationRequest
from pipelines.evaluation.options import EvaluationOptions
from pipelines.experiments.evolution.command import EvolutionProgress, EvolutionRequest, run_evolution
from pipelines.experiments.evolution.plan import EvolutionForecast, EvolutionPlan
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_report
from pipelines.experiments.evolution.results import FinishedEvolution, evolutions_folder
from pipelines.home import home

PANEL = "Score memories"
W = TypeVar("W", bound=str)


@dataclass(frozen=True, kw_only=True)
class EvolveOptions:
    """Options of an evolution, in addition to those of the evaluations in it."""

    feedback: str = option(
        "Conditions: which feedback a policy is improved with; one or several.", "none,question-only,complete"
    )
    protocol: str = option(
        "paper: users learn from their own questions; held-out: one policy, new users and questions.", "paper,held-out"
    )
    held_out_users: float = option("Share of users who give no feedback.", 0.3, most=1)
    held_out_questions: float = option("Share of the other users' questions that give no feedback.", 0.3, most=1)
    feedback_questions: int = option("Most questions in the feedback of one cycle.", 40)
    most_characters: int = option("Most characters of an improved policy.", 6000)
    improver_model: str = option("Model that rewrites policies; the memory's by default.")


@options_of(EvolveOptions, keyword="plan", panel="Evolution")
@evaluation_options()
def evolve_memory(
    dataset: DatasetArgument,
    memory: Annotated[
        str, typer.Option(help="Name, FILE.py:CLASS or YAML file of a memory with a policy, such as awi.")
    ] = "awi",
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("folder", "manifest", "results")] = False,
    *,
    plan: EvolveOptions,
    options: EvaluationOptions,
) -> None:
    """Let a memory's policy evolve through feedback, and distinguish learning from leaking. Run it again to continue."""
    if options.replay:
        raise Problem("An evolving memory leads its own dialogues; leave replay out.")
    request = EvaluationRequest(dataset, memory, options, budget=options.budget)
    console = stderr_console()
    with evaluation_errors(), prints_of_others_apart():
        evolution = _evolve(EvolutionRequest(request, plan_of(plan)), console, quiet=quiet)
    folder = evolutions_folder(home()) / evolution.manifest.run.run_id
    if as_json:
        print_json({"folder": str(folder), "manifest": evolution.manifest, "results": evolution.results})
        return
    print_markdown(evolution_report(evolution))
    print_plain(console, f"Folder: {folder}")


def plan_of(chosen: EvolveOptions) -> EvolutionPlan:
    """Return the evolution's plan. Raises Problem for a count below 1, or shares that leave nothing to do."""
    if not (chosen.feedback_questions and chosen.most_characters):
        raise Problem("--feedback-questions and --most-characters must be 1 or more.")
    usual = EvolutionPlan()
    return EvolutionPlan(
        feedbacks=_choose_values("--feedback", chosen.feedback, usual.feedbacks),
        protocols=_choose_values("--protocol", chosen.protocol, usual.protocols),
        held_out_users=chosen.held_out_users,
        held_out_questions=chosen.held_out_questions,
        feedback_questions=chosen.feedback_questions,
        most_characters=chosen.most_characters,
        improver=chosen.improver_model,
    )


def _choose_values(option: str, text: str, allowed: tuple[W, ...]) -> tuple[W, ...]:
    """Return the values of a comma-separated option, in the order of `allowed`. Raises Problem for an unknown value."""
    chosen = list(map(str.strip, text.split(",")))
    for word in chosen:
        if word not in allowed:
            raise Problem(f"{option} {word!r} is not known; give one or several of {','.join(allowed)}.")
    return tuple(word for word in allowed if word in chosen)


def _evolve(request: EvolutionRequest, console: Console, *, quiet: bool) -> FinishedEvolution:
    with LiveProgress(console, quiet=quiet, after=SCORING) as live:

        def announce(manifest: EvolutionManifest, size: EvolutionForecast) -> None:
            print_plain(console, f"{manifest.run.run_id}: {size.sentence} {size.warning(request.evaluation.budget)}".strip())

        progress = EvolutionProgress(announce, live.show, partial(print_plain, console))
        return run_to_end(run_evolution(request, home=home(), progress=progress))
