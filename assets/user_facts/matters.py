"""Stage `facts_matters`: what a user tells facts about, and which matters follow from others.

A model drafts them. A program checks that they are as many as the recipe takes, that nothing follows from itself, and that
values can be made of their forms. Judges read the pairs: which of the two decides the other. Names are invented later, so
that a value stands in no other text, and every right answer follows by program.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, rewrite, take_votes
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ReplySchema, ask_structured, numbered, object_of_enums
from assets.recipe.user_facts import OF_ONE, UserFactsRecipe
from assets.records.base import duplicates
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.user_facts.people import FACTS_PEOPLE
from assets.user_facts.records import FactMatter, FactMatters, FactPerson
from prompts.catalogue import load_prompt

DRAFT = "facts_matters/draft"
READ_PAIRS = "facts_matters/read"
GATE = "matters"
SAME = "may be the same"
RELATIONS = ("first", "second", "same", "none")
SLOT = "{name}"
LABEL = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+){0,4}")
FORM = re.compile(r"(?:[^\W\d_]+ )*\{name\}(?: [^\W\d_]+)*")
UNLINKED = 6  # pairs without a link that a judge is asked about as well
LONGEST = 40  # characters of a label, and of a form


class MattersReply(BaseModel):
    """The reply of the writer of matters; as JSON, what judges vote on."""

    matters: list[FactMatter]


async def draft_matters(person: FactPerson, *, recipe: UserFactsRecipe, model: LanguageModel) -> FactMatters:
    """Draft a user's matters; judges must read the links as they were drafted, and no others. Raises ItemFailed."""
    draft = _Draft(person, recipe, model)
    attempt = GateAttempt("matters", await draft.write(0))
    while True:
        # Another list has other links.
        gate = Gate(GATE, links_of(_matters_in(attempt.text)), None, draft.mend, draft.write)
        [accepted] = await take_votes([[(gate, attempt)]], draft.read, size=1, recipe=recipe)
        if accepted:
            break
        await rewrite(gate, attempt, policy=recipe.gates)
    matters = tuple(_matters_in(attempt.text))
    return FactMatters(user_id=person.user_id, matters=matters, gate_records=tuple(attempt.records))


@dataclass(frozen=True)
class _Draft:
    """Asks for the matters of one user, and for what judges read of them."""

    person: FactPerson
    recipe: UserFactsRecipe
    model: LanguageModel

    async def write(self, sample: int, *, refused: str = "", readings: Mapping[str, str] | None = None) -> str:
        prompt = load_prompt(DRAFT).render(
            person=f"{self.person.name}, {self.person.circumstances}",
            wanted=wanted_of(self.recipe),
            refused=refused,
            readings=readings or {},
            language=self.recipe.language_name,
        )
        return await ask_structured(
            self.model,
            prompt=prompt,
            reply=MattersReply,
            convert=self._check_reply,
            settings=self.recipe.asking,
            sample=sample,
        )

    async def mend(self, text: str, readings: dict[str, str], sample: int) -> str:
        return await self.write(sample + 1, refused=text, readings=readings)

    def _check_reply(self, reply: MattersReply) -> str:
        """Return the matters as text. Raises ValueError where they are not as the recipe wants them."""
        for problem in draft_problems(reply.matters, self.recipe):
            raise ValueError(problem)
        return voted_text(reply.matters)

    async def read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return for each list the links that a judge sees, among all that it has and some that it has not."""
        found: list[dict[str, str]] = []
        for task in tasks:
            matters = _matters_in(task.text)
            rng = SeededRandom(self.recipe.world_seed, self.person.user_id, "pairs", task.vote.number)
            unlinked = list(_unlinked_pairs(matters))
            pairs = [*_linked_pairs(matters), *rng.sample(unlinked, min(UNLINKED, len(unlinked)))]
            # The order of the two says nothing about which decides.
            shuffled = [rng.shuffled(pair) for pair in rng.shuffled(pairs)]
            by_number = numbered(shuffled)
            schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(dict.fromkeys(by_number, RELATIONS)))
            reply = await ask_structured(
                self.model,
                prompt=load_prompt(READ_PAIRS).render(pairs=by_number),
                reply=schema,
                convert=lambda reply: reply,
                settings=self.recipe.asking,
                sample=task.vote.number,
                model_name=task.vote.judge,
            )
            reading: dict[str, str] = {}
            for number, relation in reply.items():
                if relation != "none":
                    first, second = by_number[number]
                    reading |= _link(first, second, relation)
            found.append(reading)
        return found


def voted_text(matters: Sequence[FactMatter]) -> str:
    """Return the matters as judges vote on them."""
    return MattersReply(matters=list(matters)).model_dump_json(exclude_defaults=True)


def _matters_in(text: str) -> list[FactMatter]:
    return MattersReply.model_validate_json(text).matters


def _link(first: str, second: str, relation: str) -> dict[str, str]:
    """Return what two labels have to do with each other, under both of them."""
    words = {"first": f"{first} decides", "second": f"{second} decides", "same": SAME}
    return {" / ".join(sorted((first, second))): words[relation]}


def _linked_pairs(matters: Sequence[FactMatter]) -> Iterator[tuple[str, str]]:
    for matter in matters:
        if matter.follows or matter.like:
            yield matter.follows or matter.like, matter.label


def links_of(matters: Sequence[FactMatter]) -> dict[str, str]:
    """Return which matter decides which, and which may be the same, as judges must read it."""
    found: dict[str, str] = {}
    for matter in matters:
        if matter.follows:
            found |= _link(matter.follows, matter.label, "first")
        elif matter.like:
            found |= _link(matter.like, matter.label, "same")
    return found


def _unlinked_pairs(matters: Sequence[FactMatter]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of which neither decides the other, not even by way of a third."""
    by_label = {matter.label: matter for matter in matters}
    linked = links_of(matters)
    for first, second in combinations(by_label, 2):
        apart = root_of(first, by_label) != root_of(second, by_label)
        if apart and not linked.keys() & _link(first, second, "same").keys():
            yield first, second


