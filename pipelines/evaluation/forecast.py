"""The size of a run before its first call: calls exactly, tokens by common lengths of messages, and money."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from assets.amemgym.records.episode import Episode
from assets.llm.text import count_tokens
from assets.llm.usage import Usage
from assets.recipe.recipe import Budget
from pipelines.evaluation.assistants.registry import EMBEDDING_KINDS
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.plan import EvaluationOptions, RoleModels
from pipelines.evaluation.records import AssistantSpec
from pipelines.resources.ledger.prices import Prices

CallKind = Literal["replies", "memory_writes", "simulated_user", "checks", "interview", "baselines", "embeddings"]
WRITES = {"awe": 2, "awi": 1, "mem0": 1, "mem0-graph": 1}  # calls each time messages leave the short-term memory
# Common lengths in tokens.
REPLY, FOLLOW_UP, CHOICE, INSTRUCTIONS, FACT, NOTES, WRITTEN = 250, 40, 8, 150, 25, 600, 120
WHOLE_CONTEXT, NEIGHBOURS, TOP = 110_000, 4, 30
WORDS: dict[CallKind, str] = {
    "replies": "replies",
    "memory_writes": "memory writes",
    "simulated_user": "messages of the simulated user",
    "checks": "checks of these",
    "interview": "questions and states",
    "baselines": "baselines",
    "embeddings": "embeddings",
}
ROLES: dict[CallKind, str] = {"simulated_user": "user", "checks": "judge", "embeddings": "embedding"}


@dataclass(frozen=True)
class CallVolume:
    """Calls, and the tokens of all of them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def of(cls, calls: int, *, reading: float, writing: float) -> "CallVolume":
        """So many calls of this mean length."""
        return cls(calls, int(calls * reading), int(calls * writing))

    @classmethod
    def sum(cls, sizes: Iterable["CallVolume"]) -> "CallVolume":
        every = list(sizes)
        return cls(*(sum(getattr(size, name) for size in every) for name in ("calls", "input_tokens", "output_tokens")))


@dataclass(frozen=True)
class UserForecast:
    """What one user takes, by part; tokens of the whole conversation."""

    sizes: Mapping[CallKind, CallVolume]
    dialogue_tokens: int
    periods: int


@dataclass(frozen=True)
class ConversationLength:
    """A user's conversation: its length when each round begins, and at the end of each period."""

    before_round: list[int]
    after_period: list[int]
    sessions: int

    @classmethod
    def of(cls, dataset: Dataset, episode: Episode) -> "ConversationLength":
        """The conversation that the dataset prescribes."""
        length, before, after = 0, list[int](), list[int]()
        for index, period in enumerate(episode.periods):
            for session in period.sessions:
                for round_number in range(dataset.rounds.of(index)):
                    before.append(length)
                    length += (FOLLOW_UP if round_number else count_tokens(session.query)) + REPLY
            after.append(length)
        return cls(before, after, sum(len(period.sessions) for period in episode.periods))


def forecast_user(dataset: Dataset, episode: Episode, spec: AssistantSpec, options: EvaluationOptions) -> UserForecast:
    """Count one user's calls and their tokens."""
    conversation, probes = ConversationLength.of(dataset, episode), 1 + options.unknown_probe
    rounds = len(conversation.before_round)
    held, own = (0, 0) if options.replayed_run else (rounds, rounds - conversation.sessions)
    asked, writes = len(episode.periods) * len(episode.questions), _memory_writes(spec, rounds)
    schema = count_tokens(str(episode.state_schema.choices))
    option = count_tokens(episode.questions[0].answer_choices[0].answer) * len(episode.questions[0].answer_choices)
    bounds = sum(len(set(question.golden)) + 2 for question in episode.questions) if options.baselines else 0
    seen = mean(_context_tokens(spec, length) for length in conversation.after_period)
    simulator_prompt = INSTRUCTIONS + schema + FOLLOW_UP + REPLY
    profile = count_tokens(episode.user_profile.formatted_str)
    replies = mean(_context_tokens(spec, length) for length in conversation.before_round)
    embedded = held + writes + 2 * (asked + len(episode.periods) * probes)
    return UserForecast(
        sizes={
            "replies": CallVolume.of(held, reading=replies + FOLLOW_UP, writing=REPLY),
            "memory_writes": CallVolume.of(
                writes * WRITES.get(spec.kind, 0), reading=2 * INSTRUCTIONS + 2 * REPLY, writing=WRITTEN
            ),
            "simulated_user": CallVolume.of(own, reading=simulator_prompt + profile, writing=FOLLOW_UP),
            "checks": CallVolume.of(own, reading=simulator_prompt, writing=CHOICE),
            "interview": CallVolume.sum(
                [
                    CallVolume.of(asked, reading=seen + INSTRUCTIONS + option, writing=CHOICE),
                    CallVolume.of(len(episode.periods) * probes, reading=seen + INSTRUCTIONS + schema, writing=schema / 3),
                ]
            ),
            "baselines": CallVolume.of(bounds, reading=INSTRUCTIONS + option, writing=CHOICE),
            "embeddings": CallVolume.of(embedded if spec.kind in EMBEDDING_KINDS else 0, reading=REPLY, writing=0),
        },
        dialogue_tokens=conversation.after_period[-1],
        periods=len(episode.periods),
    )


