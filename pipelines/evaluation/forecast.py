"""The size of a run before its first call: the run itself, played on one item of each length without a model.

Its requests are built and counted, and not sent. What is long in a request is known before: questions, what a memory recalls,
the dialogues. Replies have common lengths. The memory's own model is the embedded one, so that a memory that rewrites what it
hears has something to rewrite. Agents act on what models reply, so that they are counted by the steps that they usually take.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.llm.ports import BATCH_SHARE, LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Meter, Usage, request_tokens
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.run import Run, play_items
from pipelines.evaluation.spending import STAGE
from pipelines.evaluation.timeline.context import BATCHED
from pipelines.evaluation.timeline.steps import Act, Ask, Gradable, Perceived, Timeline, Write
from pipelines.memories.contract import MemorySpec
from pipelines.memories.kinds import is_ours
from pipelines.opening.models import ModelPorts
from pipelines.resources.ledger.budget import warn_of_small_budget
from pipelines.resources.ledger.prices import Prices

# Tokens of a reply and of a message of the simulated user in dialogues; those of the embedded model are short.
DIALOGUE = {"dialogue": 250, "simulator": 40}
EMBEDDED_DIALOGUE = {"dialogue": 30, "simulator": 11}
WORD = "word "  # a token
ACTION = 8  # tokens of an agent's step
INSTRUCTIONS = 250
SEARCHES = 4  # of an agent that asks its memory by a tool; their texts stay in sight
# Plays a memory of others, which is not to be told what nobody lived: it gives back all that it may.
STAND_IN = MemorySpec(name="full-history", kind="full-history")
WORDS = {
    "dialogue": "replies",
    "memory": "memory writes",
    "embeddings": "requests of embeddings",
    "simulator": "messages of the simulated user and checks of these",
    "interview": "questions and states",
    "baselines": "baselines and conditions of isolated scores",
}
# Whose price a purpose's calls have.
ROLES = {
    "dialogue": "assistant",
    "memory": "memory",
    "embeddings": "embedding",
    "simulator": "user",
    "interview": "assistant",
    "baselines": "assistant",
}


@dataclass(frozen=True)
class EvaluationForecast:
    """Calls without re-asks by purpose. `steps`: checkpoints to come. `usd`: None where a price is unknown.

    `rehearsed`: tokens are those of the run's own memory, else the most that they may be, as a memory may give back less.
    """

    sizes: Mapping[str, Usage]
    steps: int
    usd: float | None
    rehearsed: bool = False

    def __add__(self, other: "EvaluationForecast") -> "EvaluationForecast":
        sizes = {purpose: size + other.sizes[purpose] for purpose, size in self.sizes.items()}
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return EvaluationForecast(sizes, self.steps + other.steps, usd, self.rehearsed and other.rehearsed)

    @property
    def usage(self) -> Usage:
        """All calls of the run and their tokens, as its progress and its end count them."""
        return sum(self.sizes.values(), Usage())

    @property
    def calls(self) -> int:
        return self.usage.calls

    @property
    def tokens(self) -> int:
        """Input and output tokens in all."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def sentence(self) -> str:
        parts = list[str]()
        for purpose, size in self.sizes.items():
            if size.calls:
                parts.append(f"{size.calls:,} {WORDS[purpose]}")
        most = "" if self.rehearsed else "at most "
        price = "at an unknown price" if self.usd is None else f"${self.usd:,.2f}"
        return (
            f"About {counted(self.calls, 'model call')} ({', '.join(parts)}), fewer where replies are cached; {most}about "
            f"{_millions(self.usage.input_tokens)} input and {_millions(self.usage.output_tokens)} output tokens, {price}."
        )

    def for_other_items(self, times: float) -> str:
        """Return the sentence on as many other items, as a multiple of these."""
        usage = self.usage
        tokens = f"{_millions(times * usage.input_tokens)} input and {_millions(times * usage.output_tokens)} output tokens"
        price = "at an unknown price" if self.usd is None else f"${times * self.usd:,.2f}"
        return f"To ask them takes about {times * usage.calls:,.0f} calls, at most about {tokens}, {price}."

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        return warn_of_small_budget(budget, tokens=self.tokens, usd=self.usd)


async def forecast_run(run: Run, *, embedded: ModelPorts) -> EvaluationForecast:
    """Return what the run will take, without the calls that a memory of others makes. `embedded`: the embedded model."""
    memory = run.manifest.memory
    own = is_ours(memory.kind) and not memory.whole
    if not own:
        run = replace(run, manifest=run.manifest.model_copy(update={"memory": STAND_IN}))
    sizes = dict.fromkeys(WORDS, Usage())
    steps = 0
    by_length = dict[int, list[Timeline]]()
    for timeline in run.timelines:
        by_length.setdefault(timeline.length, []).append(timeline)
        steps += timeline.in_run(alone=run.manifest.is_alone).checkpoints * len(timeline.lives(run.manifest))
    acted = any(map(_is_acted, run.timelines))
    for timelines in by_length.values():
        taken = _count_acted(timelines[0], run.manifest) if acted else await _rehearse(run, timelines[0], embedded)
        for purpose, used in taken.items():
            if purpose in sizes:
                sizes[purpose] += times(used, len(timelines))
    usd = price_sizes(sizes, run.manifest, prices=run.models.prices, batch=run.batch)
    return EvaluationForecast(sizes, steps, usd, rehearsed=own and not acted)


