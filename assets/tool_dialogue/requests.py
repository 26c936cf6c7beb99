"""Stage `td_requests`: what the customer asks for, which leaves settled matters to memory, and the calls that are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.matters_read import misread, plain_words, read_matters
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured, numbered
from assets.memory_items.chains import settle_facts, standing_facts
from assets.memory_items.facts import Fact
from assets.memory_items.operations import planned_facts
from assets.memory_items.questions import TaskChain, chain_question_rows
from assets.memory_items.tasks import TaskDocuments
from assets.memory_items.world.relations import spoken
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.records.base import ItemFailed, Text
from assets.reporting.asset_description import AssetDescription
from assets.text.words import folded, spells
from assets.tool_dialogue.company import Company
from assets.tool_dialogue.domain import Domain, domain_in
from assets.tool_dialogue.domains import WHO
from assets.tool_dialogue.errands import Errand, ErrandPlan, MatterMissing, RowMissing, as_argument
from assets.tool_dialogue.records import ToolRequest, ToolWorld
from assets.tool_dialogue.sessions import TD_SESSIONS
from assets.tool_dialogue.worlds import TD_WORLDS
from prompts.catalogue import load_prompt

WORD = "td_requests/word"
CHECK = "td_requests/check"
FOR_WHOM = "the person for whom it is"  # what a judge is asked about beside matters


class RequestReply(BaseModel):
    """The reply of the writer of a request."""

    request: Text


async def ask_for_errand(
    world: ToolWorld, sessions: TaskDocuments, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> ToolRequest:
    """Word the request; judges must read its matters back. Raises ItemFailed where sessions leave a matter open."""
    domain = domain_in(world.company)
    hops = planned_facts("act", world.chain, sessions.facts)
    chain = TaskChain(world.task_id, hops, sessions.facts, sessions.documents, "act", ("act",))
    chain.expect_one_answer()
    plan = ErrandPlan(domain, world.errand)
    try:
        values = settled_arguments(world.errand, sessions.facts, domain)
        done = plan.carried_out(Company(domain, world.rows), values)
    except (MatterMissing, RowMissing) as problem:
        raise ItemFailed("rule_violated", f"The errand cannot be done as it was settled: {problem}.") from problem
    attempt = await _RequestWording(world, domain, hops, recipe, model).write_until_accepted()
    return ToolRequest(
        task_id=world.task_id,
        operation="act",
        hops=tuple(hops),
        starts=chain.asked_facts.starts,
        question=attempt.text,
        # The settled values in the order of the facts, and near misses: other values of a matter in one's place.
        answer=chain.typed_answer(seed=recipe.world_seed).model_copy(update={"options": ()}),
        gate_records=tuple(attempt.records),
        errand=world.errand,
        company=world.company,
        rows=world.rows,
        calls=tuple(call for call, _ in done),
        said=plan.news(values, done),
    )


def settled_arguments(errand: Errand, facts: Sequence[Fact], domain: Domain) -> dict[str, str]:
    """Return who is meant and an errand's matters as calls have them: those stated, and those that the facts settle."""
    values = dict(errand.stated)
    standing = standing_facts(facts)
    subject = errand.person
    for relation in (WHO.name, *errand.settled):
        about = [fact for fact in standing if (folded(fact.subject), fact.relation) == (folded(subject), relation)]
        fact = settle_facts(about)
        if fact is not None:
            values[relation] = fact.value
        subject = values.get(WHO.name, "")
    return {matter: as_argument(domain, matter, value) for matter, value in values.items()}


def settled_values(hops: Sequence[Fact]) -> list[str]:
    """Return the values of these facts, dates also as people spell them."""
    values: list[str] = []
    for hop in hops:
        values.append(hop.value)
        if hop.kind == "date":
            values.append(spoken(date.fromisoformat(hop.value)))
    return values


