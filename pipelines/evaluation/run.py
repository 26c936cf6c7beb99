"""A run: every item at once, each in its own steps; a memory that fails ends its item alone, and finished steps stay."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from assets.amemgym.recipe import AMemGymRecipe
from assets.llm.async_calls import wait_for_shielded_calls
from assets.llm.ports import LanguageModel, ModelReply, ModelRequest, RequestFailed
from assets.records.base import ItemFailed, Record
from pipelines.evaluation.amemgym.dataset import Dataset
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.hosting import MemoryFailed
from pipelines.evaluation.reasoning import Reasoner
from pipelines.evaluation.records import DialogueTurn, ErrorRow, RunManifest
from pipelines.evaluation.spending import CountedModel, Purpose
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.resources.open import ModelPorts

S = TypeVar("S", bound=Record)
T = TypeVar("T")
PAID_CALLS_SECONDS = 20.0  # that a run which stops waits for calls that are paid for
BACKGROUND: tuple[Purpose, ...] = ("interview", "baselines", "recall")


@dataclass(frozen=True)
class BackgroundModel:
    """A model for interviews and baselines. A user's next message waits for the last; these would only delay it."""

    model: LanguageModel
    slots: asyncio.Semaphore

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on when a slot is free."""
        async with self.slots:
            return await self.model.complete(request)


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `recorded`: the turns to replay, by user; None for on-policy."""

    manifest: RunManifest
    dataset: Dataset
    models: ModelPorts
    recipe: AMemGymRecipe
    folder: RunFolder
    recorded: dict[str, list[DialogueTurn]] | None = None
    users_at_once: int = 32
    deadline: float = 300.0
    report: Callable[[str], None] = field(default=lambda step: None)

    @cached_property
    def background_calls(self) -> asyncio.Semaphore:
        """Slots for calls that no conversation waits for: those that the conversations leave free, but always a quarter."""
        talking = min(self.users_at_once, len(self.dataset.episodes))
        return asyncio.Semaphore(max(1, self.models.at_once // 4, self.models.at_once - talking))

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Slots for items that are worked on at the same time."""
        return asyncio.Semaphore(self.users_at_once)

    def model(self, purpose: Purpose, *, item_id: str) -> CountedModel:
        """The run's model for this purpose, counted and labelled with the item."""
        model = self.models.embeddings if purpose == "embeddings" else self.models.chat
        if purpose in BACKGROUND:
            model = BackgroundModel(model, self.background_calls)
        return CountedModel(model, self.models.prices, item_id, purpose)

    def tools(self, item_id: str) -> MemoryTools:
        """What a memory of the item may use."""
        return MemoryTools(
            model=self.model("memory", item_id=item_id),
            embedder=ModelEmbedder(self.model("embeddings", item_id=item_id)),
            model_name=self.manifest.models["memory"],
            embedding_model=self.manifest.models["embedding"],
            seed=self.manifest.seed + self.manifest.attempt,
        )

    def reasoner(self, purpose: Purpose, *, item_id: str) -> Reasoner:
        """The reasoner, which is the same for every memory."""
        model, seed = self.model(purpose, item_id=item_id), self.manifest.seed + self.manifest.attempt
        return Reasoner(model, self.manifest.models["assistant"], seed)

    async def step(self, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
        """The step from its checkpoint; where there is none it is done now and stored."""
        done = await self.folder.read_step(key, kind)
        if done is None:
            done = await work()
            await self.folder.write_step(key, done)
        self.report(key)
        return done


class ItemStopped(Exception):
    """An item cannot go on after this period; `error` says why, and what was done until then stays."""

    def __init__(self, period: int, error: Exception) -> None:
        super().__init__(str(error))
        self.period, self.error = period, error


# What ends one item: its memory, or a request that the endpoint refuses while it serves others.
ENDS_ITEM = (MemoryFailed, RequestFailed, ItemFailed)


async def each_item(run: Run, items: Sequence[str], work: Callable[[str], Awaitable[T]]) -> tuple[dict[str, T], list[ErrorRow]]:
    """What became of each item, and a row for each that could not be finished; any other error ends the run."""

    async def one(item_id: str) -> T | ErrorRow:
        async with run.slots:
            try:
                return await work(item_id)
            except ItemStopped as stopped:
                sentence = f"User {item_id}, period {stopped.period}: {stopped.error}"
                run.folder.keep_trace(item_id, f"{sentence}\n{getattr(stopped.error, 'trace', '')}")
                return ErrorRow(user_id=item_id, period=stopped.period, sentence=sentence)

    tasks = [asyncio.ensure_future(one(item_id)) for item_id in items]
    try:
        done = dict(zip(items, await asyncio.gather(*tasks), strict=True))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
    return (
        {item_id: outcome for item_id, outcome in done.items() if not isinstance(outcome, ErrorRow)},
        [outcome for outcome in done.values() if isinstance(outcome, ErrorRow)],
    )