def root_of(label: str, by_label: Mapping[str, FactMatter]) -> str:
    """Return the label of the matter that decides this one in the end; "" where it follows from itself."""
    seen: set[str] = set()
    while by_label[label].follows:
        if label in seen:
            return ""
        seen.add(label)
        label = by_label[label].follows
    return label


def wanted_of(recipe: UserFactsRecipe) -> dict[str, int]:
    """Return how many matters a user has, and how many have each part; `decide`: from how many others follow."""
    counts = recipe.dynamics.counts(recipe.num_facts)
    return {
        "matters": recipe.num_facts + recipe.num_unsaid,
        "follows": counts["dependent"],
        "decide": recipe.num_deciding,
        "like": counts["merged"],
        "coarse": counts["narrowed"],
    }


def draft_problems(matters: Sequence[FactMatter], recipe: UserFactsRecipe) -> list[str]:
    """Return a sentence for each thing that is wrong with a draft."""
    problems: list[str] = []
    for name in duplicates([matter.name for matter in matters]):
        problems.append(f"There are two matters {name!r}; give each label once.")
    for matter in matters:
        problems += _form_problems(matter)
    by_label = {matter.label: matter for matter in matters}
    for matter in matters:
        for other in filter(None, (matter.follows, matter.like)):
            if other not in by_label:
                problems.append(f"{matter.label!r} names {other!r}, which is no label of the list.")
    # What follows cannot be told where labels are missing.
    return problems or _link_problems(by_label, recipe)


def _form_problems(matter: FactMatter) -> Iterator[str]:
    if not LABEL.fullmatch(matter.label) or len(matter.label) > LONGEST:
        yield f"The label {matter.label!r} has to be one to four words without digits and signs."
    forms = [matter.value, matter.coarse] if matter.coarse else [matter.value]
    for form in forms:
        if not FORM.fullmatch(form) or len(form) > LONGEST:
            yield f"The form {form!r} of {matter.label!r} has to be letters and spaces with {SLOT} once."
    if matter.coarse == matter.value:
        yield f"The coarse form of {matter.label!r} is the exact one; make it less exact, or leave it out."


def _link_problems(by_label: Mapping[str, FactMatter], recipe: UserFactsRecipe) -> list[str]:
    problems: list[str] = []
    roots = Counter[str]()
    parts = Counter[str]()
    for matter in by_label.values():
        parts[matter.label] += bool(matter.coarse)
        if matter.follows:
            root = root_of(matter.label, by_label)
            if not root:
                problems.append(f"{matter.label!r} follows from itself; there must be no circle.")
            roots[root] += 1
            parts[matter.label] += 1
        if matter.like:
            parts[matter.label] += 1
            parts[matter.like] += 1
            if by_label[matter.like].value != matter.value:
                problems.append(f"{matter.label!r} and {matter.like!r} may be the same, so their values need the same form.")
    for root, count in roots.items():
        parts[root] += 1
        if count > OF_ONE:
            problems.append(f"{count} matters follow from {root!r}; {OF_ONE} are the most.")
    for label, count in parts.items():
        if count > 1:
            problems.append(f"{label!r} is in {count} groups; it may be in one: coarse, alike, or decides and follows.")
    found = {
        "matters": len(by_label),
        "follows": roots.total(),
        "decide": len(roots),
        "like": sum(bool(matter.like) for matter in by_label.values()),
        "coarse": sum(bool(matter.coarse) for matter in by_label.values()),
    }
    for what, wanted in wanted_of(recipe).items():
        if found[what] != wanted:
            problems.append(f"{what} is {found[what]}, and {wanted} is wanted.")
    return problems


FACTS_MATTERS = Stage(
    name="facts_matters",
    record=FactMatters,
    make=draft_matters,
    needs=(FACTS_PEOPLE,),
    prompts=(DRAFT, READ_PAIRS),
    calls={
        DRAFT: PromptCalls(reading=650, writing=620),
        READ_PAIRS: PromptCalls(lambda recipe: recipe.gates.votes_for(GATE)[1], reading=380, writing=80),
    },
    description=AssetDescription(
        group="people",
        description="What each user tells facts about, the forms of values, and which matters follow from others, without "
        "a circle. A model drafts them; judges say for pairs of matters which one decides the other.",
        rows=preview_rows("matters", "matter=label values=value follows may_become=like"),
        paper="MemGym",
    ),
)