@dataclass(frozen=True)
class _RequestWording:
    """Words a request, and reads back which matters it states and which it leaves to earlier sessions."""

    world: ToolWorld
    domain: Domain
    hops: Sequence[Fact]
    recipe: ToolDialogueRecipe
    model: LanguageModel

    async def write_until_accepted(self) -> GateAttempt:
        """Return a wording that passed the gate, with its votes. Raises ItemFailed."""
        gate = Gate("request", self._target, None, self._reword, self._word)
        attempt = GateAttempt(self.world.task_id, await self._word(0))
        await pass_gates([[(gate, attempt)]], self._read, size=1, recipe=self.recipe)
        return attempt

    @property
    def _target(self) -> dict[str, str]:
        stated = {self._label(matter): plain_words(value) for matter, value in self.world.errand.stated.items()}
        return {**stated, FOR_WHOM: plain_words(self.world.errand.person)}

    @property
    def _asked_matter(self) -> str:
        return self.domain.errands[self.world.errand.name].tells

    def _label(self, matter: str) -> str:
        return self.domain.matters[matter].label

    async def _word(self, sample: int, reading: dict[str, str] | None = None) -> str:
        errand = self.world.errand
        prompt = load_prompt(WORD).render(
            customer=errand.customer,
            company=self.domain.company,
            wants=self.domain.errands[errand.name].wants.format(item=errand.item, person=errand.person),
            asks=self._label(self._asked_matter),
            stated={self._label(matter): value for matter, value in errand.stated.items()},
            reading=reading or {},
            language=self.recipe.language_name,
        )
        return await ask_structured(
            self.model, prompt=prompt, reply=RequestReply, convert=self._check_reply, settings=self.recipe.asking, sample=sample
        )

    async def _reword(self, _: str, reading: dict[str, str], sample: int) -> str:
        return await self._word(sample + 1, misread(reading, self._target))

    def _check_reply(self, reply: RequestReply) -> str:
        """Return the request. Raises ValueError where it lacks something that it has to say, or says a settled value."""
        errand = self.world.errand
        for wanted in (errand.customer, errand.person, errand.item, self._label(self._asked_matter), *errand.stated.values()):
            if not spells(reply.request, wanted):
                raise ValueError(f"The request must say {wanted!r}.")
        for value in settled_values(self.hops):
            if spells(reply.request, value):
                raise ValueError(f"The request tells {value!r}, which the company has to remember.")
        for matter in errand.settled:
            if matter != self._asked_matter and spells(reply.request, self._label(matter)):
                raise ValueError(f"The request speaks of {self._label(matter)!r}, which goes without saying.")
        return reply.request

    async def _read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return for each request what a judge reads of each matter, asked in another order each time."""
        readings: list[dict[str, str]] = []
        for task in tasks:
            rng = SeededRandom(self.recipe.world_seed, task.item_id, "matters", task.vote.number)
            errand = self.world.errand
            labels = [self._label(matter) for matter in (*errand.stated, *errand.settled)]
            matters = numbered(rng.shuffled([*labels, FOR_WHOM]))
            prompt = load_prompt(CHECK).render(request=task.text, matters=matters)
            readings.append(await read_matters(self.model, task, matters, prompt=prompt, settings=self.recipe.asking))
        return readings


TD_REQUESTS = Stage(
    name="td_requests",
    record=ToolRequest,
    make=ask_for_errand,
    version=3,
    needs=(TD_WORLDS, TD_SESSIONS),
    prompts=(WORD, CHECK),
    calls={WORD: PromptCalls(reading=320, writing=60), CHECK: PromptCalls(2, reading=260, writing=40)},
    description=AssetDescription(
        group="tasks",
        description="The customer's request for one of her people, who is not named. It states some matters, asks for one, "
        "and says nothing of the others that sessions settled. The right calls are planned on the company's rows. Judges read "
        "back what it says.",
        rows=chain_question_rows,
        paper="MemGym",
    ),
)
