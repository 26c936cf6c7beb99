"""What trials of prompts and judges come to, as tables and samples for the terminal."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

from assets.records.usage import Usage
from pipelines.experiments.prompt_trials.judging import Verdict
from pipelines.experiments.prompt_trials.trial import Exchange, Trial
from pipelines.resources.ledger.prices import Prices
from pipelines.resources.ledger.queries import dollars

SHOWN = 600  # characters of a reply or an objection


def accuracy_table(verdicts: Sequence[Verdict]) -> Table:
    """Right readings per gate with Wilson's interval, and apart where the text tells the truth and where it does not."""
    table = Table("gate", title="Hand-labelled cases", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("right", "95 % interval", "where the text tells", "where it leaves it open"):
        table.add_column(column, justify="right")
    for gate in dict.fromkeys(verdict.gate for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.gate == gate]
        parts = [own, [one for one in own if one.settled], [one for one in own if not one.settled]]
        right = [_share(sum(one.right for one in part), len(part)) for part in parts]
        spread: Any = binomtest(sum(one.right for one in own), len(own)).proportion_ci(method="wilson")
        table.add_row(gate, right[0], f"{spread.low:.0%} to {spread.high:.0%}", *right[1:])
    return table


def trial_table(name: str, trials: Sequence[Trial], *, prices: Prices) -> Table:
    """One column per side: replies that passed, tokens, list price, and what became of the stage."""
    whose = "1 user" if trials[0].users == 1 else f"{trials[0].users} users"
    table = Table("", title=f"{name} on {whose}", title_justify="left", box=box.SIMPLE_HEAD)
    columns = [_figures(trial, prices=prices) for trial in trials]
    for trial in trials:
        table.add_column(trial.side.name, justify="right")
    for row in columns[0]:
        table.add_row(row, *(figures[row] for figures in columns))
    return table


def _figures(trial: Trial, *, prices: Prices) -> dict[str, str]:
    calls = [exchange for tries in trial.tries for exchange in tries]
    asked, accepted = len(trial.tries), trial.at_once() + trial.after_reasking()
    costs = [_cost(exchange, prices) for exchange in calls]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if len(known) == len(costs) else None
    items = {(record.gate, record.item_id) for record in trial.gate_records}
    plain = {(r.gate, r.item_id) for r in trial.gate_records if not (r.accepted and r.draft == r.refinement == 0)}
    return {
        "questions asked": str(asked),
        "accepted at once": _share(trial.at_once(), asked),
        "accepted after an objection": _share(trial.after_reasking(), asked),
        "never accepted": _share(trial.never(), asked),
        "calls per accepted reply": f"{len(calls) / accepted:.2f}" if accepted else "none was accepted",
        "input tokens per call": _mean([exchange.reply.input_tokens for exchange in calls]),
        "output tokens per call": _mean([exchange.reply.output_tokens for exchange in calls]),
        "cost at list price": dollars(total),
        "cost per accepted reply": dollars(total / accepted) if total is not None and accepted else "unknown",
        "users who passed the stage": _share(trial.users - len(trial.failures), trial.users),
        "items that passed their gate at once": _share(len(items - plain), len(items)),
    }


def _cost(exchange: Exchange, prices: Prices) -> float | None:
    reply = exchange.reply
    return prices.of(exchange.request.model, Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)).usd


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def _mean(numbers: Sequence[int]) -> str:
    return f"{sum(numbers) / len(numbers):,.0f}" if numbers else "-"


def show_samples(console: Console, trial: Trial, *, count: int) -> None:
    """First replies, objections, and users given up."""
    replies = [("reply", tries[0].reply.text) for tries in trial.tries[:count]]
    objections = [
        (f"objection to: {before.reply.text[:SHOWN]}", again.objection or "")
        for tries in trial.tries
        for before, again in pairwise(tries)
    ]
    failures = [("user given up", failed.message) for failed in trial.failures]
    for title, text in [*replies, *objections[:count], *failures[:count]]:
        console.print(f"\n[bold]{escape(trial.side.name)}, {escape(title)}[/bold]\n{escape(text[:SHOWN])}")


def show_misses(console: Console, verdicts: Sequence[Verdict], *, count: int) -> None:
    """The first readings that are wrong."""
    for verdict in [verdict for verdict in verdicts if not verdict.right][:count]:
        told = escape(f"{verdict.text}\n  is {verdict.wanted}; read: {verdict.read}")
        console.print(f"\n[bold]{verdict.gate}[/bold] {told}")
