"""A chat completion's body, read into a ModelReply; what is not needed is not looked at."""

from pydantic import BaseModel, ValidationError

from assets.llm.ports import FinishReason, ModelReply


class _Part(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _InputDetails(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


def read_reply(body: bytes) -> ModelReply | None:
    """The first choice; None when the body is not a chat completion with one."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        return None
    if not completion.choices:
        return None
    choice, usage = completion.choices[0], completion.usage or _Usage()
    return ModelReply(
        text=choice.message.refusal or _text(choice.message.content),
        finish=_finish(choice),
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_input_tokens=_cached(usage),
    )


def _cached(usage: _Usage) -> int:
    details = usage.prompt_tokens_details
    return min(usage.prompt_tokens or 0, details.cached_tokens or 0) if details else 0


def _finish(choice: _Choice) -> FinishReason:
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return "refusal"
    return "length" if choice.finish_reason == "length" else "stop"


def _text(content: str | list[_Part] | None) -> str:
    # Some reasoning models answer in parts, where only the parts with text are the answer.
    return content if isinstance(content, str) else "".join(part.text or "" for part in content or [])
