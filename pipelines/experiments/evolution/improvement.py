"""Feedback after a cycle (App. C.7), and the generator of Algorithm 1: a better section from the old one and the feedback."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.structured_output import ask_structured
from assets.recipe.model_policy import AskSettings
from assets.records.base import ItemFailed
from pipelines.evaluation.amemgym.interview import interview_options
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.experiments.evolution.records import Feedback, PolicyOutcome, PolicyStep
from prompts.catalogue import load_prompt
from prompts.template import Message

UNREAD = "none that could be read"  # in place of a letter, for the model that rewrites the policy


@dataclass(frozen=True)
class UserFeedback:
    """The content of feedback on one user's cycle: answers to taught questions, and the values that the sessions exposed."""

    episode: Episode
    answers: Sequence[AnswerRow]
    exposed: Mapping[str, str]

    def question(self, item: str) -> EpisodeQuestion:
        """Return the question that an answer is to."""
        return next(question for question in self.episode.questions if question.question_id == item)


def exposed_values(episode: Episode, period: int, *, variables: frozenset[str]) -> dict[str, str]:
    """Return the latest value of each of these variables that the sessions of the period exposed; none after the last one."""
    exposed: dict[str, str] = {}
    for past in episode.periods[period : period + 1]:
        for session in past.sessions:
            exposed.update(session.exposed_states)
    return {name: value for name, value in exposed.items() if name in variables}


def sample_answers(feedbacks: Sequence[UserFeedback], *, most: int, rng: SeededRandom) -> list[UserFeedback]:
    """Return the feedbacks with at most `most` answers in all, drawn by `rng`, in their order."""
    count = sum(len(feedback.answers) for feedback in feedbacks)
    drawn = set(rng.sample(range(count), most))
    sampled: list[UserFeedback] = []
    first = 0  # the number of the user's first answer, counted over all users
    for feedback in feedbacks:
        answers = [answer for number, answer in enumerate(feedback.answers, start=first) if number in drawn]
        sampled.append(UserFeedback(feedback.episode, answers, feedback.exposed))
        first += len(feedback.answers)
    return sampled


def feedback_of(feedbacks: Sequence[UserFeedback], kind: Feedback, *, manifest: RunManifest) -> list[dict[str, Any]]:
    """Return one summary for each user with answers, or, in complete feedback, with exposed values."""
    summaries: list[dict[str, Any]] = []
    for feedback in feedbacks:
        history: list[dict[str, Any]] = []
        if kind == "question-only":
            # A question once, however often it was answered.
            for item in dict.fromkeys(answer.item for answer in feedback.answers):
                history.append({"question": feedback.question(item).query})
            if history:
                summaries.append({"question_answer_history": history})
        elif feedback.answers or feedback.exposed:
            for answer in feedback.answers:
                history.append(_describe_answer(feedback, answer, manifest=manifest))
            summaries.append({"question_answer_history": history, "user_information_updates": dict(feedback.exposed)})
    return summaries


def _describe_answer(feedback: UserFeedback, answer: AnswerRow, *, manifest: RunManifest) -> dict[str, Any]:
    question = feedback.question(answer.item)
    options = interview_options(feedback.episode, question, period=answer.period, manifest=manifest)
    lines = [question.query]
    for index, option in enumerate(options):
        lines.append(f"({letter(index)}) {' '.join(option.answer.split())}")
    return {
        "question": "\n".join(lines),
        "assistant_response": _letter_of(answer.given, options),
        "ground_truth": _letter_of(answer.expected, options),
        "retrieved_memories": list(answer.memories),
    }


def _letter_of(choice_id: str, options: Sequence[AnswerChoice]) -> str:
    for index, option in enumerate(options):
        if option.choice_id == choice_id:
            return letter(index)
    return UNREAD


def letter(index: int) -> str:
    """Return the name of the option at this index, counted from 0: A to Z, then AA, AB and so on."""
    rest, last = divmod(index, len(ascii_uppercase))
    before = letter(rest - 1) if rest else ""
    return before + ascii_uppercase[last]


TEMPLATE = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}|\$\{")
PLACEHOLDER = re.compile(r"\{\s*[A-Za-z_][\w.-]*\s*\}|<\s*/?\s*[A-Za-z_][^<>\n]{0,60}>")
CONTROL = re.compile(r"[^\n\t\x20-\x7e\u0080-\U0010ffff]|[\u0080-\u009f\u2028\u2029\ufeff]")


class ImprovedReply(BaseModel):
    """The reply with the paper's keys (App. C.6)."""

    new_types: str
    changes: list[str]


@dataclass(frozen=True)
class Improver:
    """The model that rewrites sections, asked as the writer, and how long a section may be."""

    model: LanguageModel
    asking: AskSettings
    most_characters: int


def with_writer(asking: AskSettings, model: str) -> AskSettings:
    """Return the settings with this model as the writer."""
    writer = asking.models.writer.model_copy(update={"model": model})
    return replace(asking, models=asking.models.model_copy(update={"writer": writer}))


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


async def improve_section(step: PolicyStep, feedback: Sequence[Mapping[str, Any]], *, improver: Improver) -> PolicyStep:
    """Ask for a better section; a reply that cannot be used is asked for again, and then the old section stays.

    `step`: what it is where nothing is asked, because there is nothing to learn from.
    """
    if not feedback:
        return step
    prompt = load_prompt("evaluation/improve_policy").render(
        most_characters=improver.most_characters, current_section=step.before, feedback=list(feedback)
    )
    recording = RecordingModel(improver.model)

    def convert(reply: ImprovedReply) -> tuple[str, tuple[str, ...]]:
        return usable(reply.new_types, most_characters=improver.most_characters), tuple(reply.changes)

    try:
        after, changes = await ask_structured(
            recording, prompt=prompt, reply=ImprovedReply, convert=convert, settings=improver.asking
        )
    except ItemFailed as failed:
        return step.model_copy(update={"outcome": "kept", "problem": str(failed), **recording.conversation()})
    outcome: PolicyOutcome = "unchanged" if after == step.before else "improved"
    diff = changed_lines(step.before, after)
    return step.model_copy(
        update={"after": after, "outcome": outcome, "problem": "", "changes": changes, "diff": diff, **recording.conversation()}
    )


def usable(section: str, *, most_characters: int) -> str:
    """Return the section without blank lines around it. Raises ValueError with a sentence for the model."""
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
    if not _has_pairs(section):
        raise ValueError("The section's braces do not pair; write it without braces.")
    return section


def _has_pairs(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"[{}]", text):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def changed_lines(before: str, after: str) -> tuple[str, ...]:
    """Return all lines of both, each with "  ", "- " or "+ " before it."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return tuple(line for line in lines if not line.startswith("? "))
