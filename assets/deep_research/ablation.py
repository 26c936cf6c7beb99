"""Stage `dr_ablation`: readers read the final bytes with something left out, and each length gets its certificate."""

from collections.abc import Sequence

from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import Fact, ResearchQuestion
from assets.deep_research.records.tasks import TaskAblation, TaskLengths
from assets.deep_research.turns import last_turns
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, AblationCondition, ablate, expect_passed, given, in_parts
from assets.memory_items.certificates import Certificate, certificate
from assets.memory_items.documents import Eviction, ItemDocument, SizedItem
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

SENTENCE_ENDS = ".!?\n"
# The conditions that every certificate must have, beside one for each hop.
NONE, FACTS, FILLER, LAST, EVERYTHING = "none", "facts", "filler only", "last turn only", "everything"


async def certify(
    question: ResearchQuestion, lengths: TaskLengths, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> TaskAblation:
    """Read every length as it will be released. Raises ItemFailed where a condition fails or could not be read."""
    # One length after the other: most readings are of the same documents at each, and the reply cache has them then.
    made = [await _certified(question, sized, recipe=recipe, model=model) for sized in lengths.lengths]
    return TaskAblation(
        task_id=question.task_id,
        certificates=tuple(certified for certified, _ in made),
        gate_records=tuple(vote for _, votes in made for vote in votes),
    )


async def _certified(
    question: ResearchQuestion, sized: SizedItem, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> tuple[Certificate, tuple[GateRecord, ...]]:
    policy = recipe.ablation
    conditions = final_conditions(sized, question.hops, eviction=recipe.eviction, most=policy.max_reading_tokens)
    read = await ablate(
        question.question,
        question.answer,
        conditions,
        policy=policy,
        item_id=f"{sized.target_tokens} tokens",
        recipe=recipe,
        model=model,
    )
    expect_passed(read)
    digest = sized.digest(question=question.question, answer=question.answer)
    readers = recipe.models.judge.panel
    made = certificate(read.outcomes, target=sized.target_tokens, digest=digest, readers=readers, policy=policy)
    return made, read.gate_records


def final_conditions(sized: SizedItem, hops: Sequence[Fact], *, eviction: Eviction, most: int) -> list[AblationCondition]:
    """What is read of the final bytes. Raises ItemFailed for bytes that do not hold a fact."""
    documents = list(sized.documents)
    own = [one for one in documents if one.role != "filler"]
    conditions = [given(NONE, (), "wrong"), given(FACTS, [stated(fact, documents) for fact in hops], "right")]
    conditions += [
        given(without(number), [one for one in own if fact.fact_id not in one.facts], "wrong")
        for number, fact in enumerate(hops, start=1)
    ]
    filler = [one for one in documents if one.role == "filler"]
    last = [document for turn in last_turns(sized.turns, eviction) for document in turn.documents]
    conditions += [in_parts(FILLER, filler, "wrong", most=most), in_parts(LAST, last, "wrong", most=most)]
    if sized.tokens <= most:
        conditions.append(given(EVERYTHING, documents, "measured"))
    return conditions


def without(hop: int) -> str:
    """The condition that leaves out the document of this hop, counted from 1."""
    return f"without hop {hop}"


def required_conditions(hops: int) -> list[str]:
    """The conditions that a certificate must have."""
    return [NONE, FACTS, *(without(hop) for hop in range(1, hops + 1)), FILLER, LAST]


def stated(fact: Fact, documents: Sequence[ItemDocument]) -> ItemDocument:
    """The fact as its document states it: the sentence around its value, in the final bytes. Raises ItemFailed without it."""
    document = next((one for one in documents if fact.fact_id in one.facts), None)
    if document is None or not sentence_of(fact, document.text):
        raise ItemFailed("rule_violated", f"The final bytes do not hold the fact {fact.relation} of {fact.subject!r}.")
    return document.model_copy(update={"text": sentence_of(fact, document.text)})


def sentence_of(fact: Fact, text: str) -> str:
    """The sentence in which the value stands; from the line that names the subject on, where the sentence does not."""
    start = max(text.rfind(f"{sign} ", 0, fact.start) for sign in SENTENCE_ENDS)
    start = max(start + 1, text.rfind("\n", 0, fact.start) + 1, 0)
    ends = [at for sign in SENTENCE_ENDS if (at := text.find(sign, fact.end)) >= 0]
    end = min(ends, default=len(text)) + 1
    named = text.rfind(fact.subject, 0, fact.start)
    if fact.subject not in text[start:end] and named >= 0:
        start = text.rfind("\n", 0, named) + 1
    return text[start:end].strip()


def _rows(task: TaskAblation) -> list[Row]:
    return [
        {
            "tokens": certified.target_tokens,
            "digest": certified.digest[:12],
            **{one.condition: f"{one.right}/{one.readings}" for one in certified.outcomes},
        }
        for certified in task.certificates
    ]


DR_ABLATION = Stage(
    name="dr_ablation",
    record=TaskAblation,
    make=certify,
    needs=(DR_QUESTIONS, DR_LENGTHS),
    prompts=(READ,),
    description=AssetDescription(
        group="items",
        description="Readers answer from the final bytes: from nothing, from the facts, without each one of them, from filler, "
        "from the last turns, from everything. What passes gets a certificate with its digest; an error never does.",
        rows=_rows,
        paper="MemGym",
    ),
)
