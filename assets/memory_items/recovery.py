"""A reader finds again what each told document states: every fact has to stand in the final text."""

from collections.abc import Sequence
from functools import partial

from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of
from assets.memory_items.ablation import FACT_IN_DOCUMENT, was_right
from assets.memory_items.facts import Fact, SourceDocument
from assets.recipe.recipe import Recipe
from assets.records.answers import read_date
from assets.records.base import GateRecord, ItemFailed
from assets.text.words import folded, spells
from prompts.catalogue import load_prompt

RECOVER = "memory_items/recover"


async def recovered_facts(
    documents: Sequence[SourceDocument], facts: Sequence[Sequence[Fact]], *, recipe: Recipe, model: LanguageModel
) -> tuple[GateRecord, ...]:
    """Return a vote for each fact of each document. Raises ItemFailed where a reader does not find one.

    `facts`: those that each document states, document by document.
    """
    find_facts = partial(_find_facts, recipe=recipe, model=model)
    votes: list[GateRecord] = []
    for own in await gather_all(*map(find_facts, documents, facts)):
        votes += own
    _expect_recovered(votes)
    return tuple(votes)


def _expect_recovered(votes: list[GateRecord]) -> None:
    """Raise ItemFailed where a fact was not found in its document."""
    lost = [vote for vote in votes if not vote.accepted]
    if lost:
        reason = "call_failed" if any("error" in vote.reading for vote in lost) else "gate_exhausted"
        sentence = f"{len(lost)} of {len(votes)} facts are not found in their documents; the first is in {lost[0].item_id}."
        raise ItemFailed(reason, sentence, gate_records=votes)


async def _find_facts(
    document: SourceDocument, facts: Sequence[Fact], *, recipe: Recipe, model: LanguageModel
) -> list[GateRecord]:
    """Return a vote for each fact of a document: what the first judge finds for it, or an error where the call failed."""
    wanted = {str(number): fact.full_phrase for number, fact in enumerate(facts, start=1)}
    shown = f"{document.title}\n\n{document.text}"
    judge = recipe.models.judge.panel[0]
    schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(wanted, TEXT), required=False))
    values: dict[str, str] = {}
    failure = ""
    try:
        values = await ask_structured(
            model,
            prompt=load_prompt(RECOVER).render(document=shown, wanted=wanted, language=recipe.language_name),
            reply=schema,
            convert=lambda reply: reply,
            settings=recipe.asking,
            model_name=judge,
        )
    except ItemFailed as failed:
        failure = failed.message
    votes: list[GateRecord] = []
    for number, fact in zip(wanted, facts, strict=True):
        reading = {"answer": _spelled_out(fact, values[number])} if number in values else {}
        votes.append(_vote(fact, judge, {"error": failure} if failure else reading))
    return votes


def _spelled_out(fact: Fact, answer: str) -> str:
    """Return a day with its year, and the one option that an answer spells in other words, such as "tied with string"."""
    if fact.kind == "date" and fact.as_of and read_date(answer) is None:
        day = read_date(answer, year=fact.as_of.year)
        return day.isoformat() if day else answer
    named = [option for option in fact.options if spells(answer, option) or spells(option, answer)]
    return named[0] if len(named) == 1 and folded(answer) != folded(named[0]) else answer


def _vote(fact: Fact, judge: str, reading: dict[str, str]) -> GateRecord:
    vote = GateRecord(
        gate=FACT_IN_DOCUMENT,
        item_id=fact.document_id,
        draft=0,
        refinement=0,
        vote=0,
        judge=judge,
        text=fact.full_phrase,
        target={"answer": fact.value, "kind": fact.kind},
        reading=reading,
        accepted=False,
    )
    return vote.model_copy(update={"accepted": bool(was_right(vote))})
