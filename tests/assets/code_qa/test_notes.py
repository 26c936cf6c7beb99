"""Notes of a team: facts that a reader finds again, names that no code has, results that were run."""

import itertools
import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import pytest

from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.questions import shown_code, with_first_said
from assets.code_qa.records.behaviours import Behaviour, CallResult
from assets.code_qa.team.calls import is_telling, keep_tellable, patches_of
from assets.code_qa.team.relations import EXECUTED, NOTE_KINDS, OUTCOME, QUESTION_KINDS, RELATIONS, SHOWN, WRONG_RESULT
from assets.code_qa.team.world import OCCASIONS, TeamWorld
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelReply, ModelRequest
from assets.memory_items.documents import PARAGRAPHS
from assets.memory_items.facts import DocumentPlan, Statement
from assets.memory_items.final_ablation import certify_lengths, final_conditions, without_hop
from assets.memory_items.world.clusters import FactCluster, make_cluster
from assets.memory_items.world.writing import FEWEST_TOKENS, DocumentWriter, PlannedText, WrittenText, placed_facts
from assets.recipe.document_tasks import Eviction, Operation
from assets.records.answers import TypedAnswer, is_right
from assets.records.base import ItemFailed
from assets.text.words import count_tokens
from pipelines.embedded.memory_items.asking import read_question
from pipelines.embedded.memory_items.known_world import Step
from pipelines.embedded.memory_items.reading import read_world_facts
from pipelines.embedded.task import BLOCK
from prompts.catalogue import load_prompt
from tests.support.code_questions import code_recipe, made_question
from tests.support.coroutines import run
from tests.support.document_texts import check_occasions
from tests.support.embedded_model import EmbeddedModel
from tests.support.scripted_model import ScriptedModel, reply