def _memory_writes(spec: AssistantSpec, rounds: int) -> int:
    """How often messages leave the short-term memory."""
    if spec.kind not in (*EMBEDDING_KINDS, *WRITES):
        return 0
    freq, ns = _setting(spec, "freq", 2), _setting(spec, "ns", 4)
    return max(0, 2 * rounds - ns) // freq


def _context_tokens(spec: AssistantSpec, length: int) -> float:
    """Tokens that the assistant shows its model of a conversation of this length."""
    room = _setting(spec, "context_tokens", WHOLE_CONTEXT)
    if spec.kind not in (*EMBEDDING_KINDS, *WRITES):
        return min(length, room)
    memory = REPLY / 2 if spec.kind == "rag" else FACT
    memories = NOTES if spec.kind == "awi" else _setting(spec, "topk", TOP) * memory
    recent = _setting(spec, "ns", NEIGHBOURS) * REPLY / 2
    return min(length, memories + recent, room) + INSTRUCTIONS


def _setting(spec: AssistantSpec, name: str, default: int) -> int:
    value = spec.settings.get(name)
    return default if value is None else int(value)


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / max(len(every), 1)


@dataclass(frozen=True)
class EvaluationForecast:
    """Calls without re-asks; tokens by common lengths, good to about a factor of two.

    `dialogue_tokens`: length of the longest user's whole conversation. `steps`: checkpoints to come. `usd`: None
    where a price is unknown.
    """

    sizes: Mapping[CallKind, CallVolume]
    dialogue_tokens: int
    steps: int
    usd: float | None

    @property
    def calls(self) -> int:
        """Chat completions of the run; embeddings are not among them."""
        return sum(size.calls for part, size in self.sizes.items() if part != "embeddings")

    @property
    def tokens(self) -> int:
        """Input and output tokens in all."""
        return sum(size.input_tokens + size.output_tokens for size in self.sizes.values())

    @property
    def sentence(self) -> str:
        parts = ", ".join(f"{size.calls:,} {WORDS[part]}" for part, size in self.sizes.items() if size.calls)
        sent, got = (sum(getattr(size, name) for size in self.sizes.values()) for name in ("input_tokens", "output_tokens"))
        price = "at an unknown price" if self.usd is None else f"${self.usd:,.2f}"
        return (
            f"{self.calls:,} model calls ({parts}), fewer where replies are cached; about {_millions(sent)} input and "
            f"{_millions(got)} output tokens, {price}. A conversation grows to about {self.dialogue_tokens:,} tokens."
        )

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        too_dear = budget.max_cost_usd is not None and self.usd is not None and self.usd > budget.max_cost_usd
        too_long = budget.max_tokens is not None and self.tokens > budget.max_tokens
        return "This is more than the budget: the run may pause before it is finished." if too_dear or too_long else ""


def forecast(
    dataset: Dataset, spec: AssistantSpec, options: EvaluationOptions, *, roles: RoleModels, prices: Prices
) -> EvaluationForecast:
    """Count what the run will ask. Kinds of other packages are counted without their own memory's calls."""
    extents = [forecast_user(dataset, episode, spec, options) for episode in dataset.episodes]
    sizes: dict[CallKind, CallVolume] = {part: CallVolume.sum(extent.sizes[part] for extent in extents) for part in WORDS}
    return EvaluationForecast(
        sizes=sizes,
        dialogue_tokens=max(extent.dialogue_tokens for extent in extents),
        steps=sum(map(_steps, extents)),
        usd=_usd(sizes, spec, roles=roles, prices=prices),
    )


def _steps(extent: UserForecast) -> int:
    return 2 * extent.periods + bool(extent.sizes["baselines"].calls)


def _usd(sizes: Mapping[CallKind, CallVolume], spec: AssistantSpec, *, roles: RoleModels, prices: Prices) -> float | None:
    own = {"assistant": spec.settings.get("model"), "embedding": spec.settings.get("embedding_model")}
    total = 0.0
    for part, size in sizes.items():
        role = ROLES.get(part, "assistant")
        if size.calls:
            price = prices.of(
                str(own.get(role) or getattr(roles, role)),
                Usage(input_tokens=size.input_tokens, output_tokens=size.output_tokens),
            )
            if price.usd is None:
                return None
            total += price.usd
    return total


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
