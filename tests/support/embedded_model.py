"""The embedded model as a test asks it: in this process."""

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.embedded.app import write_reply
from pipelines.embedded.task import recognise


class EmbeddedModel:
    """The LanguageModel port over the embedded model's program, without its HTTP interface."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        task = recognise(messages, schema_name=request.schema_name, seed=request.seed + request.sample)
        return ModelReply(text=write_reply(task), finish="stop", input_tokens=10, output_tokens=2)
