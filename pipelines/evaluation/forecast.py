"""How large a run is, in calls, before the first one is made."""

from dataclasses import dataclass

from assets.records.episode import Episode
from assets.tokens import count_tokens
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.plan import Options
from pipelines.evaluation.records import AssistantSpec

WRITES = {"awe": 2, "awi": 1}  # calls each time messages leave the short-term memory
REPLY_TOKENS = 250  # a common length of an assistant's reply, for the size of the dialogue only


@dataclass(frozen=True)
class Forecast:
    """Calls of each kind, without re-asks.

    `dialogue_tokens`: length of the longest user's whole conversation, roughly. `steps`: what is kept when it is done.
    """

    replies: int
    memory_writes: int
    simulator: int
    interview: int
    baselines: int
    embeddings: int
    dialogue_tokens: int
    steps: int

    @property
    def calls(self) -> int:
        """Chat completions in all."""
        return self.replies + self.memory_writes + self.simulator + self.interview + self.baselines

    @property
    def sentence(self) -> str:
        """The forecast for a reader."""
        parts = {
            "replies": self.replies,
            "memory writes": self.memory_writes,
            "simulated user and its checks": self.simulator,
            "questions and states": self.interview,
            "baselines": self.baselines,
        }
        told = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
        embeddings = f" and {self.embeddings:,} embedding calls" if self.embeddings else ""
        return (
            f"{self.calls:,} model calls ({told}){embeddings}, fewer where replies are cached; "
            f"a conversation grows to about {self.dialogue_tokens:,} tokens."
        )


def forecast(dataset: Dataset, spec: AssistantSpec, options: Options) -> Forecast:
    """Count what the run will ask. Kinds of other packages are counted without their own memory's calls."""
    rounds = {episode.user_id: _rounds(dataset, episode) for episode in dataset.episodes}
    held = 0 if options.replayed_run else sum(rounds.values())
    opened = 0 if options.replayed_run else sum(len(p.sessions) for e in dataset.episodes for p in e.periods)
    freq, ns = int(spec.settings.get("freq") or 2), int(spec.settings.get("ns") or 0)
    writes = sum(max(0, 2 * count - ns) // freq for count in rounds.values()) if spec.kind in ("rag", "awe", "awi") else 0
    asks = sum(len(e.periods) * (len(e.questions) + 1 + options.unknown_probe) for e in dataset.episodes)
    bounds = sum(len(set(q.golden)) + 2 for e in dataset.episodes for q in e.questions) if options.baselines else 0
    return Forecast(
        replies=held,
        memory_writes=writes * WRITES.get(spec.kind, 0),
        simulator=2 * (held - opened),
        interview=asks,
        baselines=bounds,
        embeddings=held + writes + 2 * asks if spec.kind in ("rag", "awe") else 0,
        steps=sum(2 * len(episode.periods) + options.baselines for episode in dataset.episodes),
        dialogue_tokens=max(_tokens(episode, rounds[episode.user_id]) for episode in dataset.episodes),
    )


def _rounds(dataset: Dataset, episode: Episode) -> int:
    return sum(len(period.sessions) * dataset.rounds.of(index) for index, period in enumerate(episode.periods))


def _tokens(episode: Episode, rounds: int) -> int:
    queries = sum(count_tokens(session.query) for period in episode.periods for session in period.sessions)
    return queries + rounds * REPLY_TOKENS
