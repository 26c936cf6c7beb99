"""Tool dialogues as they are made: the gold calls do the errand, and nothing less than all settled matters does."""

import json
from dataclasses import replace

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.memory_items.ablation import was_right
from assets.memory_items.acting import IDLE, SUPERSEDED
from assets.memory_items.documents import Turn
from assets.memory_items.facts import UNDONE
from assets.memory_items.final_ablation import uncertified_lengths
from assets.memory_items.recovery import RECOVER
from assets.memory_items.world.writing import PlannedText, WrittenText
from assets.recipe.recipe import RecipeError
from assets.records.base import ItemFailed
from assets.tool_dialogue.company import Company
from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.errands import ErrandPlan, MatterMissing, act_by_program
from assets.tool_dialogue.pipeline import TOOL_DIALOGUE, with_digest_of_companies
from assets.tool_dialogue.requests import ask_for_errand, settled_arguments
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.tool_dialogues import drawn, made_dialogue, make_dialogue, tool_recipe


def test_each_condition_of_a_certificate_was_acted_twice_and_came_out_as_it_must() -> None:
    (certificate,) = made_dialogue().certificates.certificates
    right = {one.condition: (one.right, one.readings) for one in certificate.outcomes}
    assert right == {
        IDLE: (0, 2),
        "none": (0, 2),
        "facts": (2, 2),
        "without hop 1": (0, 2),
        "without hop 2": (0, 2),
        "without hop 3": (0, 2),
        "without hop 4": (0, 2),
        "filler only": (0, 2),
        "last turn only": (0, 2),
        SUPERSEDED: (0, 2),
    }


def test_all_companies_and_numbers_of_matters_are_made() -> None:
    companies = ("repairs", "deliveries", "travel")
    recipe = tool_recipe(num_tasks=4, min_hops=1, max_hops=4, domains=companies, length_tolerance=0.1)
    worlds = drawn(recipe)
    assert {world.errand.domain for world in worlds} == {"repairs", "deliveries", "travel"}
    assert {world.hops for world in worlds} == {1, 2, 3, 4}
    for world in worlds:
        task = run(make_dialogue(world, recipe=recipe, model=EmbeddedModel())).instance
        assert [hop.relation for hop in task.hops[1:] if hop.relation in world.errand.settled] == list(world.errand.settled)
        assert len(task.hops) == world.hops + 2
        assert list(uncertified_lengths(task)) == []


def test_every_session_names_the_customer_and_the_request_names_neither_person_nor_settled_matters() -> None:
    task = made_dialogue().instance
    assert all(task.errand.customer in document.text for document in task.lengths[0].documents)
    who, *settled = [hop for hop in task.hops if not hop.relation.startswith(UNDONE)]
    assert task.errand.person == who.subject
    assert who.subject in task.question
    assert who.value not in task.question
    domain = domain_in(task.company)
    named = [hop.relation for hop in settled if domain.matters[hop.relation].label in task.question]
    assert named == [domain.errands[task.errand.name].tells]


def test_most_matters_have_a_rival_and_in_a_third_of_conflicts_an_earlier_written_value_beats_a_later_plain_one() -> None:
    conflicts: list[bool] = []
    facts = 0
    for world in drawn(tool_recipe(num_tasks=40, max_hops=4, lengths=(12000,))):
        facts += world.hops + 1
        said = [statement for plan in world.plans for statement in plan.statements]
        for hop in world.chain[: world.hops + 1]:
            about = [one for one in said if (one.subject, one.relation) == (hop.subject, hop.relation)]
            counts = next(one for one in about if one.value == hop.value)
            rivals = [one for one in about if one.value != hop.value]
            conflicts += [(counts.status, one.status) == ("certified", "plain") and counts.as_of < one.as_of for one in rivals]
    assert len(conflicts) > 0.6 * facts
    assert 0.23 < sum(conflicts) / len(conflicts) < 0.43


def test_without_the_session_that_undid_a_value_the_program_acts_on_that_value() -> None:
    made = made_dialogue()
    (undone,) = [hop for hop in made.request.hops if hop.relation.startswith(UNDONE)]
    matter = undone.relation.removeprefix(UNDONE)
    domain = domain_in(made.world.company)
    right = settled_arguments(made.world.errand, made.sessions.facts, domain)
    unaware = settled_arguments(made.world.errand, [fact for fact in made.sessions.facts if fact != undone], domain)
    assert right[matter] != unaware[matter] == undone.value


