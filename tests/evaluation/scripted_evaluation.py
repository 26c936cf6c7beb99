"""A small evaluation for tests: users who state their values in JSON, and a model that believes what it can read.

The episodes are the scenario's, but queries and answers spell states out, so that memory alone decides what is known.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.llm.ports import EndpointError, LanguageModel, ModelReply, ModelRequest, Vector
from assets.llm.usage import request_tokens
from assets.text.words import count_tokens
from dataset_card.amemgym.reference.settings import DataSettings
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.command import evaluate_and_write, with_alone
from pipelines.evaluation.folder import FinishedRun, RunFolder
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import manifest_of
from pipelines.evaluation.run import BenchmarkTasks, Run
from pipelines.memories.contract import MemorySpec
from pipelines.opening.models import ModelPorts
from pipelines.resources.ledger.prices import OwnPrice, Prices
from pipelines.resources.llm.embeddings import pack_vector
from tests.support.coroutines import run
from tests.support.scenario import episode as scenario_episode
from tests.support.scenario import varied

SETTINGS = DataSettings(num_rounds_initial=1, num_rounds_update=2)
MODELS = {
    "assistant": "test-model",
    "memory": "test-model",
    "embedding": "test-embedding",
    "user": "test-user",
    "judge": "test-judge",
}
FULL = MemorySpec(name="full-history", kind="full-history")
# A dollar per million tokens read, two per million written; embeddings cost nothing.
PRICES = Prices({"test-model": OwnPrice(input=1, output=2), "test-embedding": OwnPrice(input=0, output=0)})
OBJECT = re.compile(r"\{[^{}]*\{[^{}]*\}[^{}]*\}|\{[^{}]*\}")


def episode(user_id: str = "ada") -> Episode:
    """One user; the states change as in the scenario."""
    whole = scenario_episode(user_id)
    periods = tuple(
        varied(period, sessions=tuple(varied(s, query=json.dumps(s.exposed_states)) for s in period.sessions))
        for period in whole.periods
    )
    questions = tuple(
        varied(
            question,
            answer_choices=tuple(
                varied(choice, answer=json.dumps(dict(zip(question.required_info, choice.state, strict=True))))
                for choice in question.answer_choices
            ),
        )
        for question in whole.questions
    )
    return varied(whole, periods=periods, questions=questions)


def dataset(*user_ids: str) -> AMemGymDataset:
    return AMemGymDataset("rehearsal", "d" * 64, tuple(map(episode, user_ids or ("ada", "ben"))), SETTINGS)


def tasks(*user_ids: str) -> AMemGymTasks:
    return AMemGymTasks(dataset(*user_ids))


def believed(request: ModelRequest) -> dict[str, str]:
    """What the request's conversation and memories say, the last word on each variable."""
    found: dict[str, str] = {}
    for message in request.messages[:-1]:
        if message.role != "assistant":
            for match in re.finditer(r'"((?:[^"\\]|\\.)*)": ("(?:[^"\\]|\\.)*")', message.content):
                found[json.loads(f'"{match[1]}"')] = json.loads(match[2])
    return found


def fenced(text: str, tag: str) -> str:
    """The text between the first pair of these tags, or ""."""
    match = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return match[1] if match else ""


def choose(request: ModelRequest) -> object:
    """The first option that contradicts nothing believed; the state is believed where it is given."""
    text = request.messages[-1].content
    known = json.loads(fenced(text, "state") or "{}") or believed(request)
    lines = [line.partition(". ") for line in fenced(text, "choices").splitlines()]
    options = {int(number): json.loads(content) for number, _, content in lines}
    fitting = [number for number, state in options.items() if all(known.get(name) == value for name, value in state.items())]
    return {"answer": (fitting or [1])[0]}


def tell_states(request: ModelRequest) -> object:
    """The believed values; for others the first value."""
    known = believed(request)
    offered: dict[str, list[str]] = json.loads(fenced(request.messages[-1].content, "state_schema"))
    return {name: known[name] if known.get(name) in values else values[0] for name, values in offered.items()}


def facts(request: ModelRequest) -> object:
    """Each user line is a fact."""
    lines = fenced(request.messages[-1].content, "conversation").splitlines()
    return {"facts": [line.partition("user: ")[2] for line in lines if line.startswith("user: ")]}


def add_all(request: ModelRequest) -> object:
    """A change that adds a memory, for each fact."""
    found: list[str] = json.loads(fenced(request.messages[-1].content, "facts"))
    return {"memory": [{"id": "", "text": fact, "event": "ADD"} for fact in found]}


def notes(request: ModelRequest) -> object:
    """Notes with the values that the conversation states."""
    return believed(replace(request, messages=(request.messages[-1], request.messages[-1])))


HONEST: dict[str, Any] = {
    "chat": "Noted.",
    "evaluation_choose_answer": choose,
    "evaluation_choose_with_state": choose,
    "evaluation_tell_states": tell_states,
    "evaluation/follow_up": "And what else could I try?",
    "evaluation/check_turn": {"told": []},
    "memories/extract_facts": facts,
    "memories/reconcile_memories": add_all,
    "memories/update_notes": notes,
}


@dataclass
class HonestModel:
    """The LanguageModel port, honest but for the prompts that the script names; fails after so many calls."""

    script: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls_left: int = 1_000_000
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply, as the prompt's name in the labels says."""
        if self.calls_left <= 0:
            raise EndpointError("The endpoint is gone.")
        self.calls_left -= 1
        self.requests.append(request)
        answer = {**HONEST, **self.script}[request.labels.prompt]
        content = answer(request) if callable(answer) else answer
        text = content if isinstance(content, str) else json.dumps(content)
        return ModelReply(text=text, finish="stop", input_tokens=10, output_tokens=2)

    def asked(self, prompt: str) -> list[ModelRequest]:
        return [request for request in self.requests if request.labels.prompt == prompt]


class CountingModel(HonestModel):
    """An honest model that says how many tokens its calls have."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await super().complete(request)
        return replace(reply, input_tokens=request_tokens(request), output_tokens=count_tokens(reply.text))


class LetterEmbedder:
    """An Embedder that counts letters, so that texts with like spelling are near."""

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """1, and the counts of the letters a to z."""
        return [(1.0, *(float(text.lower().count(chr(97 + place))) for place in range(26))) for text in texts]


class LetterVectors:
    """The same as a LanguageModel that carries embeddings."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One packed vector for each message, a line each."""
        found = await LetterEmbedder().embed([message.content for message in request.messages], model=request.model)
        return ModelReply(text="\n".join(map(pack_vector, found)), finish="stop", input_tokens=5, output_tokens=0)


def run_of(
    folder: Path, model: LanguageModel, *, data: BenchmarkTasks | None = None, spec: MemorySpec = FULL, **changes: Any
) -> Run:
    """A run in the folder; options by keyword."""
    data, options = data or tasks(), EvaluationOptions(seed=7, **changes)
    manifest = manifest_of(data, spec, options, models={role: MODELS[role] for role in data.info.roles})
    models = ModelPorts(chat=model, embeddings=LetterVectors(), prices=PRICES)
    made = Run(manifest=manifest, tasks=data, models=models, folder=RunFolder(folder / manifest.run_id), batch=options.batch)
    return with_alone(made, places={}, models=models) if manifest.alone else made


def finish(work: Run) -> FinishedRun:
    """The finished run, with its files written."""
    return run(evaluate_and_write(work))
