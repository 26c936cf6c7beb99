"""The generator of Algorithm 1: a better section from the old one and the feedback, or the old one where none can be used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.structured_output import Ask, ask
from assets.recipe.recipe import Recipe
from assets.records.failure import UserFailed
from pipelines.experiments.evolution.feedback import as_text
from pipelines.experiments.evolution.records import Outcome, PolicyStep
from pipelines.experiments.evolution.sections import changed_lines, usable
from prompts.catalogue import load_prompt
from prompts.template import Message


class ImprovedReply(BaseModel):
    """The paper's keys (App. C.6)."""

    new_types: str
    changes: list[str]


@dataclass(frozen=True)
class Improver:
    """Who rewrites sections: a model as a recipe's writer, and how long a section may be."""

    model: LanguageModel
    recipe: Recipe
    most_characters: int


def writing(recipe: Recipe, model: str) -> Recipe:
    """The recipe with this model as its writer."""
    models = recipe.models
    return recipe.model_copy(
        update={"models": models.model_copy(update={"writer": models.writer.model_copy(update={"model": model})})}
    )


@dataclass
class Recorder:
    """A model whose conversation is kept: the last request's messages hold all that was said before."""

    model: LanguageModel
    messages: tuple[Message, ...] = ()
    replies: list[str] = field(default_factory=list[str])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on."""
        self.messages = request.messages
        reply = await self.model.complete(request)
        self.replies.append(reply.text)
        return reply

    def said(self) -> dict[str, tuple[str, ...]]:
        """The conversation as a policy step keeps it."""
        return {"prompt": tuple(f"{one.role}: {one.content}" for one in self.messages), "replies": tuple(self.replies)}


@dataclass(frozen=True)
class Turning:
    """The point at which a policy may change: after which cycle of which arm's learner, and the section until then."""

    arm: str
    learner: str
    cycle: int
    before: str


async def improved(turning: Turning, feedback: Sequence[Mapping[str, Any]], *, improver: Improver) -> PolicyStep:
    """Ask for a better section; a reply that cannot be used is asked for again, and then the old section stays.

    Nothing is asked where there is nothing to learn from.
    """
    still = _still(turning, feedback)
    if not feedback:
        return still
    prompt = load_prompt("evaluation/improve_policy").render(
        most_characters=improver.most_characters, current_section=turning.before, feedback=list(feedback)
    )
    told = Recorder(improver.model)

    def read(reply: ImprovedReply) -> tuple[str, tuple[str, ...]]:
        return usable(reply.new_types, most_characters=improver.most_characters), tuple(reply.changes)

    try:
        after, changes = await ask(told, Ask(prompt, ImprovedReply, read), recipe=improver.recipe)
    except UserFailed as failed:
        return still.model_copy(update={"outcome": "kept", "problem": str(failed), **told.said()})
    outcome: Outcome = "unchanged" if after == turning.before else "improved"
    diff = changed_lines(turning.before, after)
    return still.model_copy(
        update={"after": after, "outcome": outcome, "problem": "", "changes": changes, "diff": diff, **told.said()}
    )


def _still(turning: Turning, feedback: Sequence[Mapping[str, Any]]) -> PolicyStep:
    """The step of a policy that stays as it is, because nobody was asked."""
    return PolicyStep(
        arm=turning.arm,
        learner=turning.learner,
        cycle=turning.cycle,
        before=turning.before,
        after=turning.before,
        outcome="unchanged",
        problem="There was no feedback.",
        changes=(),
        diff=changed_lines(turning.before, turning.before),
        feedback=as_text(feedback),
        prompt=(),
        replies=(),
    )
