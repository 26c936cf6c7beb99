"""What a run works with, and one user's step of it: a counted model for each purpose, and an assistant that uses it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from assets.amemgym.records.episode import Episode
from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.recipe.recipe import Recipe
from pipelines.evaluation.assistant import Assistant, Evolvable, Tools
from pipelines.evaluation.assistants.registry import make_assistant
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.models import ModelPorts
from pipelines.evaluation.plan import Roles
from pipelines.evaluation.records import RunManifest, Turn
from pipelines.evaluation.spending import Count, CountedModel, Purpose, Spending, Toll
from pipelines.resources.llm.embeddings import ModelEmbedder


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `recorded`: the turns to replay, by user; None for on-policy."""

    manifest: RunManifest
    dataset: Dataset
    models: ModelPorts
    roles: Roles
    recipe: Recipe
    folder: RunFolder
    recorded: dict[str, list[Turn]] | None = None
    users_at_once: int = 32
    report: Callable[[str], None] = field(default=lambda step: None)

    @cached_property
    def aside(self) -> asyncio.Semaphore:
        """Slots for calls that no conversation waits for: those that the conversations leave free, but always a quarter."""
        talking = min(self.users_at_once, len(self.dataset.episodes))
        return asyncio.Semaphore(max(1, self.models.at_once // 4, self.models.at_once - talking))

    def step(self, user_id: str, *, policy: str | None = None) -> "Step":
        """A new step of one user, of which nothing has been counted."""
        return Step(self, user_id, policy)


@dataclass(frozen=True)
class Life:
    """One user's way through a run. `policy`: the section that an evolvable assistant has instead of its own."""

    run: Run
    episode: Episode
    policy: str | None = None

    def step(self) -> "Step":
        """A new step of this life."""
        return self.run.step(self.episode.user_id, policy=self.policy)


@dataclass(frozen=True)
class Aside:
    """A model for interviews and baselines. A user's next message waits for the last; these would only stand in its way."""

    model: LanguageModel
    slots: asyncio.Semaphore

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on when a slot is free."""
        async with self.slots:
            return await self.model.complete(request)


@dataclass(frozen=True)
class Step:
    """One user's step: a period lived, an interview, or the baselines."""

    run: Run
    user_id: str
    policy: str | None = None
    counts: dict[Purpose, Count] = field(default_factory=dict[Purpose, Count])

    def model(self, purpose: Purpose) -> CountedModel:
        """The run's model for this purpose."""
        ports, count = self.run.models, self.counts.setdefault(purpose, Count())
        model = ports.embeddings if purpose == "embeddings" else ports.chat
        if purpose in ("interview", "baselines", "recall"):
            model = Aside(model, self.run.aside)
        return CountedModel(model, ports.prices, self.user_id, purpose, count)

    def assistant(self, purpose: Purpose, state: bytes = b"") -> Assistant:
        """A new assistant that remembers what the snapshot holds."""
        roles, manifest = self.run.roles, self.run.manifest
        tools = Tools(
            model=self.model(purpose),
            embedder=ModelEmbedder(self.model("embeddings")),
            default_model=roles.assistant,
            default_embedding_model=roles.embedding,
            seed=manifest.seed + manifest.attempt,
        )
        made = make_assistant(manifest.assistant, tools)
        if self.policy is not None:
            assert isinstance(made, Evolvable)
            made = made.with_policy(self.policy)
        if state:
            made.restore(state)
        return made

    def toll(self, assistant: Assistant, purpose: Purpose) -> Toll:
        """What the step took. An assistant may count its own mishaps, in attributes of the toll's names."""
        spending = self.spending
        spending[purpose] = self.counts[purpose].spending.at_least(assistant.usage)
        return Toll(
            spending=spending,
            cut_calls=getattr(assistant, "cut_calls", 0),
            failed_writes=getattr(assistant, "failed_writes", 0),
        )

    @property
    def spending(self) -> dict[str, Spending]:
        """What the step's calls took so far, by purpose."""
        return {name: count.spending for name, count in self.counts.items() if count.spending.calls}
