"""The generator of Algorithm 1: a better section from the old one and the feedback, or the old one where none can be used."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.records.base import ItemFailed
from pipelines.experiments.evolution.feedback import as_text
from pipelines.experiments.evolution.records import PolicyOutcome, PolicyStep
from prompts.catalogue import load_prompt
from prompts.template import Message

TEMPLATE = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}|\$\{")
PLACEHOLDER = re.compile(r"\{\s*[A-Za-z_][\w.-]*\s*\}|<\s*/?\s*[A-Za-z_][^<>\n]{0,60}>")
CONTROL = re.compile(r"[^\n\t\x20-\x7e\u0080-\U0010ffff]|[\u0080-\u009f\u2028\u2029\ufeff]")


class ImprovedReply(BaseModel):
    """The reply with the paper's keys (App. C.6)."""

    new_types: str
    changes: list[str]


@dataclass(frozen=True)
class Improver:
    """Who rewrites sections: a model as a recipe's writer, and how long a section may be."""

    model: LanguageModel
    recipe: Recipe
    most_characters: int


def with_writer(recipe: Recipe, model: str) -> Recipe:
    """The recipe with this model as its writer."""
    models = recipe.models
    return recipe.model_copy(
        update={"models": models.model_copy(update={"writer": models.writer.model_copy(update={"model": model})})}
    )


@dataclass
class RecordingModel:
    """A model that stores its conversation: the messages of the last request include all earlier ones."""

    model: LanguageModel
    messages: tuple[Message, ...] = ()
    replies: list[str] = field(default_factory=list[str])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and store messages and reply."""
        self.messages = request.messages
        reply = await self.model.complete(request)
        self.replies.append(reply.text)
        return reply

    def conversation(self) -> dict[str, tuple[str, ...]]:
        """The conversation as the fields of a policy step."""
        return {
            "prompt": tuple(f"{message.role}: {message.content}" for message in self.messages),
            "replies": tuple(self.replies),
        }


@dataclass(frozen=True)
class PolicyUpdate:
    """The point at which a policy may change: after which cycle of which arm's learner, and the section until then."""

    arm: str
    learner: str
    cycle: int
    before: str


async def improve_policy(update: PolicyUpdate, feedback: Sequence[Mapping[str, Any]], *, improver: Improver) -> PolicyStep:
    """Ask for a better section; a reply that cannot be used is asked for again, and then the old section stays.

    Nothing is asked where there is nothing to learn from.
    """
    unchanged = _unchanged(update, feedback)
    if not feedback:
        return unchanged
    prompt = load_prompt("evaluation/improve_policy").render(
        most_characters=improver.most_characters, current_section=update.before, feedback=list(feedback)
    )
    recording = RecordingModel(improver.model)

    def convert(reply: ImprovedReply) -> tuple[str, tuple[str, ...]]:
        return usable(reply.new_types, most_characters=improver.most_characters), tuple(reply.changes)

    try:
        after, changes = await ask_structured(
            recording, prompt=prompt, reply=ImprovedReply, convert=convert, recipe=improver.recipe
        )
    except ItemFailed as failed:
        return unchanged.model_copy(update={"outcome": "kept", "problem": str(failed), **recording.conversation()})
    outcome: PolicyOutcome = "unchanged" if after == update.before else "improved"
    diff = changed_lines(update.before, after)
    return unchanged.model_copy(
        update={"after": after, "outcome": outcome, "problem": "", "changes": changes, "diff": diff, **recording.conversation()}
    )


def _unchanged(update: PolicyUpdate, feedback: Sequence[Mapping[str, Any]]) -> PolicyStep:
    """The step of a policy that stays as it is, because nobody was asked."""
    return PolicyStep(
        arm=update.arm,
        learner=update.learner,
        cycle=update.cycle,
        before=update.before,
        after=update.before,
        outcome="unchanged",
        problem="There was no feedback.",
        changes=(),
        diff=changed_lines(update.before, update.before),
        feedback=as_text(feedback),
        prompt=(),
        replies=(),
    )


def usable(section: str, *, most_characters: int) -> str:
    """The section without blank lines around it. Raises ValueError with a sentence for the model."""
    section = section.strip()
    if not section:
        raise ValueError("The section is empty; list the kinds of information to remember.")
    if len(section) > most_characters:
        raise ValueError(f"The section has {len(section)} characters; at most {most_characters} are allowed, so shorten it.")
    sign = TEMPLATE.search(section) or PLACEHOLDER.search(section) or CONTROL.search(section)
    if sign is not None:
        raise ValueError(
            f"The section holds {sign[0]!r}, which looks like a placeholder, a tag or a control character; write plain words."
        )
    if not _paired(section):
        raise ValueError("The section's braces do not pair; write it without braces.")
    return section


def _paired(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"[{}]", text):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def changed_lines(before: str, after: str) -> tuple[str, ...]:
    """All lines of both, each with "  ", "- " or "+ " before it."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return tuple(line for line in lines if not line.startswith("? "))
