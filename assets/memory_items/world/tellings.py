"""Documents told: a writer's templates for documents and statements, filled in by program, which knows where values stand."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.llm.text import count_tokens
from assets.memory_items.answers import read_date
from assets.memory_items.documents import Role
from assets.memory_items.facts import DocumentPlan, Fact, PlacedStatement, SourceDocument, Statement
from assets.memory_items.world.clusters import make_cluster
from assets.memory_items.world.dates import spoken
from assets.memory_items.world.relations import Relation, World
from assets.recipe.recipe import Recipe
from prompts.catalogue import load_prompt

SLOT = re.compile(r"\{(\w+)\}")
MOST_UNMADE = 20  # clusters of filler, beside one of two
FEWEST_TOKENS, MOST_TOKENS = 120, 500  # of a document's text without its statements


class Telling(BaseModel):
    """A document with places for names and values, which the writer phrased."""

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

    world: World
    documents: Mapping[str, Sequence[Telling]]
    sentences: Mapping[str, Sequence[str]]

    def document(self, plan: DocumentPlan, *, role: Role, path: Sequence[object]) -> SourceDocument:
        """The planned document with its words, which the seeded path chooses."""
        rng = SeededRandom(*path, plan.document_id)
        telling = rng.choice(self.documents[plan.kind])
        slots = self.world.slots(plan, rng=rng, path=path)
        before, after = (_filled(part, slots) for part in telling.text.split("{statements}"))
        text, placed = before.rstrip() + " ", list[PlacedStatement]()
        for statement in plan.statements:
            sentence, start = self._sentence(statement, rng)
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

    def _sentence(self, statement: Statement, rng: SeededRandom) -> tuple[str, int]:
        """A sentence that states it, and where its value begins."""
        template = rng.choice(self.sentences[statement.relation])
        words = self.world.source_words(statement.relation, statement.status)
        as_of = rng.choice(words).format(day=spoken(statement.as_of))
        slots = {"subject": statement.subject, "as_of": as_of}
        before, after = (SLOT.sub(lambda slot: slots[slot[1]], part) for part in template.split("{value}"))
        sentence = f"{before}{statement.value}{after}"
        # A name of code keeps its case, as it is read.
        begins = template.startswith(("{subject}", "{value}"))
        return (sentence if begins else sentence[:1].upper() + sentence[1:]), len(before)


def _filled(template: str, slots: Mapping[str, str]) -> str:
    return SLOT.sub(lambda slot: slots[slot[1]], template).strip()


async def ask_tellings(world: World, *, recipe: Recipe, style: int, count: int, model: LanguageModel) -> Tellings:
    """Ask the writer for a set of tellings; tasks of one style ask for the same, which is paid once."""
    writer = _Writer(world, recipe, style, count, model)
    kinds = await gather_all(*map(writer.documents, world.document_kinds))
    relations = await gather_all(*map(writer.sentences, world.relations))
    return Tellings(
        world,
        dict(zip(world.document_kinds, kinds, strict=True)),
        {relation.name: sentences for relation, sentences in zip(world.relations, relations, strict=True)},
    )


@dataclass(frozen=True)
class _Writer:
    world: World
    recipe: Recipe
    style: int
    count: int
    model: LanguageModel

    async def documents(self, kind: str) -> list[Telling]:
        prompt = load_prompt(self.world.tell_prompt).render(kind=kind, count=self.count, language=self.recipe.language_name)

        def convert(reply: TellingReply) -> list[Telling]:
            self._expect_count(reply.documents)
            for number, telling in enumerate(reply.documents, start=1):
                for problem in telling_problems(telling, self.world):
                    raise ValueError(f"Document {number}: {problem}")
            return reply.documents

        return await ask_structured(
            self.model, prompt=prompt, reply=TellingReply, convert=convert, recipe=self.recipe, sample=self.style
        )

    async def sentences(self, relation: Relation) -> list[str]:
        prompt = load_prompt(self.world.phrase_prompt).render(
            meaning=relation.meaning, count=self.count, language=self.recipe.language_name
        )

        def convert(reply: PhraseReply) -> list[str]:
            self._expect_count(reply.sentences)
            for number, sentence in enumerate(reply.sentences, start=1):
                for problem in sentence_problems(sentence):
                    raise ValueError(f"Sentence {number}: {problem}")
            return reply.sentences

        return await ask_structured(
            self.model, prompt=prompt, reply=PhraseReply, convert=convert, recipe=self.recipe, sample=self.style
        )

    def _expect_count(self, given: Sequence[object]) -> None:
        if len(given) != self.count:
            raise ValueError(f"There are {len(given)}; give exactly {self.count}.")


def telling_problems(telling: Telling, world: World) -> list[str]:
    """A sentence for each reason why a document's template cannot be used."""
    slots, title = SLOT.findall(telling.text), SLOT.findall(telling.title)
    plain = SLOT.sub("", telling.text)
    tokens = count_tokens(plain)
    named = {slot: f"{{{slot}}}" for slot in (*world.title_slots, *sorted(world.text_slots))}
    problems = {
        f"the title must have {' and '.join(named[slot] for slot in world.title_slots)} and no other slot.": sorted(title)
        != sorted(world.title_slots),
        "the text must have {statements} exactly once.": slots.count("statements") != 1,
        **{f"the text must have {{{slot}}}.": slot not in slots for slot in sorted(world.needed_slots)},
        f"the slots are {', '.join(named[slot] for slot in sorted(world.text_slots))} and {{statements}}.": bool(
            set(slots) - world.text_slots - {"statements"}
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


def placed_facts(document: SourceDocument, world: World) -> list[Fact]:
    """What an invented document states, as facts; dates in ISO form."""
    return [
        Fact(
            fact_id=f"{document.document_id}-{number}",
            document_id=document.document_id,
            subject=placed.statement.subject,
            relation=placed.statement.relation,
            value=_fact_value(placed.statement, world),
            phrase=world.relation(placed.statement.relation).phrase,
            kind=world.relation(placed.statement.relation).answer_kind,
            options=world.relation(placed.statement.relation).options,
            start=placed.start,
            end=placed.end,
            as_of=placed.statement.as_of,
            status=placed.statement.status,
        )
        for number, placed in enumerate(document.statements)
    ]


def _fact_value(statement: Statement, world: World) -> str:
    found = read_date(statement.value) if world.relation(statement.relation).answer_kind == "date" else None
    return found.isoformat() if found else statement.value


def told_filler(
    tellings: Tellings, *, sizes: tuple[int, int], wanted: int, path: Sequence[object], taken: frozenset[str]
) -> Iterator[SourceDocument]:
    """Documents of other clusters, told like a task's own, until there are so many tokens; `sizes`: hops from and to.

    Raises LookupError where a world has not enough entities for most clusters.
    """
    number = tokens = unmade = 0
    while tokens < wanted:
        own = (*path, "filler", number)
        hops = sizes[0] + SeededRandom(*own, "hops").integer_below(sizes[1] - sizes[0] + 1)
        try:
            cluster = make_cluster(tellings.world, hops, path=own, taken=taken)
        except LookupError:
            unmade, number = unmade + 1, number + 1
            if unmade > MOST_UNMADE + number // 2:
                raise
            continue
        for plan in SeededRandom(*own, "order").shuffled(cluster.plans):
            document = tellings.document(plan, role="filler", path=own)
            tokens += count_tokens(f"{document.title}\n\n{document.text}")
            yield document
        number += 1