@dataclass
class ForgetfulModel(EmbeddedModel):
    """The embedded model, but it finds nothing in notes."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        forgets = request.schema_name == "memory_items_recover"
        return reply("{}") if forgets else await super().complete(request)


def test_notes_of_which_a_fact_is_not_found_again_are_given_up_and_the_votes_are_kept() -> None:
    made = made_question()
    with pytest.raises(ItemFailed, match="are not found in their documents") as failed:
        run(CODE_DOCUMENTS.make(made.sources, made.behaviours, made.decisions, recipe=code_recipe(), model=ForgetfulModel()))
    assert failed.value.reason == "gate_exhausted"
    assert len(failed.value.gate_records) == len(made.documents.facts)


def test_every_result_in_a_note_is_one_that_was_run() -> None:
    made = made_question()
    results = {one.call: one.result.text for one in made.behaviours.behaviours}
    told = [
        placed.statement
        for note in (*made.documents.documents, *made.documents.filler)
        for placed in note.statements
        if placed.statement.relation == OUTCOME
    ]
    assert told
    assert all(results[one.subject] == one.value for one in told)


def made_world() -> TeamWorld:
    made = made_question()
    return TeamWorld(made.sources, made.behaviours.behaviours, code_vocabulary(made.sources, code_recipe().packages))


@pytest.mark.parametrize("kind", NOTE_KINDS)
def test_every_kind_of_note_is_composed_in_many_ways(kind: str) -> None:
    facts = made_question().documents.facts
    day = next(fact.as_of for fact in facts if fact.as_of)
    texts = set[str]()
    for number in range(12):
        statement = Statement(subject=f"HUM-{2345 + number}", relation="assignee", value="Ada", as_of=day, status="plain")
        texts.add(told(statement, made_world(), kind=kind).replace(statement.subject, ""))
    assert len(texts) == 12


def test_a_note_argues_about_the_function_that_its_facts_are_about() -> None:
    world = made_world()
    named = 0
    for plan in make_cluster(world, 3, path=("argued",)).plans:
        about = [one for one in plan.statements if one.relation not in SHOWN]
        functions = {name for one in about for name in (one.subject, one.value) if name in world.code.functions}
        if functions:
            assert world.material(plan)["function"].strip("`") in functions
            named += 1
    assert named


def told(statement: Statement, world: TeamWorld, *, kind: str = "bug report") -> str:
    """A note of this statement alone."""
    plan = DocumentPlan(document_id="d", kind=kind, subject="HUM-2345", role="support", statements=(statement,))
    writer = DocumentWriter(world, code_recipe(), EmbeddedModel())
    return run(writer.write(plan, others=(plan,), role="support")).text


def test_each_fact_has_occasions_and_what_else_these_tell_is_of_the_same_subject() -> None:
    check_occasions(TeamWorld.relations, TeamWorld.document_kinds, OCCASIONS.ordinary)


def due(day: str) -> DocumentPlan:
    statement = Statement(subject="HUM-2345", relation="due", value=day, as_of=date(2026, 6, 9), status="plain")
    return DocumentPlan(document_id=day, kind="chat", subject="HUM-2345", role="support", statements=(statement,))


def test_a_day_of_a_note_may_go_without_the_year_that_its_title_has() -> None:
    world, plan = made_world(), due("6 November 2026")
    text = {
        "title": "Channel, 9 June 2026",
        "text": f"HUM-2345 can wait until 6 November. {'The docs build is red again. ' * 9}".strip(),
    }
    writer = DocumentWriter(world, code_recipe(), ScriptedModel({world.write_prompt: [text]}))
    note = run(writer.write(plan, others=(plan,), role="support"))
    (fact,) = placed_facts(note, world)
    assert note.text[fact.start : fact.end] == "6 November"
    (placed,) = note.statements
    for told in (fact, placed):
        assert told.stands_in(note.text)
        assert not told.stands_in(note.text.replace("6 November", "7 November"))
    later, other = due("6 November 2027"), due("7 November 2026")
    assert "One paragraph must have" in " ".join(PlannedText(world, later, (later,)).problems(WrittenText(**text)))
    told = WrittenText(title=text["title"], text=f"{note.text} Not until 7 November.")
    assert list(PlannedText(world, plan, (plan, other)).problems(told)) == [
        "Another document tells of 7 November; leave it out."
    ]


def test_a_value_of_a_note_is_found_in_the_sentence_that_tells_the_fact() -> None:
    fault = Statement(subject="HUM-2345", relation="fault", value="pluralize", as_of=date(2026, 6, 9), status="plain")
    plan = due("6 November 2026").model_copy(update={"statements": (fault,)})
    text = f"The test of `pluralize` is red. On 9 June 2026 we saw that HUM-2345 is by `pluralize`. {'The build is red. ' * 12}"
    (placed,) = PlannedText(made_world(), plan, (plan,)).place_statements(WrittenText(title="Channel", text=text))
    assert placed.start == text.rindex("pluralize")


def test_a_status_code_is_the_number_of_nothing_and_what_may_be_a_value_is_not_free() -> None:
    plan = due("6 November 2026")
    text = f"HUM-2345 gives 404 and then 425 until 6 November. {'The docs build is red again. ' * 9}".strip()
    problems = PlannedText(made_world(), plan, (plan,)).problems(WrittenText(title="Channel, 9 June 2026", text=text))
    assert list(problems) == ["The number 425 is none of those that you were given; leave it out."]


def test_a_note_need_not_leave_out_what_its_own_fact_hints_at() -> None:
    tested = due("6 November 2026").statements[0].model_copy(update={"relation": "tested", "value": "a.b('c')"})
    plan = due("6 November 2026").model_copy(update={"statements": (tested,)})
    left_out = PlannedText(made_world(), plan, (plan,)).variables["leave_out"]
    assert "the function at fault in HUM-2345" not in str(left_out)
    assert "the patch to blame for HUM-2345" in str(left_out)


def test_what_is_new_has_a_reason_that_explains_this_very_option() -> None:
    for relation in filter(lambda relation: relation.disputed, RELATIONS):
        for value in relation.options or ("any",):
            assert OCCASIONS.causes_of(relation.name, value)
        causes = [OCCASIONS.causes_of(relation.name, option) for option in relation.options]
        assert len(set(causes)) == len(causes)


def test_the_examples_of_the_prompt_obey_its_rules() -> None:
    """Their names are of no package, so that only what any text has to keep is looked at."""
    examples = load_prompt(TeamWorld.write_prompt).parts[1:-1]
    for request, answer in zip(examples[::2], examples[1::2], strict=True):
        given = {match["tag"]: match["body"] for match in BLOCK.finditer(request.text)}
        text = WrittenText.model_validate_json(answer.text)
        assert FEWEST_TOKENS <= count_tokens(text.text) <= TeamWorld.most_tokens
        paragraphs = text.text.split(PARAGRAPHS)
        for fact in json.loads(given["facts"]):
            if "session" in fact:
                assert paragraphs[paragraphs.index(fact["session"]) - 1].endswith(":")
                continue
            told = [
                f"{paragraphs[0]}\n{paragraph}" for paragraph in paragraphs if fact["value"].removesuffix(" 2026") in paragraph
            ]
            assert any(fact["name"] in around for around in told)
        assert json.loads(given["material"])["written_on"] in text.title
        assert given["subject"] not in text.title


def test_a_call_that_raises_is_shown_with_its_traceback_and_read_again() -> None:
    traceback = 'Traceback (most recent call last):\n  File "m.py", line 3, in f\n    raise Oddity(x)\nOddity: not that way'
    raised = Behaviour(
        behaviour_id="b",
        symbol_id="humanfriendly.text.format",
        arguments=("'x y'",),
        result=CallResult(outcome="raises", text="Oddity", traceback=traceback),
    )
    made = made_question()
    world = TeamWorld(made.sources, [raised], code_vocabulary(made.sources, code_recipe().packages))
    day = made.documents.facts[0].as_of
    assert day is not None
    statement = Statement(subject=raised.call, relation=OUTCOME, value="Oddity", as_of=day, status="plain")
    text = told(statement, world)
    assert f">>> {raised.call}\n{traceback}\n\n" in text
    in_one_line = " ".join(text.split())  # as a memory may keep it
    for kept in (text, in_one_line):
        (fact,) = read_world_facts(kept)
        assert (fact.relation, fact.value) == (OUTCOME, "Oddity")


def test_a_heading_whose_line_was_joined_with_a_rule_hides_no_rule() -> None:
    rule = "This takes for granted that HUM-2345 settles that `b('x') == True` holds, since the triage of 19 January 2036."
    (alone,) = read_world_facts(rule)
    assert alone.value == "b('x') == True"
    for heading in ("Decisions that this rests on:\n", "Decisions that this rests on: "):
        assert list(read_world_facts(f"{heading}{rule}")) == [alone]


def test_a_colon_within_a_call_begins_no_options() -> None:
    call = "a.b({'hl': '1 2'}, 'x')"
    read = read_question(f"What is the outcome of {call}?", [], [Step(OUTCOME, "the outcome of {x}")])
    assert read is not None
    assert [(part.name, [step.relation for step in part.steps]) for part in read.parts] == [(call, [OUTCOME])]


def test_what_a_patch_breaks_was_executed_and_is_shown_with_the_patch() -> None:
    made = made_question()
    world = made_world()
    patches = patches_of(keep_tellable(made.behaviours.behaviours))
    assert patches
    for name, patch in patches.items():
        assert patch.miss in patch.behaviour.near_misses
        day = made.documents.facts[0].as_of
        assert day is not None
        value = patch.miss.result.text
        shown = Statement(subject=name, relation=WRONG_RESULT, value=value, as_of=day, status="plain")
        text = told(shown, world)
        assert world.expected(shown) == patch.behaviour.result.text != value
        assert f", with {name} applied:\n\n>>> {patch.behaviour.call}\n{value}\n" in text
        (fact,) = read_world_facts(text)
        assert (fact.relation, fact.value) == (WRONG_RESULT, value)


def test_every_kind_of_question_is_asked_as_often_as_another_and_what_happens_twice_as_often() -> None:
    world = made_world()
    ends = [world.paths(SeededRandom("path", number), 2, "follow")[0][-1].name for number in range(700)]
    for kind, relations in QUESTION_KINDS.items():
        times = sum(end in relations for end in ends)
        expected = 200 if kind == "what happens if" else 100
        assert abs(times - expected) < 40, kind


@pytest.mark.parametrize("operation", ["since_when", "still_so"])
def test_of_what_somebody_asks_for_how_long_it_is_so_another_note_says_otherwise(operation: Operation) -> None:
    clusters: list[FactCluster] = []
    for number in range(9):
        with suppress(LookupError):  # a small package has too few functions for some
            clusters.append(make_cluster(made_world(), 2, path=("held", number), operation=operation))
    assert len(clusters) > 3
    for cluster in clusters:
        (other,) = [plan for plan in cluster.plans if plan.role == "superseded"]
        said = {(one.subject, one.relation) for one in other.statements}
        last = cluster.chain[-1]
        assert (last.subject, last.relation) in said
        # Who does not know the way finds two pairs, and the first note of one of them still holds.
        by_subject: defaultdict[str, list[Statement]] = defaultdict(list)
        for one in itertools.chain.from_iterable(plan.statements for plan in cluster.plans):
            if one.relation == last.relation:
                by_subject[one.subject].append(one)
        latest = [max(notes, key=lambda note: note.as_of) for notes in by_subject.values() if len(notes) == 2]
        assert len({note.status for note in latest}) == len(latest) == (2 if operation == "still_so" else 1)


def test_what_was_said_first_is_asked_about_whether_it_counts_or_not() -> None:
    fact = made_question().documents.facts[0]
    counts = fact.model_copy(update={"as_of": date(2026, 6, 9)})
    for day, hops in ((date(2026, 7, 9), 1), (date(2026, 5, 9), 2)):
        other = counts.model_copy(update={"value": "another", "as_of": day})
        assert with_first_said([counts], [counts, other]) == [counts, other][:hops]


def test_what_is_shown_and_not_said_was_executed() -> None:
    assert SHOWN < EXECUTED
    assert all(not one.disputed for one in RELATIONS if one.name in EXECUTED)


def test_what_is_shown_with_a_question_is_code_of_its_rivals_too() -> None:
    """Were only the chain's function shown, the code would tell a step of the way."""
    made = made_question()
    functions = {hop.subject.partition("(")[0] for hop in made.decisions.chain if "(" in hop.subject}
    shown = {one.document_id.removeprefix("code-") for one in made.question.code}
    assert functions < shown
    assert shown_code(made.sources, made.behaviours, made.decisions, most=code_recipe().max_code_tokens) == made.question.code


