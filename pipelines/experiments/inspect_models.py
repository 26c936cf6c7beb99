"""Inspect's models in the places of ours: every call is Inspect's, with its limits, its log and its providers."""

from functools import cache

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)

from assets.llm.ports import Embedder, FinishReason, ModelReply, ModelRequest
from pipelines.embedded.bank import model_name
from pipelines.evaluation.plan import PAPER_MODELS, Roles
from pipelines.resources.llm.embeddings import EmbeddingEndpoint, ModelEmbedder
from pipelines.resources.llm.local import embedded_settings
from pipelines.resources.llm.settings import EndpointSettings
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


def roles(embedding_model: str) -> Roles:
    """Which model plays which part; under Inspect a role is the name of its model.

    Inspect has no embeddings: they are the configured endpoint's, else the embedded model's.
    """
    default = PAPER_MODELS["embedding"] if EndpointSettings.from_environment() else model_name()
    return Roles(assistant=EVALUATED, embedding=embedding_model or default, user="user", judge="judge")


@cache
def embedder() -> Embedder:
    """What embeds for assistants that need it."""
    return ModelEmbedder(EmbeddingEndpoint(EndpointSettings.from_environment() or embedded_settings()))
