"""Sessions told: a writer's templates for sessions and statements, filled in by program, which knows where values stand."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle, permutations
from typing import TypeVar

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    TEXT,
    ReplySchema,
    SchemaPart,
    ask_structured,
    list_of,
    object_of,
    schema_of_model,
)
from assets.memory_items.documents import LABEL_WORDS, Role
from assets.memory_items.facts import DocumentPlan, Hop, PlacedStatement, SourceDocument, Statement
from assets.memory_items.lengths import tokens_to_draw
from assets.memory_items.world.clusters import PARALLEL_CHAINS, SMALL_CLUSTERS, make_cluster
from assets.memory_items.world.relations import Relation, spoken
from assets.memory_items.world.writing import PlannedDocuments, ToldDocuments
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.text.words import count_tokens, words_of
from assets.tool_dialogue.desk import AS_OF, ServiceDesk
from prompts.catalogue import load_prompt

T = TypeVar("T")
SLOT = re.compile(r"\{(\w+)\}")
BESIDE_SLOTS = re.compile(r"[\d{}]")  # numbers would read like facts, braces like slots
# Beside the slots of a line that a schema describes. llama.cpp does not end a text whose pattern allows quotes.
PLAIN = r'[^0-9{}."\\\n]'
ANY_SLOT = r"\{[a-z]+\}"
MOST_BETWEEN = 60  # letters and slots of such a line between two that it needs: a small model finds no end by itself
FRAMES = (3, 6)  # of a template, at least and at most
MOST_PARTS = 3  # of a template; statements come between them
CLAUSE_SLOTS = ("subject", "value")  # of a wording of a statement; a frame makes a sentence of it, and says as of when
MOST_UNMADE = 20  # clusters of filler, beside one of two
# Of a document's text without its statements.
FEWEST_TOKENS = 50
MOST_TOKENS = 500


class Telling(BaseModel):
    """A template of a document, which the writer phrased: statements come between its `parts`, each in one of its `frames`."""

    title: str
    parts: tuple[str, ...]
    frames: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tellings:
    """Ways to tell documents of each kind, and statements of each relation."""

    world: ServiceDesk
    documents: Mapping[str, Sequence[Telling]]
    sentences: Mapping[str, Sequence[str]]

    def document(self, plan: DocumentPlan, *, role: Role, path: Sequence[object], cluster: str = "") -> SourceDocument:
        """Return the planned document with its words, which the seeded path chooses."""
        rng = SeededRandom(*path, plan.document_id)
        telling = rng.choice(self.documents[plan.kind])
        slots = self.world.slots(plan, rng=rng, path=path)
        # Each frame once, before one comes again.
        frames = cycle(rng.shuffled(telling.frames))
        first, *others = telling.parts
        text = _with_slots(first, slots).lstrip()
        placed: list[PlacedStatement] = []
        for stated, following in zip(self._in_places(plan.statements, len(others)), others, strict=True):
            for statement in stated:
                stated_as, start = self._state_in_frame(statement, frames, rng)
                text = _append_text(text, " ", stated_as)
                value = len(text) - len(stated_as) + start
                placed.append(PlacedStatement(statement=statement, start=value, end=value + len(statement.value)))
            text = _append_text(text, "\n\n", _with_slots(following, slots))
        return SourceDocument(
            document_id=plan.document_id,
            title=_with_slots(telling.title, slots).strip(),
            text=text.rstrip(),
            role=role,
            statements=tuple(placed),
            cluster=cluster,
        )

    def own_documents(self, plans: Iterable[DocumentPlan], *, seed: int, task_id: str) -> tuple[SourceDocument, ...]:
        """Return a task's own documents, in the order of their plans."""
        path = (seed, task_id, "telling")
        return tuple(self.document(plan, role=plan.role, path=path) for plan in plans)

    def _in_places(self, statements: Sequence[Statement], count: int) -> list[Sequence[Statement]]:
        """Return the statements of each place: those that are shown in the first, the others in equal shares, in order."""
        shown = list(filter(self.world.is_shown, statements))
        places: list[Sequence[Statement]] = [shown] if shown and count > 1 else []
        rest = [statement for statement in statements if statement not in shown] if places else statements
        left = count - len(places)
        for number in range(left):
            places.append(rest[number * len(rest) // left : (number + 1) * len(rest) // left])
        return places

    def _state_in_frame(self, statement: Statement, frames: Iterator[str], rng: SeededRandom) -> tuple[str, int]:
        """Return a sentence or a transcript that states it, and the place in it where its value begins."""
        as_of = rng.choice(AS_OF[statement.status]).format(day=spoken(statement.as_of))
        if self.world.is_shown(statement):
            before, after = self.world.transcript(statement)
            return f"{before}{statement.value}{after}", len(before)
        template = next(frames).replace("{clause}", rng.choice(self.sentences[statement.relation]))
        slots = {"subject": statement.subject, "as_of": as_of}
        before, after = template.split("{value}")
        before = _with_slots(before, slots)
        sentence = f"{before}{statement.value}{_with_slots(after, slots)}"
        if not template.startswith(("{subject}", "{value}")):
            sentence = sentence[:1].upper() + sentence[1:]
        return sentence, len(before)


def _append_text(text: str, between: str, more: str) -> str:
    """Return the text with more behind it; `between` goes where neither has white space. A transcript is a paragraph."""
    if more.startswith("\n"):
        text = text.rstrip()
    if text.endswith("\n"):
        return text + more.lstrip()
    return text + more if text.endswith(" ") or more.startswith((" ", "\n")) else text + between + more


def _with_slots(template: str, slots: Mapping[str, str]) -> str:
    return SLOT.sub(lambda slot: slots[slot[1]], template)


async def tell_documents(
    world: ServiceDesk, planned: PlannedDocuments, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> ToldDocuments:
    """Return a task's documents and filler. Raises ItemFailed for unusable templates."""
    tellings = await ask_tellings(world, task_id=planned.task_id, recipe=recipe, model=model)
    documents = tellings.own_documents(planned.plans, seed=recipe.world_seed, task_id=planned.task_id)
    filler = told_filler(tellings, chain=planned.chain, task_id=planned.task_id, recipe=recipe)
    return ToldDocuments(world, documents, tuple(filler))


async def ask_tellings(world: ServiceDesk, *, task_id: str, recipe: ToolDialogueRecipe, model: LanguageModel) -> Tellings:
    """Ask the writer for a set of tellings; tasks of one style ask for the same, which is paid once."""
    style = SeededRandom(recipe.world_seed, task_id, "style").integer_below(recipe.num_styles)
    writer = _Writer(world, recipe, style, model)
    documents = await gather_all(*map(writer.documents, world.document_kinds))
    sentences = await gather_all(*map(writer.sentences, world.relations))
    names = [relation.name for relation in world.relations]
    return Tellings(world, dict(zip(world.document_kinds, documents, strict=True)), dict(zip(names, sentences, strict=True)))


@dataclass(frozen=True)
class _Writer:
    world: ServiceDesk
    recipe: ToolDialogueRecipe
    style: int
    model: LanguageModel

    async def documents(self, kind: str) -> list[Telling]:
        problems = partial(telling_problems, world=self.world)
        return await self._ask(self.world.tell_prompt, _telling_schema(self.world), problems, kind=kind)

    async def sentences(self, relation: Relation) -> list[str]:
        meaning = relation.meaning
        return await self._ask(
            self.world.phrase_prompt, _line_with(CLAUSE_SLOTS), sentence_problems, key="sentences", meaning=meaning
        )

    async def _ask(
        self, prompt: str, item: SchemaPart, problems: Callable[[T], Iterable[str]], *, key: str = "documents", **about: str
    ) -> list[T]:
        """Ask for as many as the recipe wants. What is usable of a reply is kept, and only the rest is asked for again."""
        kept: list[T] = []
        while len(kept) < self.recipe.num_tellings:
            wanted = self.recipe.num_tellings - len(kept)
            fields = object_of({key: list_of(item, min_items=wanted, max_items=wanted)})
            schema: ReplySchema[dict[str, list[T]]] = ReplySchema(fields)
            kept += await ask_structured(
                self.model,
                prompt=load_prompt(prompt).render(count=wanted, language=self.recipe.language_name, **about),
                reply=schema,
                convert=lambda reply: _usable(reply[key], problems),
                settings=self.recipe.asking,
                sample=self.style,  # each style has words of its own
            )
        return kept


def _usable(items: Sequence[T], problems: Callable[[T], Iterable[str]]) -> list[T]:
    """Return the items without a problem. Raises ValueError with the first problem of each where there are none."""
    found = [next(iter(problems(item)), "") for item in items]
    usable = [item for item, problem in zip(items, found, strict=True) if not problem]
    if not usable:
        raise ValueError(" ".join(f"Number {number}: {problem}" for number, problem in enumerate(found, start=1)))
    return usable


def _telling_schema(world: ServiceDesk) -> SchemaPart:
    """Return the schema of a template of a document; servers that enforce it forget no slot."""
    fields = {
        "title": _line_with(world.title_slots, between=f"({PLAIN}|{ANY_SLOT})"),
        "parts": list_of(TEXT, min_items=2, max_items=MOST_PARTS),
    }
    fewest, most = FRAMES
    fields["frames"] = list_of(_line_with(("clause", "as_of"), end="."), min_items=fewest, max_items=most)
    return SchemaPart(schema_of_model(Telling).root.core, object_of(fields).json_schema)


def _line_with(slots: Sequence[str], *, between: str = PLAIN, end: str = "") -> SchemaPart:
    """Return the schema of a line with each of the slots once, in any order. `between`: a pattern of one letter beside them."""
    orders: list[str] = []
    for order in permutations(rf"\{{{slot}\}}" for slot in slots):
        orders.append(f"{between}{{0,{MOST_BETWEEN}}}".join(("", *order, "")))
    return SchemaPart(TEXT.core, {**TEXT.json_schema, "pattern": f"^({'|'.join(orders)}){re.escape(end)}$"})


def telling_problems(telling: Telling, world: ServiceDesk) -> Iterator[str]:
    """Yield a sentence for each reason why a template of a document cannot be used."""
    title_slots = set(SLOT.findall(telling.title))
    if not set(world.title_slots) <= title_slots <= world.text_slots:
        yield f"the title must have {_slot_names(world.title_slots, ' and ')}, and may have other slots of the text."
    if not 2 <= len(telling.parts) <= MOST_PARTS or not all(map(str.strip, telling.parts)):
        yield f"it must have 2 to {MOST_PARTS} parts, none of them empty."
    text = "\n".join(telling.parts)
    slots = SLOT.findall(text)
    for slot in sorted(world.needed_slots):
        if slot not in slots:
            yield f"the parts must have {{{slot}}}."
    if set(slots) - world.text_slots:
        yield f"the slots of the parts are {_slot_names(sorted(world.text_slots), ', ')}."
    plain = SLOT.sub("", text)
    if BESIDE_SLOTS.search(plain + SLOT.sub("", telling.title + "".join(telling.frames))):
        yield "there is a number or a brace beside the slots."
    tokens = count_tokens(plain)
    if not FEWEST_TOKENS <= tokens <= MOST_TOKENS:
        yield f"the parts have {tokens} tokens together; {FEWEST_TOKENS} to {MOST_TOKENS} are wanted."
    for frame in telling.frames:
        if sorted(SLOT.findall(frame)) != ["as_of", "clause"]:
            yield f"the frame {frame!r} must have {{clause}} and {{as_of}}, and no other slot."
    yield from _label_problems(" ".join((telling.title, text, *telling.frames)))


def _slot_names(slots: Iterable[str], between: str) -> str:
    return between.join(f"{{{slot}}}" for slot in slots)


def sentence_problems(sentence: str) -> Iterator[str]:
    """Yield a sentence for each reason why a wording of a statement cannot be used."""
    plain = SLOT.sub("", sentence)
    if sorted(SLOT.findall(sentence)) != sorted(CLAUSE_SLOTS):
        yield f"{_slot_names(CLAUSE_SLOTS, ', ')} must be there exactly once."
    if "." in plain:
        yield "it must have no full stop."
    if BESIDE_SLOTS.search(plain):
        yield "there is a number or a brace beside the slots."
    yield from _label_problems(sentence)


def _label_problems(template: str) -> Iterator[str]:
    """Yield a sentence for each word of the template that would tell what a document is there for."""
    for word in sorted(LABEL_WORDS & set(words_of(SLOT.sub(" ", template)))):
        yield f"the word {word!r} would tell what the document is there for; write without it."


def told_filler(
    tellings: Tellings, *, chain: Iterable[Hop], task_id: str, recipe: ToolDialogueRecipe
) -> Iterator[SourceDocument]:
    """Yield documents of other clusters, told like a task's own, until they suffice for its longest length.

    Small clusters come last. Raises LookupError where a world has not enough entities for most clusters.
    """
    taken: set[str] = set()
    for hop in chain:
        taken.update((hop.subject, hop.value))
    filler = _Filler(tellings, frozenset(taken), (recipe.world_seed, task_id, "filler"))
    tokens = 0
    number = 0
    unmade = 0
    while tokens < tokens_to_draw(recipe):
        sizes = SeededRandom(recipe.world_seed, task_id, "filler", number, "hops")
        hops = recipe.min_hops + sizes.integer_below(recipe.max_hops - recipe.min_hops + 1)
        try:
            documents = filler.cluster(number, hops=hops, parallel_chains=PARALLEL_CHAINS)
        except LookupError:
            unmade += 1
            if unmade > MOST_UNMADE + number // 2:
                raise
            documents = []
        number += 1
        for document in documents:
            tokens += document.tokens
            yield document
    for hops, parallel_chains in SMALL_CLUSTERS:
        if hops > recipe.max_hops:
            continue
        with suppress(LookupError):  # where entities are used up, lengths are met by fewer clusters, or not at all
            yield from filler.cluster(number, hops=hops, parallel_chains=parallel_chains)
        number += 1


@dataclass(frozen=True)
class _Filler:
    """Tells clusters of filler by number, without the names that are taken."""

    tellings: Tellings
    taken: frozenset[str]
    path: tuple[object, ...]

    def cluster(self, number: int, *, hops: int, parallel_chains: int) -> list[SourceDocument]:
        """Return a cluster's documents in seeded order. Raises LookupError where entities do not suffice."""
        path = (*self.path, number)
        world = self.tellings.world
        cluster = make_cluster(world, hops, path=path, taken=self.taken, parallel_chains=parallel_chains)
        documents: list[SourceDocument] = []
        for plan in SeededRandom(*path, "order").shuffled(cluster.plans):
            documents.append(self.tellings.document(plan, role="filler", path=path, cluster=f"filler {number}"))
        return documents
