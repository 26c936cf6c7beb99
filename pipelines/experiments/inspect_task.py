"""A release as a task of Inspect: `inspect eval pipelines/experiments/inspect_task.py -T release=demo --model ...`.

A sample is one question to one user after one period. The sessions before it are held on-policy, once for all of the
user's samples, and each sample asks a copy. Inspect makes every call: its model plays the assistant, its roles "user"
and "judge" (else the same model) the simulated user and the check of what that gives away.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, grouped, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.llm.ports import Embedder, FinishReason, ModelReply, ModelRequest
from assets.recipe.recipe import Budget
from pipelines.embedded.bank import model_name
from pipelines.evaluation.assistant import Assistant, Tools
from pipelines.evaluation.assistants.registry import find_spec, make_assistant
from pipelines.evaluation.dataset import Dataset, load_dataset
from pipelines.evaluation.dialogue import SimulatedUser, hold_sessions
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.plan import PAPER_MODELS, EvaluationOptions, RoleModels, manifest_of
from pipelines.evaluation.prompting import QuestionSpec, ask_assistant, choice_question, shuffled_options
from pipelines.evaluation.records import AssistantSpec, RunManifest
from pipelines.home import home
from pipelines.resources.llm.embeddings import EmbeddingClient, ModelEmbedder
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.open import embedded_settings
from pipelines.resources.storage.open_stores import open_release_store
from prompts.template import Message

EVALUATED = "evaluated"
FINISHED: dict[str, FinishReason] = {"content_filter": "refusal", "max_tokens": "length", "model_length": "length"}


class InspectModels:
    """The models of an evaluation of Inspect as a LanguageModel; a request names a role as its model."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Generate with the model in that role."""
        model = get_model() if request.model == EVALUATED else get_model(role=request.model)
        config = GenerateConfig(
            temperature=request.temperature, max_tokens=request.max_output_tokens, seed=request.seed + request.sample
        )
        output = await model.generate(list(map(_chat, request.messages)), config=config)
        used = output.usage
        return ModelReply(
            text=output.completion,
            finish=FINISHED.get(output.stop_reason, "stop"),
            input_tokens=used.input_tokens if used else 0,
            output_tokens=used.output_tokens if used else 0,
        )


def _chat(message: Message) -> ChatMessage:
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return kinds[message.role](content=message.content)


def roles(embedding_model: str) -> RoleModels:
    """Which model plays which part; under Inspect a role is the name of its model.

    Inspect has no embeddings: they are the configured endpoint's, else the embedded model's.
    """
    default = PAPER_MODELS["embedding"] if EndpointSettings.from_environment() else model_name()
    return RoleModels(assistant=EVALUATED, embedding=embedding_model or default, user="user", judge="judge")


@cache
def embedder() -> Embedder:
    """What embeds for assistants that need it."""
    return ModelEmbedder(EmbeddingClient(EndpointSettings.from_environment() or embedded_settings()))


@dataclass(frozen=True)
class InspectPlan:
    """What is evaluated on what; `manifest` is that of the same run by `amemgym evaluate`, but for the models."""

    dataset: Dataset
    manifest: RunManifest
    roles: RoleModels

    @classmethod
    def of(cls, dataset: Dataset, spec: AssistantSpec, *, seed: int, roles: RoleModels) -> "InspectPlan":
        """Raises EvaluationError for an assistant that brings its own model."""
        if spec.settings.get("model"):
            raise EvaluationError(f"Assistant {spec.name!r} names a model of its own; under Inspect the model is --model's.")
        return cls(dataset, manifest_of(dataset, spec, EvaluationOptions(seed=seed, baselines=False), roles=roles), roles)

    def assistant(self, state: bytes = b"") -> Assistant:
        """A new assistant that remembers what the snapshot holds."""
        tools = Tools(InspectModels(), embedder(), EVALUATED, self.roles.embedding, self.manifest.seed)
        assistant = make_assistant(self.manifest.assistant, tools)
        if state:
            assistant.restore(state)
        return assistant

    def simulated_user(self, episode: Episode) -> SimulatedUser:
        """The simulated user of the episode."""
        return SimulatedUser(episode, self.roles.recipe(self.manifest, budget=Budget()), self.dataset.language, InspectModels())

    def options(self, episode: Episode, question: EpisodeQuestion, period: int) -> list[AnswerChoice]:
        """The options in the order in which `amemgym evaluate` shows them."""
        return shuffled_options(question, self.manifest.seed, "question", episode.user_id, period)

    def ask(self, episode: Episode, question: EpisodeQuestion, period: int) -> QuestionSpec[str]:
        """The question as `amemgym evaluate` puts it."""
        return choice_question(question, self.options(episode, question, period))

    def samples(self) -> list[Sample]:
        """Users, periods and questions in order."""
        return [
            self._sample(episode, question, period)
            for episode in self.dataset.episodes
            for period in range(len(episode.periods))
            for question in episode.questions
        ]

    def _sample(self, episode: Episode, question: EpisodeQuestion, period: int) -> Sample:
        options = self.options(episode, question, period)
        golden = [option.choice_id for option in options].index(question.golden[period])
        return Sample(
            input=self.ask(episode, question, period).question.text,
            choices=[option.answer for option in options],
            target=_letter(golden),
            id=f"{episode.user_id}-p{period:02}-{question.question_id}",
            metadata={"user": episode.user_id, "period": f"{period:02}", "question": question.question_id},
        )


