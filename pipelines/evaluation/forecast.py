"""The size of a run before its first call: one count of calls by purpose, and what they will read at most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.llm.usage import Usage
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from pipelines.evaluation.memories.registry import WRITING_CALLS
from pipelines.evaluation.records import RunManifest
from pipelines.resources.ledger.prices import Prices

# Common lengths in tokens: of a reply, a message of the simulated user, an answer, instructions.
REPLY, FOLLOW_UP, CHOICE, INSTRUCTIONS = 250, 40, 8, 250
WORDS = {
    "dialogue": "replies",
    "memory": "memory writes",
    "simulator": "messages of the simulated user and checks of these",
    "interview": "questions and states",
    "baselines": "baselines and conditions of isolated scores",
}
ROLES = {"dialogue": "assistant", "memory": "memory", "simulator": "user", "interview": "assistant", "baselines": "assistant"}


def calls_of(calls: float, *, reading: float, writing: float) -> Usage:
    """So many calls, of so many tokens each on the average."""
    return Usage(calls=round(calls), input_tokens=int(calls * reading), output_tokens=int(calls * writing))


@dataclass(frozen=True)
class ItemSize:
    """What one item will ask, whatever the benchmark. Lists hold the tokens that were perceived before each call.

    `written`: events, of `event_tokens` each. `replies` of a dialogue, with `simulated` messages of the user, which are checked
    against `schema_tokens`. `questions` and state `probes`, of `question_tokens` and `probe_tokens` beside what is recalled.
    `bounds`: questions that are asked of the reasoner alone. `steps`: checkpoints.
    """

    written: int
    event_tokens: float
    questions: Sequence[int]
    question_tokens: int
    steps: int
    replies: Sequence[int] = ()
    simulated: int = 0
    schema_tokens: int = 0
    probes: Sequence[int] = ()
    probe_tokens: int = 0
    bounds: int = 0

    def volumes(self, manifest: RunManifest) -> dict[str, Usage]:
        """Calls by purpose. A memory is taken to give back all that it may, so that tokens are an upper limit."""

        def recalled(held: Sequence[int], budget: int = manifest.tokens) -> float:
            return _mean([min(tokens, budget) for tokens in held])

        asked, task = len(self.questions), INSTRUCTIONS + self.question_tokens
        writes = WRITING_CALLS.get(manifest.memory.kind, 0.0) * self.written
        everything = sum(self.questions) if "everything" in manifest.conditions else 0
        interview = calls_of(asked, reading=recalled(self.questions) + task, writing=CHOICE)
        for budget in manifest.curve:
            interview += calls_of(asked, reading=recalled(self.questions, budget) + task, writing=CHOICE)
        interview += calls_of(len(self.probes), reading=recalled(self.probes) + INSTRUCTIONS + self.probe_tokens, writing=40)
        return {
            "dialogue": calls_of(len(self.replies), reading=recalled(self.replies) + INSTRUCTIONS, writing=REPLY),
            "memory": calls_of(writes, reading=2 * (INSTRUCTIONS + self.event_tokens), writing=REPLY / 2),
            "simulator": calls_of(2 * self.simulated, reading=INSTRUCTIONS + 2 * self.schema_tokens + REPLY, writing=FOLLOW_UP),
            "interview": interview,
            "baselines": calls_of(self.bounds + asked * len(manifest.conditions), reading=task, writing=CHOICE)
            + Usage(input_tokens=everything),
        }


def _mean(values: Sequence[int]) -> float:
    return sum(values) / max(1, len(values))


@dataclass(frozen=True)
class EvaluationForecast:
    """Calls without re-asks by purpose; tokens at most, as a memory may give back less. `steps`: checkpoints to come.

    `usd`: None where a price is unknown.
    """

    sizes: Mapping[str, Usage]
    steps: int
    usd: float | None

    @property
    def calls(self) -> int:
        """Chat completions of the run; embeddings are not among them."""
        return sum(size.calls for size in self.sizes.values())

    @property
    def tokens(self) -> int:
        """Input and output tokens in all."""
        return sum(size.input_tokens + size.output_tokens for size in self.sizes.values())

    @property
    def sentence(self) -> str:
        parts = ", ".join(f"{size.calls:,} {WORDS[purpose]}" for purpose, size in self.sizes.items() if size.calls)
        sent, got = (sum(getattr(size, name) for size in self.sizes.values()) for name in ("input_tokens", "output_tokens"))
        price = "at an unknown price" if self.usd is None else f"${self.usd:,.2f}"
        return (
            f"About {counted(self.calls, 'model call')} ({parts}), fewer where replies are cached; at most about "
            f"{_millions(sent)} input and {_millions(got)} output tokens, {price}."
        )

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        too_dear = budget.max_cost_usd is not None and self.usd is not None and self.usd > budget.max_cost_usd
        too_long = budget.max_tokens is not None and self.tokens > budget.max_tokens
        return "This is more than the budget: the run may pause before it is finished." if too_dear or too_long else ""


def forecast(items: Iterable[ItemSize], manifest: RunManifest, *, prices: Prices) -> EvaluationForecast:
    """Count what the run will ask. The calls of memories that are not ours are not counted."""
    sizes, steps = dict.fromkeys(WORDS, Usage()), 0
    for item in items:
        sizes = {purpose: sizes[purpose] + volume for purpose, volume in item.volumes(manifest).items()}
        steps += item.steps
    total: float | None = 0.0
    for purpose, size in sizes.items():
        price = prices.of(manifest.models[ROLES[purpose]], size) if size.calls else None
        if price is not None:
            total = None if total is None or price.usd is None else total + price.usd
    return EvaluationForecast(sizes, steps, total)


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