def test_a_session_without_its_lookup_goes_back_to_the_writer() -> None:
    made = made_dialogue()
    desk = ServiceDesk(domain_in(made.world.company), made.world.errand.customer)
    planned = PlannedText(desk, made.world.plans[0], made.world.plans)
    document = made.sessions.documents[0]
    lookup = desk.material(planned.plan)["lookup"]
    whole = WrittenText(title=document.title, text=document.text)
    assert not list(planned.problems(whole))
    without = whole.model_copy(update={"text": document.text.replace(lookup, "")})
    assert list(planned.problems(without)) == [f"The text must have this, letter by letter:\n{lookup}"]


class AddsWords(EmbeddedModel):
    """A reader that gives values as a sentence has them."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await super().complete(request)
        if request.labels.prompt != RECOVER:
            return reply
        values = {number: f"{value}, please" for number, value in json.loads(reply.text).items()}
        return replace(reply, text=json.dumps(values))


def test_an_option_is_found_again_among_other_words_and_a_name_or_number_is_not() -> None:
    recipe = tool_recipe()
    with pytest.raises(ItemFailed, match="facts are not found in their documents") as failed:
        run(make_dialogue(drawn(recipe)[0], recipe=recipe, model=AddsWords()))
    found = {vote.accepted for vote in failed.value.gate_records if vote.target["kind"] == "option"}
    assert found == {True}


def test_what_a_call_filed_is_read_like_what_was_confirmed_in_writing() -> None:
    filed = [document for document in made_dialogue().sessions.documents if "file_terms(" in document.text]
    assert filed
    assert any(placed.statement.status == "certified" for placed in filed[0].statements)


def test_the_same_recipe_makes_the_same_bytes() -> None:
    recipe = tool_recipe()
    again = run(make_dialogue(drawn(recipe)[0], recipe=recipe, model=EmbeddedModel()))
    assert again.instance.model_dump_json() == made_dialogue().instance.model_dump_json()


def test_another_salt_makes_another_company() -> None:
    (world,) = drawn(tool_recipe(salt="another"))
    assert world.errand.customer != made_dialogue().world.errand.customer


def test_the_program_stops_before_it_writes_where_a_matter_is_missing() -> None:
    task = made_dialogue().instance
    domain = domain_in(task.company)
    company = Company(domain, task.rows)
    before = company.state()
    with pytest.raises(MatterMissing) as missing:
        ErrandPlan(domain, task.errand).carried_out(company, settled_arguments(task.errand, task.hops[:2], domain))
    assert missing.value.matter == task.hops[2].relation
    assert company.state() == before


def test_an_end_counts_only_with_all_that_was_asked_for_said_in_one_message_and_no_other_value_beside() -> None:
    task = made_dialogue().instance
    *references, told = task.said
    assert len(references) == 2
    dialogue = ToolDialogue(task)
    for call in task.calls:
        dialogue.call(call.tool, call.arguments)
    options = next(matter.options for matter in dialogue.domain.matters.values() if told in matter.options)
    for said in (*task.said, ", ".join(references), ", ".join([*references, *options])):
        dialogue.say(said)
        assert dialogue.failed_by.startswith("no message tells the customer")
    dialogue.say(f"Done, {', '.join(task.said)}.")
    assert dialogue.failed_by == ""


def test_what_is_asked_is_settled_by_sessions_and_in_no_call() -> None:
    for world in drawn(tool_recipe(num_tasks=20, max_hops=4, domains=("repairs", "deliveries", "travel"))):
        domain = domain_in(world.company)
        spec = domain.errands[world.errand.name]
        assert spec.tells in world.errand.settled
        assert len(spec.tools) == 2
        assert domain.matters_of(spec).count(spec.tells) == 1


def test_one_write_too_many_fails() -> None:
    task = made_dialogue().instance
    dialogue = ToolDialogue(task)
    act_by_program(dialogue, task.errand, settled_arguments(task.errand, task.hops, dialogue.domain))
    assert dialogue.failed_by == ""
    dialogue.call(task.calls[-1].tool, task.calls[-1].arguments)
    assert dialogue.failed_by == "the rows in the end are others"


def test_the_customer_tells_nothing_that_was_settled() -> None:
    dialogue = ToolDialogue(made_dialogue().instance)
    reply = dialogue.say("Which technician was it?")
    assert "settled" in reply
    assert not [hop.value for hop in made_dialogue().request.hops if hop.value in reply]


def test_a_certificate_is_void_where_a_row_was_changed_after_it() -> None:
    task = made_dialogue().instance
    first = task.rows[0]
    changed = first.model_copy(update={"values": {**first.values, "name": "Somebody Else"}})
    assert list(uncertified_lengths(task.model_copy(update={"rows": (changed, *task.rows[1:])})))


@pytest.mark.parametrize("left", [False, True])
def test_bytes_in_which_a_settled_value_no_longer_stands_get_no_certificate(left: bool) -> None:
    """The value's document is away, or has other letters in the value's place."""
    made = made_dialogue()
    (sized,) = made.lengths.lengths
    hop = made.request.hops[0]
    turns: list[Turn] = []
    for turn in sized.turns:
        documents = list(turn.documents)
        for document in turn.documents:
            if hop.fact_id in document.facts:
                documents.remove(document)
                written_over = f"{document.text[: hop.start]}ZZZZ{document.text[hop.end :]}"
                documents += [document.model_copy(update={"text": written_over})] if left else []
        turns.append(turn.model_copy(update={"documents": tuple(documents)}))
    lengths = made.lengths.model_copy(update={"lengths": (sized.model_copy(update={"turns": tuple(turns)}),)})
    with pytest.raises(ItemFailed, match="facts: 0 of 2 readings right"):
        run(
            TOOL_DIALOGUE.stage("td_certificates").make(
                made.sessions, made.request, lengths, recipe=tool_recipe(), model=EmbeddedModel()
            )
        )


def test_sessions_that_leave_a_matter_open_make_no_task() -> None:
    made = made_dialogue()
    hop = made.request.hops[0]
    facts = tuple(one for one in made.sessions.facts if (one.subject, one.relation) != (hop.subject, hop.relation))
    sessions = made.sessions.model_copy(update={"facts": facts})
    with pytest.raises(ItemFailed, match="The chain is not told"):
        run(ask_for_errand(made.world, sessions, recipe=tool_recipe(), model=EmbeddedModel()))


def test_sessions_with_the_customers_name_are_no_filler() -> None:
    made = made_dialogue()
    last = made.sessions.filler[-1]
    leaking = last.model_copy(update={"text": f"{last.text} {made.request.hops[0].subject} asked too."})
    sessions = made.sessions.model_copy(update={"filler": (*made.sessions.filler[:-1], leaking)})
    recipe = tool_recipe(length_tolerance=0.2)  # one cluster less is left for it
    lengths = run(
        TOOL_DIALOGUE.stage("td_lengths").make(made.world, sessions, made.request, recipe=recipe, model=EmbeddedModel())
    )
    assert leaking.document_id not in {one.document_id for one in lengths.lengths[0].documents}


def test_an_unknown_company_is_refused_with_those_there_are() -> None:
    with pytest.raises(RecipeError, match="domains names 'repair', which is no company; there are repairs"):
        with_digest_of_companies(tool_recipe(domains=("repair",)))


def test_every_acted_dialogue_is_kept_as_a_vote_that_the_report_counts() -> None:
    made = made_dialogue()
    (certificate,) = made.certificates.certificates
    right = [was_right(vote) for vote in made.certificates.gate_records]
    assert len(right) == sum(one.readings for one in certificate.outcomes)
    assert right.count(True) == 2
    assert None not in right


@pytest.mark.parametrize(("table", "column"), [("elsewhere", ""), ("", "note")], ids=["another table", "another column"])
def test_a_task_with_a_row_that_its_company_has_no_place_for_is_refused(table: str, column: str) -> None:
    task = made_dialogue().instance
    row = task.rows[0]
    planted = {"table": table or row.table, "values": {column: "x"} if column else row.values}
    content = {**task.model_dump(), "rows": [planted, *(row.model_dump() for row in task.rows[1:])]}
    with pytest.raises(ValueError, match="has not the columns that the company's table has"):
        type(task).model_validate(content)