@dataclass
class UserSessions:
    """One user's sessions with the assistant, held as far as questions need them."""

    plan: InspectPlan
    episode: Episode
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    states: list[bytes] = field(default_factory=list[bytes])

    async def after(self, period: int) -> Assistant:
        """A copy of the assistant as it is after the period."""
        async with self.lock:
            while len(self.states) <= period:
                assistant = self.plan.assistant(self.states[-1] if self.states else b"")
                rounds = self.plan.dataset.rounds
                await hold_sessions(self.plan.simulated_user(self.episode), assistant, period=len(self.states), rounds=rounds)
                self.states.append(assistant.snapshot())
        return self.plan.assistant(self.states[period])


@solver(name="on_policy")
def on_policy(plan: InspectPlan) -> Solver:
    """Hold the sessions up to the sample's period, then ask its question; once more if the answer cannot be read."""
    episodes = {episode.user_id: episode for episode in plan.dataset.episodes}
    sessions: dict[tuple[str, int], UserSessions] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        user, period = str(state.metadata["user"]), int(state.metadata["period"])
        episode = episodes[user]
        question = next(item for item in episode.questions if item.question_id == state.metadata["question"])
        held = sessions.setdefault((user, state.epoch), UserSessions(plan, episode))
        assistant = await held.after(period)
        outcome = await ask_assistant(plan.ask(episode, question, period), assistant.answer)
        for index, option in enumerate(plan.options(episode, question, period)):
            state.choices.mark_choice(index, option.choice_id == outcome.value)
        state.output = ModelOutput.from_content(model=str(get_model()), content=outcome.reply)
        state.messages.append(state.output.message)
        state.metadata["unread"] = outcome.reason if outcome.value is None else ""
        return state

    return solve


@scorer(
    metrics=[accuracy(), stderr(cluster="user"), grouped(accuracy(), "period", all=False, name_template="period {group_name}")]
)
def chosen_option() -> Scorer:
    """Right or wrong by the marked option. An answer that could not be read is unscored: neither right nor lucky."""

    async def score(state: TaskState, target: Target) -> Score:
        if state.metadata["unread"]:
            return Score.unscored(reason="invalid_response_format", explanation=str(state.metadata["unread"]))
        answer = _marked([choice.correct is True for choice in state.choices])
        return Score(value=CORRECT if answer == target.text else INCORRECT, answer=answer, explanation=state.output.completion)

    return score


@task
def amemgym(
    release: str = "demo", assistant: str = "llm", users: int | None = None, seed: int = 42, embedding_model: str = ""
) -> Task:
    """`release`, `assistant` and `embedding_model` as in `amemgym evaluate`; `users`: only the first so many."""
    try:
        dataset = load_dataset(release, release_store=open_release_store(home())).first(users)
        plan = InspectPlan.of(dataset, find_spec(assistant), seed=seed, roles=roles(embedding_model))
        plan.assistant()  # so that a missing package shows before the first call
    except EvaluationError as error:
        # Of this kind Inspect prints the sentence alone.
        raise PrerequisiteError(str(error)) from error
    return Task(
        dataset=MemoryDataset(plan.samples(), name=plan.dataset.name),
        solver=on_policy(plan),
        scorer=chosen_option(),
        metadata=plan.manifest.model_dump(mode="json"),
    )


def _letter(index: int) -> str:
    return chr(ord("A") + index)


def _marked(marks: Sequence[bool]) -> str:
    return "".join(_letter(index) for index, marked in enumerate(marks) if marked)
