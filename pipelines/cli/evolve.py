"""`amemgym evolve`."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from pipelines.cli.evaluation import Choices
from pipelines.cli.field_options import about, options_of


@dataclass(frozen=True, kw_only=True)
class EvolveChoices:
    """What can be chosen for an evolution, beside what can be chosen for every life in it."""

    feedback: str = about(
        "What those who improve a policy are told, in one or several conditions.", "none,question-only,complete"
    )
    protocol: str = about(
        "paper: users learn from their own questions; held-out: one policy, new users and questions.", "paper,held-out"
    )
    cycle: Literal["period", "episode"] = about("A policy may change after each: period or episode.", "period")
    cycles: int = about("Episodes to live, with --cycle episode.", 4)
    held_out_users: float = about("Share of users that no feedback tells of.", 0.3, most=1)
    held_out_questions: float = about("Share of the other users' questions that no feedback tells.", 0.3, most=1)
    feedback_questions: int = about("Questions that one cycle's feedback tells at most.", 40)
    most_characters: int = about("Length of an improved policy at most.", 6000)
    improver_model: str = about("Model that rewrites policies; the assistant's by default.")


@options_of(EvolveChoices, keyword="plan", panel="Evolution")
@options_of(Choices, keyword="choices")
def evolve(
    dataset: Annotated[str, typer.Argument(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")],
    assistant: Annotated[str, typer.Option(help="Name or YAML/JSON file of an assistant with a policy, such as awi.")] = "awi",
    *,
    plan: EvolveChoices,
    choices: Choices,
) -> None:
    """Let an assistant's memory policy evolve through feedback, and tell learning from leaking. Again: goes on."""
    from pipelines.cli.evolving import evolve_and_tell

    evolve_and_tell(dataset, assistant, plan=plan, choices=choices)
