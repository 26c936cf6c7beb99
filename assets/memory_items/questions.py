"""A question for a chain of facts: its answer, a wording out of which judges read the chain back, and early readings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, ReplySchema, ask_structured, integer_between, list_of, object_of
from assets.llm.text import folded, spells
from assets.memory_items.ablation import AblationCondition, given
from assets.memory_items.answers import TypedAnswer, normalized
from assets.memory_items.chains import nested_phrase
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.turns import as_item_document
from assets.recipe.recipe import Recipe
from assets.records.base import Text
from prompts.catalogue import load_prompt

MOST_NEAR_MISSES = 6
MOST_LAST_HOP_DOCUMENTS = 12


class QuestionReply(BaseModel):
    """What the writer is asked for."""

    question: Text


@dataclass(frozen=True)
class QuestionPrompts:
    """Names of the prompts that word a question, and that read its steps back."""

    word: str
    check: str


def last_hop_alone(hops: Sequence[Fact], documents: Sequence[SourceDocument], facts: Sequence[Fact]) -> AblationCondition:
    """The last hop alone: its document beside those that say the same of other subjects."""
    last, earlier = hops[-1], {fact.document_id for fact in hops[:-1]}
    rivals = [fact.document_id for fact in facts if fact.relation == last.relation and fact.document_id not in earlier]
    shown = set(list(dict.fromkeys([last.document_id, *rivals]))[:MOST_LAST_HOP_DOCUMENTS])
    return given("last hop alone", [as_item_document(one) for one in documents if one.document_id in shown], "wrong")


def answer_elsewhere(hops: Sequence[Fact], documents: Sequence[SourceDocument]) -> list[str]:
    """Documents beside that of the last hop that hold the answer; options are in many documents, and tell nothing alone."""
    last = hops[-1]
    if last.options:
        return []
    spelled = _spelled(last, documents)
    # Signs count in code: the words of a result may well be those of a call that comes to something else.
    others = [one for one in documents if one.document_id != last.document_id]
    having = [one for one in others if (spelled in one.text if last.kind == "code" else spells(one.text, spelled))]
    return [f"{one.document_id} has the answer {spelled!r} too" for one in having]


def _spelled(fact: Fact, documents: Sequence[SourceDocument]) -> str:
    """The value as its document spells it."""
    return next(one.text[fact.start : fact.end] for one in documents if one.document_id == fact.document_id)


def typed_answer(hops: Sequence[Fact], facts: Sequence[Fact], rng: SeededRandom) -> TypedAnswer:
    """The value of the last hop, with what its relation is of other subjects as near misses."""
    last = hops[-1]
    right = normalized(last.kind, last.value)
    rivals = {
        normalized(fact.kind, fact.value): fact.value
        for fact in facts
        if fact.relation == last.relation and normalized(fact.kind, fact.value) != right
    }
    return TypedAnswer(
        kind=last.kind,
        value=last.value,
        options=tuple(rng.shuffled(last.options)),
        near_misses=tuple(rivals[key] for key in sorted(rivals))[:MOST_NEAR_MISSES],
    )


async def worded(
    hops: Sequence[Fact],
    phrases: Sequence[str],
    answer: TypedAnswer,
    prompts: QuestionPrompts,
    *,
    item_id: str,
    recipe: Recipe,
    model: LanguageModel,
) -> GateAttempt:
    """A wording out of which judges read the chain's steps, with their votes."""
    between = {fact.value for fact in hops} | {fact.subject for fact in hops[1:]}

    async def word(sample: int, reading: dict[str, str] | None = None) -> str:
        prompt = load_prompt(prompts.word).render(
            wanted=nested_phrase(hops), options=list(answer.options), reading=reading or {}, language=recipe.language_name
        )

        def convert(reply: QuestionReply) -> str:
            if hops[0].subject not in reply.question:
                raise ValueError(f"The question must have the name {hops[0].subject!r}.")
            told = sorted(name for name in between - {hops[0].subject, *answer.options} if spells(reply.question, name))
            if told:
                raise ValueError(f"The question tells {told[0]!r}, which is to be found out.")
            if missing := [option for option in answer.options if not spells(reply.question, option)]:
                raise ValueError(f"The question lacks the option {missing[0]!r}.")
            return reply.question

        return await ask_structured(model, prompt=prompt, reply=QuestionReply, convert=convert, recipe=recipe, sample=sample)

    async def refine(_: str, reading: dict[str, str], sample: int) -> str:
        return await word(sample + 1, reading)

    target = {"name": folded(hops[0].subject), **{str(number): fact.phrase for number, fact in enumerate(hops, start=1)}}
    gate = Gate("chain", target, None, refine, word)
    attempt = GateAttempt(item_id, await word(0))
    await pass_gates(
        [[(gate, attempt)]], partial(_read_steps, prompts.check, phrases, recipe=recipe, model=model), size=1, recipe=recipe
    )
    return attempt


async def _read_steps(
    check: str, phrases: Sequence[str], tasks: Sequence[ReadingTask[None]], *, recipe: Recipe, model: LanguageModel
) -> list[dict[str, str]]:
    """The steps that a judge reads out of each question, from a list in another order each time."""
    shown = {
        str(number): SeededRandom(recipe.seed, task.item_id, "steps", task.vote.number).shuffled(phrases)
        for number, task in enumerate(tasks, start=1)
    }
    cases = {
        number: {"question": task.text, "steps": {str(place): phrase for place, phrase in enumerate(shown[number], start=1)}}
        for number, task in zip(shown, tasks, strict=True)
    }
    steps = list_of(integer_between(1, len(phrases)), min_items=0)
    schema: ReplySchema[dict[str, dict[str, object]]] = ReplySchema(
        object_of({number: object_of({"name": NAME, "steps": steps}) for number in cases})
    )
    reply = await ask_structured(
        model,
        prompt=load_prompt(check).render(cases=cases),
        reply=schema,
        convert=lambda reply: reply,
        recipe=recipe,
        sample=tasks[0].vote.number,
        model_name=tasks[0].vote.judge,
    )
    return [_reading(reply[number], shown[number]) for number in cases]


def _reading(read: dict[str, object], phrases: Sequence[str]) -> dict[str, str]:
    steps = read["steps"]
    assert isinstance(steps, list)
    if not steps:
        return {}
    named = {str(number): phrases[int(str(step)) - 1] for number, step in enumerate(steps, start=1)}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return {"name": folded(str(read["name"])), **named}
