"""Documents told: a writer's templates for documents and statements, filled in by program, which knows where values stand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.deep_research.records.facts import PlacedStatement, SourceDocument
from assets.deep_research.records.world import DocumentPlan, Statement, Status
from assets.deep_research.world.clusters import DOCUMENT_KINDS
from assets.deep_research.world.dates import random_date, spoken
from assets.deep_research.world.names import NameMaker
from assets.deep_research.world.relations import RELATIONS, Relation
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.llm.text import count_tokens
from assets.memory_items.documents import Role
from assets.recipe.recipe import Recipe
from prompts.catalogue import load_prompt

TELL, PHRASE = "dr_sources/tell", "dr_sources/phrase"
SLOT = re.compile(r"\{(\w+)\}")
FEWEST_TOKENS, MOST_TOKENS = 120, 500  # of a document's text without its statements
AS_OF: Mapping[Status, tuple[str, ...]] = {
    "plain": ("as of {day}", "by the records of {day}"),
    "certified": ("according to the certified register of {day}", "as was certified on {day}"),
    "unconfirmed": ("according to an unconfirmed note of {day}", "as was said without confirmation on {day}"),
}


class Telling(BaseModel):
    """A document's template."""

    title: str
    text: str


class TellingReply(BaseModel):
    """What the writer is asked for."""

    documents: list[Telling]


class PhraseReply(BaseModel):
    """What the writer is asked for."""

    sentences: list[str]


@dataclass(frozen=True)
class Tellings:
    """How documents of each kind, and statements of each relation, may be told."""

    documents: Mapping[str, Sequence[Telling]]
    sentences: Mapping[str, Sequence[str]]

    def document(self, plan: DocumentPlan, *, role: Role, path: Sequence[object]) -> SourceDocument:
        """The planned document with its words, which the seeded path chooses."""
        rng = SeededRandom(*path, plan.document_id)
        telling = rng.choice(self.documents[plan.kind])
        # Names of writers and towns are of the text alone; no statement has them.
        names = NameMaker(SeededRandom(*path, plan.document_id, "names"))
        slots = {
            "subject": plan.subject,
            "author": names.new("person"),
            "place": names.new("place"),
            "date": spoken(random_date(rng)),
        }
        before, after = (_filled(part, slots) for part in telling.text.split("{statements}"))
        text, placed = before.rstrip() + " ", list[PlacedStatement]()
        for statement in plan.statements:
            sentence, start = _sentence(rng.choice(self.sentences[statement.relation]), statement, rng)
            first = len(text) + start
            placed.append(PlacedStatement(statement=statement, start=first, end=first + len(statement.value)))
            text += f"{sentence} "
        return SourceDocument(
            document_id=plan.document_id,
            title=_filled(telling.title, slots),
            text=text + after.strip(),
            role=role,
            statements=tuple(placed),
        )


def _filled(template: str, slots: Mapping[str, str]) -> str:
    return SLOT.sub(lambda slot: slots[slot[1]], template).strip()


def _sentence(template: str, statement: Statement, rng: SeededRandom) -> tuple[str, int]:
    """The sentence, and where its value begins."""
    as_of = rng.choice(AS_OF[statement.status]).format(day=spoken(statement.as_of))
    slots = {"subject": statement.subject, "as_of": as_of}
    before, after = (SLOT.sub(lambda slot: slots[slot[1]], part) for part in template.split("{value}"))
    sentence = f"{before}{statement.value}{after}"
    return sentence[:1].upper() + sentence[1:], len(before)


async def ask_tellings(recipe: Recipe, *, style: int, count: int, model: LanguageModel) -> Tellings:
    """Ask the writer for a set of tellings; tasks of one style ask for the same, which is paid once."""
    kinds = await gather_all(*(_ask_documents(kind, recipe, style, count, model) for kind in DOCUMENT_KINDS))
    relations = await gather_all(*(_ask_sentences(one, recipe, style, count, model) for one in RELATIONS))
    return Tellings(
        dict(zip(DOCUMENT_KINDS, kinds, strict=True)),
        {relation.name: sentences for relation, sentences in zip(RELATIONS, relations, strict=True)},
    )


async def _ask_documents(kind: str, recipe: Recipe, style: int, count: int, model: LanguageModel) -> list[Telling]:
    prompt = load_prompt(TELL).render(kind=kind, count=count, language=recipe.language_name)

    def convert(reply: TellingReply) -> list[Telling]:
        expect_count(reply.documents, count)
        for number, telling in enumerate(reply.documents, start=1):
            for problem in telling_problems(telling):
                raise ValueError(f"Document {number}: {problem}")
        return reply.documents

    return await ask_structured(model, prompt=prompt, reply=TellingReply, convert=convert, recipe=recipe, sample=style)


async def _ask_sentences(relation: Relation, recipe: Recipe, style: int, count: int, model: LanguageModel) -> list[str]:
    prompt = load_prompt(PHRASE).render(meaning=relation.meaning, count=count, language=recipe.language_name)

    def convert(reply: PhraseReply) -> list[str]:
        expect_count(reply.sentences, count)
        for number, sentence in enumerate(reply.sentences, start=1):
            for problem in sentence_problems(sentence):
                raise ValueError(f"Sentence {number}: {problem}")
        return reply.sentences

    return await ask_structured(model, prompt=prompt, reply=PhraseReply, convert=convert, recipe=recipe, sample=style)


def expect_count(given: Sequence[object], count: int) -> None:
    if len(given) != count:
        raise ValueError(f"There are {len(given)}; give exactly {count}.")


def telling_problems(telling: Telling) -> list[str]:
    """A sentence for each reason why a document's template cannot be used."""
    slots = SLOT.findall(telling.text)
    plain = SLOT.sub("", telling.text)
    tokens = count_tokens(plain)
    problems = {
        "the title must have {subject} and no other slot.": SLOT.findall(telling.title) != ["subject"],
        "the text must have {statements} exactly once.": slots.count("statements") != 1,
        "the text must have {subject}.": "subject" not in slots,
        "the slots are {subject}, {statements}, {author}, {place} and {date}.": bool(
            set(slots) - {"subject", "statements", "author", "place", "date"}
        ),
        "there is a number or a brace beside the slots.": bool(re.search(r"[\d{}]", plain + SLOT.sub("", telling.title))),
        f"the text has {tokens} tokens; {FEWEST_TOKENS} to {MOST_TOKENS} are wanted.": not FEWEST_TOKENS
        <= tokens
        <= MOST_TOKENS,
    }
    return [sentence for sentence, found in problems.items() if found]


def sentence_problems(sentence: str) -> list[str]:
    """A sentence for each reason why a statement's template cannot be used."""
    plain = SLOT.sub("", sentence)
    problems = {
        "{subject}, {value} and {as_of} must be there exactly once.": sorted(SLOT.findall(sentence))
        != ["as_of", "subject", "value"],
        "it must end in its only full stop.": plain.count(".") != 1 or not sentence.endswith("."),
        "there is a number or a brace beside the slots.": bool(re.search(r"[\d{}]", plain)),
    }
    return [text for text, found in problems.items() if found]