def test_leaving_out_a_decision_or_an_outcome_leaves_the_code_in_sight() -> None:
    made = made_question()
    assert made.question.hops[-1].relation == OUTCOME
    conditions = final_conditions(made.lengths.lengths[0], made.question, eviction=Eviction(), most=100_000)
    for number in range(1, len(made.question.hops) + 1):
        (read,) = next(one.parts for one in conditions if one.name == without_hop(number))
        assert set(made.question.code) <= set(read)
    again = run(certify_lengths(made.question, made.lengths, recipe=code_recipe(), model=EmbeddedModel()))
    assert again.certificates == made.ablation.certificates


def test_of_a_function_whose_outcome_is_asked_for_the_head_alone_is_shown() -> None:
    """Whoever sees its body works the outcome out, and remembers nothing."""
    made = made_question()
    function = made.question.hops[-1].subject.partition("(")[0]
    (shown,) = [one for one in made.question.code if one.document_id == f"code-{function}"]
    symbol = made.sources.symbol(function)
    assert symbol.source.startswith(shown.text)
    assert shown.text.endswith(":")
    assert "return" not in shown.text
    assert "return" in symbol.source


@pytest.mark.parametrize(
    ("result", "telling"),
    [("a b", False), ("eggs and milk", True), ("12", False), ("6,000", True), ("ok", False), ("InvalidName", True)],
)
def test_a_result_is_asked_for_only_where_nothing_else_reads_like_it(result: str, telling: bool) -> None:
    assert is_telling(result) == telling


