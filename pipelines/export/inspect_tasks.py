"""Inspect: a release's questions as a task for any of its models, and any memory here as the way its agents compact.

`inspect eval pipelines/export/inspect_tasks.py -T release=demo -T memory=bm25 --model PROVIDER/MODEL`. A memory's own model is
the one that is evaluated; embeddings come from where `amemgym` gets them.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionStrategy,
    GenerateConfig,
    Model,
    get_model,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.tool import ToolInfo

from assets.llm.ports import Embedder, FinishReason, ModelReply, ModelRequest, Vector
from assets.text.words import count_tokens
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import MEMORY_CHECK
from pipelines.evaluation.reasoning import NOTHING_RECALLED
from pipelines.evaluation.sources import open_tasks
from pipelines.export.documents import exported_questions
from pipelines.export.environment_files.question_episodes import grade_reply, question_text
from pipelines.export.rows import ExportedDocument, ExportedQuestion
from pipelines.home import home
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.hosting.hosted import HostedMemory, MemoryHost
from pipelines.memories.kinds import embeds
from pipelines.memories.registry import find_memory
from pipelines.memories.tools import MemoryTools
from pipelines.opening.models import open_models
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.resources.storage.open_stores import open_release_store

QUESTION = "question"  # as it is exported, in a sample's metadata
RECALLED = "What a memory gives back of the conversation before:\n\n"


@task
def questions(
    release: str,
    memory: str = "full-history",
    tokens: int = 2_000,
    window: int = 1_000,
    users: int | None = None,
    embedding_model: str = "",
) -> Task:
    """Ask every question of a release, with what a memory gives back in `tokens`, and the last `window` tokens in sight."""
    tasks = open_tasks(release, release_store=open_release_store(home())).first(users)
    view = exported_questions(tasks)
    samples = [_sample(question, view.documents) for question in view.questions]
    remembering = remember(memory, tokens=tokens, window=window, embedding_model=embedding_model)
    return Task(
        dataset=MemoryDataset(samples, name=tasks.info.name),
        solver=[remembering, generate()],
        scorer=graded(),
        version=tasks.info.digest,
    )


def _sample(question: ExportedQuestion, documents: Sequence[ExportedDocument]) -> Sample:
    """Return a question as a sample: all that was said or read until then are its messages, the question the last."""
    messages: list[ChatMessage] = []
    for document in documents:
        if document.user_id == question.user_id and document.period <= question.period:
            messages.append(ChatMessageUser(content=f"[{document.at}] {document.text}" if document.at else document.text))
    messages.append(ChatMessageUser(content=question_text(question)))
    return Sample(
        id=question.id,
        input=messages,
        target=question.gold_answer,
        metadata={"group": question.user_id, "category": question.category, QUESTION: question.model_dump_json()},
    )


@solver
def remember(memory: str, *, tokens: int, window: int, embedding_model: str = "") -> Solver:
    """Let a memory take in what leaves the window, before the last message is answered with what it gives back."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        strategy = CompactionMemory(memory, tokens=tokens, window=window, embedding_model=embedding_model)
        try:
            state.messages, _ = await strategy.compact(get_model(), state.messages, [])
        finally:
            await strategy.close()
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def graded() -> Scorer:
    """Score an answer as every export does, by the graders of `amemgym evaluate`."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        right = grade_reply(ExportedQuestion.model_validate_json(state.metadata[QUESTION]), answer)
        return Score(value=CORRECT if right else INCORRECT, answer=answer)

    return score


class CompactionMemory(CompactionStrategy):
    """Compacts a conversation by a memory: what leaves the window is written to it, and replaced by what it recalls.

    `memory`: whatever `amemgym evaluate --memory` takes. `tokens`: what it may give back. `window`: what stays in sight.
    `threshold`: Inspect's, from where on it asks for a compaction.
    """

    def __init__(
        self,
        memory: str,
        *,
        tokens: int = 1_000,
        window: int = 4_000,
        threshold: int | float = 0.9,
        embedding_model: str = "",
    ) -> None:
        super().__init__(type="summary", threshold=threshold, memory=False)
        self.spec = find_memory(memory)
        self.tokens = tokens
        self.window = window
        self.embedding_model = embedding_model
        self._hosts: list[MemoryHost] = []
        # By the message that holds what was recalled: a conversation that is compacted again goes on from there.
        self._memories: dict[str | None, HostedMemory] = {}
        self._stack = ExitStack()

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        """Return instructions, what was recalled for the user's last words, and the messages that stay in sight."""
        instructions: list[ChatMessage] = []
        said: list[ChatMessage] = []
        memory: HostedMemory | None = None
        for message in messages:
            if message.id in self._memories:
                memory = await self._memories[message.id].fork()
            elif message.role == "system":
                instructions.append(message)
            else:
                said.append(message)
        memory = memory or await self._new_memory(model)
        kept = self._in_sight(said)
        gone = said[: len(said) - len(kept)]
        if gone:
            await memory.write([_event_of(message) for message in gone])
        asked = [message.text for message in said if message.role == "user"]
        texts = await memory.recall(asked[-1] if asked else "", tokens=self.tokens)
        # No message of the user: Inspect joins those that follow each other, and this one has to be found again.
        recalled = ChatMessageSystem(content=RECALLED + ("\n".join(texts) or NOTHING_RECALLED))
        self._memories[recalled.id] = memory
        return [*instructions, recalled, *kept], None

    async def close(self) -> None:
        """Let go of all memories."""
        for host in self._hosts:
            await host.close()
        self._stack.close()

    def _in_sight(self, said: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the newest messages that the window holds, the last always; no result without its call."""
        left = self.window
        start = len(said)
        for place in range(len(said) - 1, -1, -1):
            left -= count_tokens(_words_of_message(said[place]))
            if left < 0 and start < len(said):
                break
            if not isinstance(said[place], ChatMessageTool):
                start = place
        return list(said[start:])

    async def _new_memory(self, model: Model) -> HostedMemory:
        embedder: Embedder = NoEmbedder()
        embedding_model = ""
        if embeds(self.spec.kind):
            models = self._stack.enter_context(open_models(home()))
            embedder = ModelEmbedder(models.for_account(MEMORY_CHECK).embeddings)
            chosen = EvaluationOptions(embedding_model=self.embedding_model)
            embedding_model = chosen.models(("embedding",), embedded=models.embedded)["embedding"]
        tools = MemoryTools(InspectModel(model), embedder, str(model), embedding_model, seed=42)
        host = host_memory(self.spec, tools, confinement=Confinement(hidden=(home().root,)))
        self._hosts.append(host)
        return await host.new_memory()


class InspectModel:
    """A model of Inspect behind the port of ours, so that a memory's calls are in Inspect's log."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply."""
        messages: list[ChatMessage] = []
        for message in request.messages:
            if message.role == "system":
                messages.append(ChatMessageSystem(content=message.content))
            elif message.role == "assistant":
                messages.append(ChatMessageAssistant(content=message.content))
            else:
                messages.append(ChatMessageUser(content=message.content))
        config = GenerateConfig(temperature=request.temperature, max_tokens=request.max_output_tokens)
        output = await self.model.generate(messages, config=config)
        finish: FinishReason = "length" if output.stop_reason in ("max_tokens", "model_length") else "stop"
        usage = output.usage
        return ModelReply(output.completion, finish, usage.input_tokens if usage else 0, usage.output_tokens if usage else 0)


class NoEmbedder:
    """Stands where a memory needs no embeddings."""

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Raise LookupError."""
        raise LookupError("This memory was said to need no embeddings.")


def _event_of(message: ChatMessage) -> MemoryEvent:
    text = _words_of_message(message)
    if isinstance(message, ChatMessageTool):
        return MemoryEvent(text, "tool", source=message.function or "")
    return MemoryEvent(text, "assistant" if message.role == "assistant" else "user")


def _words_of_message(message: ChatMessage) -> str:
    """Return a message's words, and its calls with their arguments."""
    parts = [message.text]
    if isinstance(message, ChatMessageAssistant):
        for call in message.tool_calls or ():
            parts.append(f"{call.function}({json.dumps(call.arguments, ensure_ascii=False)})")
    return "\n".join(part for part in parts if part)
