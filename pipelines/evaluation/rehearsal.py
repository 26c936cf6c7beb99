"""A run played on one item of each length without a model: its requests are built and counted, and not sent.

What is long in a request is known before: questions, what a memory recalls, the dialogues. Replies have common lengths. The
memory's own model is the embedded one, so that a memory that rewrites what it hears has something to rewrite.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Meter, Usage, request_tokens
from assets.text.words import count_tokens
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.evaluation.folder import RunFolder
from pipelines.evaluation.forecast import FOLLOW_UP, REPLY, EvaluationForecast, forecast_run, price_sizes
from pipelines.evaluation.run import Run, play_items
from pipelines.evaluation.spending import STAGE
from pipelines.evaluation.timeline.steps import Act, Ask, Timeline
from pipelines.memories.registry import is_ours
from pipelines.opening.models import ModelPorts

# Tokens of a reply and of a message of the simulated user in dialogues; those of the embedded model are short.
DIALOGUE = {"dialogue": REPLY, "simulator": FOLLOW_UP}
EMBEDDED_DIALOGUE = {"dialogue": 30, "simulator": 11}
WORD = "word "  # a token


async def rehearse_run(run: Run, *, embedded: ModelPorts) -> EvaluationForecast:
    """Return what the run will take; by its steps alone where nothing can be rehearsed.

    Agents act on what models reply, and memories of others are not to be told what nobody lived. `embedded`: the embedded
    model.
    """
    counted = forecast_run(run.timelines, run.manifest, prices=run.models.prices, batch=run.batch)
    by_length = dict[int, list[Timeline]]()
    for timeline in run.timelines:
        by_length.setdefault(timeline.length, []).append(timeline)
    if run.manifest.memory.whole or not is_ours(run.manifest.memory.kind) or _is_acted(run.timelines[0]):
        return counted
    sizes = dict.fromkeys(counted.sizes, Usage())
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        is_embedded = run.manifest.models["assistant"].startswith(MODEL_FAMILY)
        actor = RehearsalModel(EMBEDDED_DIALOGUE if is_embedded else DIALOGUE, embedded.chat)
        models = replace(run.models, chat=actor, embeddings=EmbeddedNames(embedded.embeddings))
        for length, timelines in by_length.items():
            place = Path(folder) / str(length)
            place.mkdir()
            rehearsal = replace(run, models=models, folder=RunFolder(place), meter=Meter())
            [played] = await play_items(rehearsal, timelines[:1])
            rehearsal.folder.close()
            for purpose, used in played.rows.usage.spending.items():
                if purpose in sizes:
                    sizes[purpose] += times(used, len(timelines))
    usd = price_sizes(sizes, run.manifest, prices=run.models.prices, batch=run.batch)
    return replace(counted, sizes=sizes, usd=usd, rehearsed=True)


def times(used: Usage, count: int) -> Usage:
    """Return the calls and tokens of so many alike."""
    return Usage(calls=count * used.calls, input_tokens=count * used.input_tokens, output_tokens=count * used.output_tokens)


def _is_acted(timeline: Timeline) -> bool:
    """Return True where an agent acts in an episode."""
    for step in timeline.steps:
        if isinstance(step, Act) or (isinstance(step, Ask) and any(question.calls > 1 for question in step.questions)):
            return True
    return False


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