def test_calls_that_read_alike_are_told_once_and_guessed_results_never() -> None:
    def behaviour(argument: str, text: str) -> Behaviour:
        result = CallResult(outcome="returns", text=text)
        return Behaviour(behaviour_id=argument, symbol_id="a.b", arguments=(argument,), result=result)

    known = [
        behaviour("'x-y'", "'one two'"),
        behaviour("'x_y'", "'one two'"),
        behaviour("'z'", "False"),
        behaviour("'q'", "'a\\nb'"),
        behaviour("'two three'", "'two three'"),
    ]
    assert [one.call for one in keep_tellable(known)] == ["a.b('x-y')"]


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("'one-two'", True),
        ('"one-two"', True),
        ("one-two", True),
        ("`'one-two'`", True),
        ("'one_two'", False),
        ("one two", False),
    ],
)
def test_an_answer_of_code_is_graded_letter_by_letter_but_for_its_quotes(given: str, right: bool) -> None:
    assert is_right(TypedAnswer(kind="code", value="'one-two'"), given) == right


def test_literals_are_compared_whatever_their_spaces() -> None:
    assert is_right(TypedAnswer(kind="code", value="[1, 'a']"), '[1,"a"]')
    assert not is_right(TypedAnswer(kind="code", value="(1, 2)"), "[1, 2]")


def test_every_phrase_ends_with_what_it_is_about() -> None:
    assert [relation.name for relation in RELATIONS if not relation.phrase.endswith("{x}")] == []


def test_no_number_of_a_decision_reads_like_a_year_in_a_note() -> None:
    for relation in RELATIONS:
        if relation.value == "number":
            assert not set(range(*relation.between, relation.step)) & set(range(1900, 2100))


def test_what_notes_plan_comes_after_the_notes_and_within_months() -> None:
    planned = [relation.days for relation in RELATIONS if relation.value == "date"]
    assert planned
    noted = TeamWorld.days
    assert all(noted.last < days.first and (days.last - noted.first).days < 240 for days in planned)


def test_a_function_goes_by_its_bare_name_where_no_other_has_it_and_it_is_no_plain_word() -> None:
    functions = made_world().code.functions
    assert functions["join_lines"].symbol_id == "humanfriendly.text.join_lines"
    assert functions["text.format"].symbol_id == "humanfriendly.text.format"
    assert all(functions[name].symbol_id.endswith(name) for name in functions)


def test_a_function_that_takes_the_place_of_another_is_one_like_it_and_a_wrapper_has_its_name() -> None:
    world = made_world()
    names = world.entities(("like",), frozenset())
    rng = SeededRandom("like")
    subject = "compact_empty_lines"
    successor = names.value(world.relation("successor"), subject=subject, other_than=set(), rng=rng)
    assert {"empty", "lines"} & set(successor.split("_"))
    assert names.value(world.relation("wrapper"), subject=subject, other_than=set(), rng=rng).endswith(f"_{subject}")
