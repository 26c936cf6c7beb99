"""One text of a user asked for by itself: an answer, event, query or summary that a judge refused."""

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model

from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Prose
from assets.text.text_checks import StyleCheck, TextInContext
from prompts.template import RenderedPrompt


async def rewrite_text(
    prompt: RenderedPrompt,
    key: str,
    in_context: Callable[[str], TextInContext],
    *,
    noun: str,
    sample: int,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> str:
    """Ask for one text until nothing in its style blocks it. Raises ItemFailed like `ask_structured`.

    `key`: the paper's, for the text in the reply. `in_context` returns the text as the style check sees it; `noun` names it in
    objections.
    """
    # Strict: there is no later call in which a fault that blocks could be mended.
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun=noun)

    def convert(written: BaseModel) -> str:
        text: str = getattr(written, key)
        style.check([in_context(text)])
        return text

    return await ask_structured(
        model, prompt=prompt, reply=_reply_model(key), convert=convert, sample=sample, settings=recipe.asking
    )


@cache
def _reply_model(key: str) -> type[BaseModel]:
    fields: dict[str, Any] = {key: (Prose, ...)}
    return create_model("Rewritten", **fields)
