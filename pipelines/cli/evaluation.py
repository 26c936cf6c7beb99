"""`amemgym evaluate`, `compare` and `leaderboard`."""

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from pipelines.cli.field_options import about, options_of

RUN = "Folder or id of a finished run; the beginning of an id is enough."


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What can be chosen for an evaluation, beside dataset and assistants."""

    model: str = about("Model of the assistant.")
    embedding_model: str = about("Model of its embeddings.")
    user_model: str = about("Model that plays the user, and checks what it says.")
    users: Optional[int] = about("Only the first so many users.", None)
    replay: str = about("Off-policy: replay the dialogues of this run.", metavar="RUN")
    seed: int = about("Seed of the order of options, and of all calls.", 42)
    attempt: int = about("Raise it to evaluate once more, with new replies.", 0)
    concurrency: int = about("Users evaluated at once.", 32)
    max_cost: Optional[float] = about("US dollars that each run may spend, over all its tries; at the limit it pauses.", None)
    max_tokens: Optional[int] = about("Tokens that each run may spend, likewise.", None)
    offline: bool = about("Ask no model; use recorded replies only.", False)


@options_of(Choices, keyword="choices")
def evaluate(
    dataset: Annotated[str, typer.Argument(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")],
    assistant: Annotated[list[str], typer.Option(help="Name or YAML/JSON file of an assistant; may be repeated.")],
    *,
    choices: Choices,
) -> None:
    """Evaluate assistants on-policy and report their memory. Give the same command again to go on where it stopped."""
    from pipelines.cli.evaluate import evaluate_all, orders_of

    evaluate_all(orders_of(dataset, assistant, choices))


def compare(runs: Annotated[list[str], typer.Argument(help=RUN)]) -> None:
    """Compare runs over the same users, in the terminal and as a page: differences with intervals, ranks on- and off-policy."""
    from pipelines.cli.evaluate import compare_runs

    compare_runs(runs)


def leaderboard(
    dataset: Annotated[str, typer.Option(help="Only runs on datasets whose name begins so, as in: base 0.1.0")] = "",
) -> None:
    """Rank all finished runs, one page for each dataset."""
    from pipelines.cli.evaluate import rank_runs

    rank_runs(dataset)