def times(used: Usage, count: int) -> Usage:
    """Return the calls and tokens of so many alike."""
    return Usage(calls=count * used.calls, input_tokens=count * used.input_tokens, output_tokens=count * used.output_tokens)


async def _rehearse(run: Run, timeline: Timeline, embedded: ModelPorts) -> Mapping[str, Usage]:
    """Play an item without a model, and return what it took by purpose."""
    is_embedded = run.manifest.models["assistant"].startswith(MODEL_FAMILY)
    actor = RehearsalModel(EMBEDDED_DIALOGUE if is_embedded else DIALOGUE, embedded.chat)
    models = replace(run.models, chat=actor, embeddings=EmbeddedNames(embedded.embeddings))
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        rehearsal = replace(run, models=models, folder=RunFolder(Path(folder)), meter=Meter())
        [played] = await play_items(rehearsal, [timeline])
        rehearsal.folder.close()
    return played.rows.usage.spending


def _is_acted(timeline: Timeline) -> bool:
    """Return True where an agent acts in an episode."""
    return any(isinstance(gradable, Act) or gradable.calls > 1 for gradable in timeline.gradables)


def _count_acted(timeline: Timeline, manifest: RunManifest) -> Mapping[str, Usage]:
    """Return what an agent asks by purpose, in steps as it usually takes, where all is recalled that may be."""
    conditions = () if manifest.alone and not manifest.is_alone else manifest.conditions
    sizes = {"interview": Usage(), "baselines": Usage(), "simulator": Usage()}
    perceived = 0
    for step in timeline.in_run(alone=manifest.is_alone).steps:
        asked = list[tuple[Gradable, int]]()  # with the tokens that could be recalled
        if isinstance(step, Write):
            perceived += Perceived(step.events).tokens
        elif isinstance(step, Act):
            asked.append((step, step.in_sight))
            sizes["simulator"] += _calls_of(2 * step.simulated_messages, reading=INSTRUCTIONS + ACTION)
        elif isinstance(step, Ask):
            asked += [(question, perceived) for question in step.questions]
        for gradable, held in asked:
            task = INSTRUCTIONS + gradable.tokens
            searches = SEARCHES if manifest.recall_at == "tool" else 1
            budgets = () if manifest.is_alone else (manifest.tokens, *manifest.curve)
            for budget in budgets:
                sizes["interview"] += _calls_of(gradable.calls, reading=task + searches * min(held, budget))
            others = len(conditions) + (len(manifest.arms) if budgets else 0)
            sizes["baselines"] += _calls_of(gradable.calls * others, reading=task)
            if "everything" in conditions:
                sizes["baselines"] += Usage(input_tokens=gradable.calls * held)
    return sizes


def _calls_of(calls: int, *, reading: int) -> Usage:
    return Usage(calls=calls, input_tokens=calls * reading, output_tokens=calls * ACTION)


@dataclass(frozen=True)
class EmbeddedNames:
    """The embedded model in the place of any model."""

    model: LanguageModel

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self.model.complete(replace(request, model=model_name(), extra_body={}))


@dataclass(frozen=True)
class RehearsalModel:
    """Replies of the right form. `lengths`: the tokens of texts by purpose; `memory`: the model that replies to memories."""

    lengths: Mapping[str, int]
    memory: LanguageModel

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return a reply with the tokens that the request has by our estimate."""
        purpose = request.labels.stage.removeprefix(f"{STAGE} ")
        if purpose == "memory":
            text = (await EmbeddedNames(self.memory).complete(request)).text
        elif request.json_schema is not None:
            text = json.dumps(value_of(request.json_schema))
        else:
            text = WORD * self.lengths.get(purpose, 1)
        return ModelReply(text=text, finish="stop", input_tokens=request_tokens(request), output_tokens=count_tokens(text))


def value_of(schema: Mapping[str, Any]) -> object:
    """Return the shortest value of a schema: its first choice, no entries, an empty text."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: value_of(own) for name, own in schema["properties"].items()}
    return [] if schema.get("type") == "array" else ""


def price_sizes(sizes: Mapping[str, Usage], manifest: RunManifest, *, prices: Prices, batch: bool) -> float | None:
    """Return the dollars of calls by purpose; None where one price is unknown. `batch`: as `EvaluationContext` has it."""
    total = 0.0
    for purpose, size in sizes.items():
        if not size.calls:
            continue
        usd = prices.of(manifest.models[ROLES[purpose]], size).usd
        if usd is None:
            return None
        total += usd * BATCH_SHARE if batch and purpose in BATCHED else usd
    return total


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
