"""What evaluating one user takes: calls exactly, tokens by common lengths of messages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from assets.amemgym.records.episode import Episode
from assets.llm.tokens import count_tokens
from pipelines.evaluation.assistants.registry import EMBEDDING_KINDS
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.plan import Options
from pipelines.evaluation.records import AssistantSpec

Part = Literal["replies", "memory_writes", "simulated_user", "checks", "interview", "baselines", "embeddings"]
WRITES = {"awe": 2, "awi": 1, "mem0": 1, "mem0-graph": 1}  # calls each time messages leave the short-term memory
# Common lengths in tokens.
REPLY, FOLLOW_UP, CHOICE, INSTRUCTIONS, FACT, NOTES, WRITTEN = 250, 40, 8, 150, 25, 600, 120
WHOLE_CONTEXT, NEIGHBOURS, TOP = 110_000, 4, 30


@dataclass(frozen=True)
class Size:
    """Calls, and the tokens of all of them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def of(cls, calls: int, *, reading: float, writing: float) -> "Size":
        """So many calls of this mean length."""
        return cls(calls, int(calls * reading), int(calls * writing))

    @classmethod
    def sum(cls, sizes: Iterable["Size"]) -> "Size":
        """All of them."""
        every = list(sizes)
        return cls(*(sum(getattr(size, name) for size in every) for name in ("calls", "input_tokens", "output_tokens")))


@dataclass(frozen=True)
class Extent:
    """What one user takes, by part; tokens of the whole conversation."""

    sizes: Mapping[Part, Size]
    dialogue_tokens: int
    periods: int


@dataclass(frozen=True)
class Life:
    """A user's conversation: its length when each round begins, and at the end of each period."""

    before_round: list[int]
    after_period: list[int]
    sessions: int

    @classmethod
    def of(cls, dataset: Dataset, episode: Episode) -> "Life":
        """The conversation that the dataset prescribes."""
        length, before, after = 0, list[int](), list[int]()
        for index, period in enumerate(episode.periods):
            for session in period.sessions:
                for place in range(dataset.rounds.of(index)):
                    before.append(length)
                    length += (FOLLOW_UP if place else count_tokens(session.query)) + REPLY
            after.append(length)
        return cls(before, after, sum(len(period.sessions) for period in episode.periods))


def extent_of(dataset: Dataset, episode: Episode, spec: AssistantSpec, options: Options) -> Extent:
    """Count one user's calls and their tokens."""
    life, probes = Life.of(dataset, episode), 1 + options.unknown_probe
    rounds = len(life.before_round)
    held, own = (0, 0) if options.replayed_run else (rounds, rounds - life.sessions)
    asked, writes = len(episode.periods) * len(episode.questions), _writes(spec, rounds)
    schema = count_tokens(str(episode.state_schema.choices))
    option = count_tokens(episode.questions[0].answer_choices[0].answer) * len(episode.questions[0].answer_choices)
    bounds = sum(len(set(question.golden)) + 2 for question in episode.questions) if options.baselines else 0
    seen = _mean(_seen(spec, length) for length in life.after_period)
    scene = INSTRUCTIONS + schema + FOLLOW_UP + REPLY
    profile = count_tokens(episode.user_profile.formatted_str)
    replies = _mean(_seen(spec, length) for length in life.before_round)
    embedded = held + writes + 2 * (asked + len(episode.periods) * probes)
    return Extent(
        sizes={
            "replies": Size.of(held, reading=replies + FOLLOW_UP, writing=REPLY),
            "memory_writes": Size.of(writes * WRITES.get(spec.kind, 0), reading=2 * INSTRUCTIONS + 2 * REPLY, writing=WRITTEN),
            "simulated_user": Size.of(own, reading=scene + profile, writing=FOLLOW_UP),
            "checks": Size.of(own, reading=scene, writing=CHOICE),
            "interview": Size.sum(
                [
                    Size.of(asked, reading=seen + INSTRUCTIONS + option, writing=CHOICE),
                    Size.of(len(episode.periods) * probes, reading=seen + INSTRUCTIONS + schema, writing=schema / 3),
                ]
            ),
            "baselines": Size.of(bounds, reading=INSTRUCTIONS + option, writing=CHOICE),
            "embeddings": Size.of(embedded if spec.kind in EMBEDDING_KINDS else 0, reading=REPLY, writing=0),
        },
        dialogue_tokens=life.after_period[-1],
        periods=len(episode.periods),
    )


def _writes(spec: AssistantSpec, rounds: int) -> int:
    """How often messages leave the short-term memory."""
    if spec.kind not in (*EMBEDDING_KINDS, *WRITES):
        return 0
    freq, ns = _setting(spec, "freq", 2), _setting(spec, "ns", 4)
    return max(0, 2 * rounds - ns) // freq


def _seen(spec: AssistantSpec, length: int) -> float:
    """Tokens of a conversation of this length that the assistant lays before its model."""
    room = _setting(spec, "context_tokens", WHOLE_CONTEXT)
    if spec.kind not in (*EMBEDDING_KINDS, *WRITES):
        return min(length, room)
    memory = REPLY / 2 if spec.kind == "rag" else FACT
    found = NOTES if spec.kind == "awi" else _setting(spec, "topk", TOP) * memory
    recent = _setting(spec, "ns", NEIGHBOURS) * REPLY / 2
    return min(length, found + recent, room) + INSTRUCTIONS


def _setting(spec: AssistantSpec, name: str, default: int) -> int:
    value = spec.settings.get(name)
    return default if value is None else int(value)


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / max(len(every), 1)
