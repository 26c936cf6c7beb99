"""What a judge reads in a text of each of several matters, which it is shown by number."""

from collections.abc import Mapping

from assets.llm.gate import ReadingTask
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of
from assets.recipe.model_policy import AskSettings
from assets.text.words import words_of
from prompts.template import RenderedPrompt


async def read_matters(
    model: LanguageModel,
    task: ReadingTask[None],
    matters: Mapping[str, str],
    *,
    prompt: RenderedPrompt,
    settings: AskSettings,
) -> dict[str, str]:
    """Return what the task's judge reads of each matter, in `plain_words`; one of which nothing is said is missing.

    `prompt`: shows the task's text and the `matters`, by number from 1.
    """
    schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(matters, TEXT), required=False))
    reply = await ask_structured(
        model,
        prompt=prompt,
        reply=schema,
        convert=lambda reply: reply,
        settings=settings,
        sample=task.vote.number,
        model_name=task.vote.judge,
    )
    return {matters[number]: plain_words(value) for number, value in reply.items()}


def plain_words(text: str) -> str:
    """Return the folded words without an article, which one judge copies and another leaves out."""
    return " ".join(word for word in words_of(text) if word != "the")


def misread(reading: Mapping[str, str], target: Mapping[str, str]) -> dict[str, str]:
    """Return what was read of each matter that was read otherwise than it was meant."""
    matters = [matter for matter in {**target, **reading} if reading.get(matter) != target.get(matter)]
    return {matter: reading.get(matter, "nothing") for matter in matters}
