"""The size of a run before its first call: one count of calls by purpose, and what they will read at most."""

from collections.abc import Mapping
from dataclasses import dataclass

from assets.amemgym.records.episode import Episode
from assets.llm.text import count_tokens
from assets.llm.usage import Usage
from assets.recipe.recipe import Budget
from pipelines.evaluation.amemgym.dataset import Dataset
from pipelines.evaluation.memories.registry import writing_calls
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


@dataclass(frozen=True)
class CallVolume:
    """Calls, and the tokens of all of them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def of(cls, calls: float, *, reading: float, writing: float) -> "CallVolume":
        """So many calls of this mean length."""
        return cls(round(calls), int(calls * reading), int(calls * writing))

    def __add__(self, other: "CallVolume") -> "CallVolume":
        return CallVolume(
            self.calls + other.calls, self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )


def forecast_user(dataset: Dataset, episode: Episode, manifest: RunManifest) -> dict[str, CallVolume]:
    """One user's calls by purpose. A memory is taken to give back all that it may, so that tokens are an upper limit."""
    length, before, after, sessions = 0, list[int](), list[int](), 0
    for index, period in enumerate(episode.periods):
        for session in period.sessions:
            sessions += 1
            for round_number in range(dataset.rounds.of(index)):
                before.append(length)
                length += (FOLLOW_UP if round_number else count_tokens(session.query)) + REPLY
        after.append(length)
    held, periods, questions = len(before), len(after), len(episode.questions)
    schema = count_tokens(str(episode.state_schema.choices))
    option = count_tokens(episode.questions[0].answer_choices[0].answer) * len(episode.questions[0].answer_choices)
    own, live = held - sessions, 0 if manifest.replayed_run else 1
    seen = _mean([min(tokens, manifest.tokens) for tokens in after])
    probes = {"question": questions, "variable": len(episode.state_schema.choices), "all": 1}[manifest.probes]
    asked = periods * questions
    bounds = (sum(len(set(question.golden)) + 1 for question in episode.questions)) if manifest.baselines else 0
    everything = _mean(after) if "everything" in manifest.conditions else 0
    return {
        "dialogue": CallVolume.of(
            live * held, reading=_mean([min(n, manifest.tokens) for n in before]) + INSTRUCTIONS, writing=REPLY
        ),
        "memory": CallVolume.of(
            writing_calls(manifest.memory) * 2 * held, reading=2 * INSTRUCTIONS + 2 * REPLY, writing=REPLY / 2
        ),
        "simulator": CallVolume.of(live * 2 * own, reading=INSTRUCTIONS + 2 * schema + REPLY, writing=FOLLOW_UP),
        "interview": CallVolume.of(asked, reading=seen + INSTRUCTIONS + option, writing=CHOICE)
        + CallVolume.of(
            asked * len(manifest.curve), reading=_mean([*manifest.curve, 0]) + INSTRUCTIONS + option, writing=CHOICE
        )
        + CallVolume.of(periods * probes * (1 + manifest.unknown_probe), reading=seen + INSTRUCTIONS + schema, writing=40),
        "baselines": CallVolume.of(bounds, reading=INSTRUCTIONS + option, writing=CHOICE)
        + CallVolume.of(asked * len(manifest.conditions), reading=INSTRUCTIONS + option, writing=CHOICE)
        + CallVolume(0, int(asked * everything), 0),
    }


def _mean(values: list[int]) -> float:
    return sum(values) / max(1, len(values))


@dataclass(frozen=True)
class EvaluationForecast:
    """Calls without re-asks by purpose; tokens at most, as a memory may give back less. `steps`: checkpoints to come.

    `usd`: None where a price is unknown.
    """

    sizes: Mapping[str, CallVolume]
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
            f"About {self.calls:,} model calls ({parts}), fewer where replies are cached; at most about "
            f"{_millions(sent)} input and {_millions(got)} output tokens, {price}."
        )

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        too_dear = budget.max_cost_usd is not None and self.usd is not None and self.usd > budget.max_cost_usd
        too_long = budget.max_tokens is not None and self.tokens > budget.max_tokens
        return "This is more than the budget: the run may pause before it is finished." if too_dear or too_long else ""


def forecast(dataset: Dataset, manifest: RunManifest, *, prices: Prices) -> EvaluationForecast:
    """Count what the run will ask. The calls of memories that are not ours are not counted."""
    sizes = dict.fromkeys(WORDS, CallVolume())
    for episode in dataset.episodes:
        sizes = {purpose: sizes[purpose] + size for purpose, size in forecast_user(dataset, episode, manifest).items()}
    steps = sum(2 * len(episode.periods) + manifest.baselines for episode in dataset.episodes)
    total: float | None = 0.0
    for purpose, size in sizes.items():
        usage = Usage(input_tokens=size.input_tokens, output_tokens=size.output_tokens)
        price = prices.of(manifest.models[ROLES[purpose]], usage) if size.calls else None
        if price is not None:
            total = None if total is None or price.usd is None else total + price.usd
    return EvaluationForecast(sizes, steps, total)


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
