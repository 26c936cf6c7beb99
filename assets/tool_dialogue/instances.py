"""Stages `td_certificates`, in which a program acts on the final bytes, and `td_instances`: the accepted tasks.

Nothing is certified by what was planned: each condition is a dialogue that is really acted, twice, and graded by its end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import Certificate, ConditionOutcome, Expected
from assets.memory_items.documents import TOKENIZER, ItemDocument, SizedItem
from assets.memory_items.facts import Fact
from assets.memory_items.final_ablation import (
    FACTS,
    FILLER,
    LAST,
    NONE,
    accepted_rows,
    certificate_rows,
    certified_digest,
    certified_task,
    without_hop,
)
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import Eviction
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import AssetDescription
from assets.tool_dialogue.dialogue import ToolDialogue, act_by_program
from assets.tool_dialogue.domains import domain_in
from assets.tool_dialogue.lengths import TD_LENGTHS
from assets.tool_dialogue.records import ToolRequest, ToolSessions, ToolTask
from assets.tool_dialogue.requests import TD_REQUESTS, arguments_of
from assets.tool_dialogue.sessions import TD_SESSIONS

IDLE = "doing nothing"
SUPERSEDED = "values that do not count"
TIMES = 2  # each dialogue is acted, with the same end
PROGRAM = "the program that plans errands"


async def certify_dialogues(
    sessions: ToolSessions, request: ToolRequest, lengths: TaskLengths, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> TaskAblation:
    """Act on every length as it will be released. Raises ItemFailed where a condition does not come out as it must."""
    certificates: list[Certificate] = []
    votes: list[GateRecord] = []
    for sized in lengths.lengths:
        outcomes = tuple(_outcomes(sessions.facts, request, sized, eviction=recipe.eviction))
        for outcome in outcomes:
            votes += _votes(outcome, request, item_id=f"{sized.target_tokens} tokens")
        wrong = [one.sentence for one in outcomes if one.outcome != "pass"]
        if wrong:
            sentence = f"The dialogue does not come out as it must. {'; '.join(wrong)}."
            raise ItemFailed("rule_violated", sentence, gate_records=votes)
        certified = Certificate(
            target_tokens=sized.target_tokens,
            digest=certified_digest(request, sized),
            readers=(PROGRAM,),
            prompt="",
            tokenizer=TOKENIZER,
            policy=recipe.ablation,
            outcomes=outcomes,
        )
        certificates.append(certified)
    return TaskAblation(task_id=request.task_id, certificates=tuple(certificates), gate_records=tuple(votes))


def _outcomes(
    facts: Sequence[Fact], request: ToolRequest, sized: SizedItem, *, eviction: Eviction
) -> Iterator[ConditionOutcome]:
    """Yield the outcome of each condition: nothing done, all facts, each one left out, filler, the last turns, wrong values."""
    documents = list(sized.documents)
    yield _outcome(IDLE, "wrong", [not ToolDialogue(request).failed_by for _ in range(TIMES)])
    yield _acted(NONE, request, (), "wrong")
    readable = _facts_in(request.hops, documents)
    yield _acted(FACTS, request, readable, "right")
    for number, hop in enumerate(request.hops, start=1):
        left = [one for one in documents if hop.fact_id not in one.facts]
        yield _acted(without_hop(number), request, _facts_in(request.hops, left), "wrong")
    yield _acted(FILLER, request, _facts_in(request.hops, [one for one in documents if one.role == "filler"]), "wrong")
    yield _acted(LAST, request, _facts_in(request.hops, documents_in_view(sized.turns, eviction)), "wrong")
    rivals = _rivals(request.hops, facts)
    if rivals != list(request.hops):
        yield _acted(SUPERSEDED, request, rivals, "wrong")


def _facts_in(hops: Sequence[Fact], documents: Iterable[ItemDocument]) -> list[Fact]:
    """Return the facts whose value really stands where they say, in one of these documents."""
    found: list[Fact] = []
    by_id = {document.document_id: document for document in documents}
    for hop in hops:
        document = by_id.get(hop.document_id)
        if document is not None and hop.fact_id in document.facts and document.text[hop.start : hop.end].strip():
            found.append(hop)
    return found


def _rivals(hops: Sequence[Fact], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts with another value of the same customer's matter in place of each, where a session has one."""
    found: list[Fact] = []
    for hop in hops:
        others = [one for one in facts if (one.subject, one.relation) == (hop.subject, hop.relation) and one.value != hop.value]
        found.append(others[0] if others else hop)
    return found


def _acted(condition: str, request: ToolRequest, facts: Sequence[Fact], expected: Expected) -> ConditionOutcome:
    values = arguments_of(request.errand, facts, domain_in(request.company))
    return _outcome(condition, expected, [_passes(request, values) for _ in range(TIMES)])


def _passes(request: ToolRequest, values: Mapping[str, str]) -> bool:
    dialogue = ToolDialogue(request)
    act_by_program(dialogue, values)
    return not dialogue.failed_by


def _outcome(condition: str, expected: Expected, passed: Sequence[bool]) -> ConditionOutcome:
    as_expected = all(passed) if expected == "right" else not any(passed)
    return ConditionOutcome(
        condition=condition,
        expected=expected,
        outcome="pass" if as_expected else "fail",
        readings=len(passed),
        right=sum(passed),
        errors=0,
    )


def _votes(outcome: ConditionOutcome, request: ToolRequest, *, item_id: str) -> list[GateRecord]:
    """Return each acted dialogue as a vote: the settled values where it passed, nothing where it did not."""
    votes: list[GateRecord] = []
    for number in range(outcome.readings):
        vote = GateRecord(
            gate=outcome.condition,
            item_id=item_id,
            draft=0,
            refinement=0,
            vote=number,
            judge=PROGRAM,
            text="the dialogue, acted",
            target={"answer": request.answer.value, "kind": request.answer.kind},
            reading={"answer": request.answer.value} if number < outcome.right else {},
            accepted=outcome.outcome == "pass",
        )
        votes.append(vote)
    return votes


async def accept_dialogue(
    request: ToolRequest, lengths: TaskLengths, ablation: TaskAblation, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> ToolTask:
    """Return the task, if each length is still what its certificate stands for. Raises ItemFailed."""
    return certified_task(
        ToolTask,
        asked=request,
        lengths=lengths,
        ablation=ablation,
        eviction=recipe.eviction,
        errand=request.errand,
        company=request.company,
        rows=request.rows,
        calls=request.calls,
        said=request.said,
    )


TD_CERTIFICATES = Stage(
    name="td_certificates",
    record=TaskAblation,
    make=certify_dialogues,
    needs=(TD_SESSIONS, TD_REQUESTS, TD_LENGTHS),
    description=AssetDescription(
        group="items",
        description="A program acts on the final bytes, twice: with all facts it passes; with none, with one left out, with "
        "filler, the last turns or superseded values it fails, as does doing nothing. What passes gets a certificate.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
TD_INSTANCES = Stage(
    name="td_instances",
    record=ToolTask,
    make=accept_dialogue,
    needs=(TD_REQUESTS, TD_LENGTHS, TD_CERTIFICATES),
    description=AssetDescription(
        group="items",
        description="The accepted tasks: request, the company's rows, the right calls, and the sessions at each length with "
        "their certificate. They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
