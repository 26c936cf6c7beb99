"""What every step of a run works with: the plan, the models, the folder of its checkpoints, and where memories are made."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from assets.llm.ports import CallLabels
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.model_policy import AskSettings, Models
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.isolated import ReasonerWithMemory
from pipelines.evaluation.reasoning import Reasoner
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.spending import (
    ROLE_OF_PURPOSE,
    STAGE,
    Checkpoint,
    CountedModel,
    Purpose,
    StepUsage,
    count_call,
    count_halved_text,
    count_opened,
    count_usage,
)
from pipelines.memories.failures import WAITS, Retries
from pipelines.memories.hosting.confinement import CONFINED, Confinement, boundary_of, host_memory
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.tools import MemoryTools
from pipelines.opening.models import ModelPorts
from pipelines.resources.llm.embeddings import ModelEmbedder

S = TypeVar("S", bound=Checkpoint)
# A user's next message waits for the last; these would only delay it, and go when no other waits.
BATCHED: tuple[Purpose, ...] = ("interview", "baselines")
BACKGROUND: tuple[Purpose, ...] = (*BATCHED, "recall")


@dataclass(frozen=True, kw_only=True)
class EvaluationContext:
    """All that a step works with. `report` is told the key of each step that is done.

    `waits`: seconds before a memory's call is made again that failed for a reason which passes. `batch`: what nothing waits
    for is asked in batch jobs.
    """

    manifest: RunManifest
    models: ModelPorts
    folder: RunFolder
    items_at_once: int = 32
    batch: bool = False
    deadline: float = 300.0
    waits: Sequence[float] = WAITS
    confinement: Confinement = CONFINED
    report: Callable[[str], None] = field(default=lambda step: None)
    meter: Meter = field(default_factory=Meter)

    @property
    def seed(self) -> int:
        """The seed of calls: each attempt has its own."""
        return self.manifest.seed + self.manifest.attempt

    @cached_property
    def asking(self) -> AskSettings:
        """The settings with which the simulated user and its judge are asked."""
        models = dict[str, dict[str, object]]()
        for field_name, role in (("user_simulator", "user"), ("judge", "judge")):
            if role in self.manifest.models:
                extra_body = self.manifest.extra_body.get(role, {})
                models[field_name] = {"model": self.manifest.models[role], "extra_body": extra_body}
        # Unlike other calls, these tell attempts apart by `sample`.
        return AskSettings(Models.model_validate(models), max_reasks=1, seed=self.manifest.seed, sample=self.manifest.attempt)

    def model(self, purpose: Purpose, *, item_id: str) -> CountedModel:
        """Return the run's model for this purpose, counted and labelled with the item."""
        asked = self.models.embeddings if purpose == "embeddings" else self.models.chat
        labels = CallLabels(stage=f"{STAGE} {purpose}", item_id=item_id, rank=int(purpose in BACKGROUND))
        model = MeteredModel(asked, labels, self.meter)
        extra_body = self.manifest.extra_body.get(ROLE_OF_PURPOSE.get(purpose, ""), {})
        transport = "batch" if self.batch and purpose in BATCHED else "live"
        return CountedModel(model, self.models.prices, purpose, extra_body, self.manifest.reply_tokens, transport)

    def tools(self, item_id: str) -> MemoryTools:
        """Return the models that a memory of the item may use."""
        return MemoryTools(
            model=self.model("memory", item_id=item_id),
            embedder=ModelEmbedder(self.model("embeddings", item_id=item_id), report_split=count_halved_text),
            model_name=self.manifest.models["memory"],
            embedding_model=self.manifest.models.get("embedding", ""),
            seed=self.seed,
            more_models=self.manifest.more_models,
        )

    def host(self, item_id: str) -> MemoryHost:
        """Return the host that makes and calls the memories of the item."""
        return host_memory(
            self.manifest.memory,
            self.tools(item_id),
            confinement=replace(self.confinement, opened=count_opened),
            deadline=self.deadline,
            settle=self.manifest.settle,
            retries=Retries(self.waits, count_call),
        )

    def bare(self, item_id: str) -> ReasonerWithMemory:
        """Return the reasoner without a memory, for baselines and the conditions of isolated scores."""
        return ReasonerWithMemory(self.reasoner("baselines", item_id=item_id), None)

    def reasoner(self, purpose: Purpose, *, item_id: str) -> Reasoner:
        """Return the reasoner, which is the same for every memory."""
        model = self.model(purpose, item_id=item_id)
        return Reasoner(model, self.manifest.models["assistant"], self.seed, self.manifest.later_holds)

    async def step(self, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
        """Return the step from its checkpoint; where there is none, do it now and store it with the usage of its calls."""
        done = await self.folder.read_step(key, kind)
        if done is None:
            with count_usage(alone=True) as used:
                done = await work()
            boundary = boundary_of(self.manifest.memory, in_process=self.confinement.in_process)
            done = done.model_copy(update={"usage": done.usage + used.step_usage() + StepUsage(boundaries=(boundary,))})
            await self.folder.write_step(key, done)
        self.report(key)
        return done
