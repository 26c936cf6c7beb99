"""The contract of every stage (DESIGN section 5) as rules. What a record's own invariants forbid is not said again."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from assets.records.answer import AnswerSet
from assets.records.base import StageName
from assets.records.episode import Episode
from assets.records.event import EventSet
from assets.records.persona import Persona
from assets.records.profile import UserProfile
from assets.records.question import QuestionSet
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from assets.records.session import SessionSet
from assets.records.trajectory import StateTrajectory
from assets.session_queries import MAX_STATES_PER_INITIAL_QUERY
from assets.state_trajectory import period_dates
from assets.user_profiles import PROFILE_WORD_LIMIT
from validation.rules import Rule, expect

EMPTY_FIELD = re.compile(r"\(\s*\)|^[^:\n]*:[ \t]*(?:None|nan|null)?[ \t]*$", re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?。！？]+(?=\s|$)")


def persona_is_not_excluded(persona: Persona, recipe: Recipe) -> Iterator[str]:
    """No excluded persona is sampled."""
    yield from expect(persona.user_id not in recipe.exclude_ids, "is named in exclude_ids")


def persona_tells_something(persona: Persona, _: Recipe) -> Iterator[str]:
    """A persona has words to make a profile of."""
    yield from expect(bool(persona.persona or persona.professional_persona), "has no persona text")


def profile_has_no_empty_field(profile: UserProfile, _: Recipe) -> Iterator[str]:
    """What a persona lacks is left out of the profile; its paragraph may say what it likes."""
    fields = profile.formatted_str.partition("\nAbout: ")[0]
    for match in EMPTY_FIELD.finditer(fields):
        yield f"the formatted profile shows an empty field at {match.group(0)!r}"


def profile_is_short(profile: UserProfile, _: Recipe) -> Iterator[str]:
    """The paragraph stays under its limit."""
    words = len(profile.complementary_info.split())
    yield from expect(words < PROFILE_WORD_LIMIT, f"the paragraph has {words} words")


def questions_have_the_recipes_counts(record: QuestionSet, recipe: Recipe) -> Iterator[str]:
    """Exactly the recipe's numbers of questions, info types and choices."""
    yield from expect(len(record.questions) == recipe.num_questions, f"has {len(record.questions)} questions")
    for question in record.questions:
        infos = question.required_info
        yield from expect(len(infos) == recipe.num_states_per_question, f"{question.question_id} has {len(infos)} types")
        for info in infos:
            count = len(info.info_choices)
            yield from expect(count == recipe.num_choices_per_state, f"{info.info_type} has {count} choices")


def every_original_type_is_mapped_once(schema: StateSchema, recipe: Recipe) -> Iterator[str]:
    """The schema accounts for every drafted type exactly once."""
    mapped = Counter(name for variable in schema.variables for name in variable.merged_from)
    wanted = recipe.num_questions * recipe.num_states_per_question
    yield from expect(len(mapped) == wanted, f"maps {len(mapped)} drafted types, there are {wanted}")
    for name, count in mapped.items():
        yield from expect(count == 1, f"maps {name!r} {count} times")


def schema_has_the_recipes_choices(schema: StateSchema, recipe: Recipe) -> Iterator[str]:
    """Every variable has the recipe's number of choices."""
    for variable in schema.variables:
        count = len(variable.choices)
        yield from expect(count == recipe.num_choices_per_state, f"{variable.name} has {count} choices")


def periods_have_the_recipes_dates(trajectory: StateTrajectory, recipe: Recipe) -> Iterator[str]:
    """Periods chain from the start date in steps of the recipe's months."""
    yield from expect(len(trajectory.periods) == recipe.num_periods + 1, f"has {len(trajectory.periods)} periods")
    yield from expect(trajectory.periods[0].end == recipe.start_date, "does not begin on the start date")
    for period in trajectory.periods[1:]:
        dates = (period.start, period.end)
        yield from expect(dates == period_dates(recipe, period.index), f"period {period.index} has the dates {dates}")


def periods_change_about_as_much_as_wanted(trajectory: StateTrajectory, recipe: Recipe) -> Iterator[str]:
    """One update more or fewer than wanted is fine."""
    for period in trajectory.periods[1:]:
        count = len(period.updates)
        fits = recipe.fewest_changes <= count <= recipe.num_changes_per_period + 1
        yield from expect(fits, f"period {period.index} has {count} updates")


def no_variable_changes_too_often(trajectory: StateTrajectory, recipe: Recipe) -> Iterator[str]:
    """The cap per variable holds."""
    counts = Counter(update.variable for period in trajectory.periods for update in period.updates)
    for name, count in counts.items():
        yield from expect(count <= recipe.max_changes_per_state, f"{name} changes {count} times")


def every_period_has_events(record: EventSet, recipe: Recipe) -> Iterator[str]:
    """Each period after the first has at least one event, and no variable two."""
    indices = [period.index for period in record.periods]
    yield from expect(indices == list(range(1, recipe.num_periods + 1)), f"has events for the periods {indices}")
    for period in record.periods:
        causes = Counter(itertools.chain.from_iterable(event.states for event in period.events))
        doubled = [name for name, count in causes.items() if count > 1]
        yield from expect(bool(period.events), f"period {period.index} has no event")
        yield from expect(not doubled, f"period {period.index} has two events for {doubled}")


def initial_queries_expose_few_states(record: SessionSet, _: Recipe) -> Iterator[str]:
    """An initial query exposes one to three states."""
    for session in record.periods[0].sessions:
        count = len(session.exposed_states)
        yield from expect(count <= MAX_STATES_PER_INITIAL_QUERY, f"{session.query[:60]!r} exposes {count} states")


def sessions_lie_inside_their_period(record: SessionSet, recipe: Recipe) -> Iterator[str]:
    """Sessions take place within their period, the initial ones before the start date."""
    for period in record.periods:
        start, end = period_dates(recipe, period.index)
        for session in period.sessions:
            day = session.session_time.date()
            inside = day < end and (period.index == 0 or day > start)
            yield from expect(inside, f"the session of {session.session_time} lies outside period {period.index}")


def values_are_not_copied_into_queries(record: SessionSet, _: Recipe) -> Iterator[str]:
    """A query hints at a value, it does not spell it."""
    for session in (session for period in record.periods for session in period.sessions):
        for value in session.exposed_states.values():
            spelled = "_" in value and value.replace("_", " ").casefold() in session.query.casefold()
            yield from expect(not spelled, f"{session.query[:60]!r} spells {value!r}")


def questions_have_enough_options(record: AnswerSet, recipe: Recipe) -> Iterator[str]:
    """Every question has the recipe's least number of options, and a golden one for every period."""
    for question in record.questions:
        count, golden = len(question.choices), len(question.golden)
        yield from expect(count >= recipe.min_variants_per_question, f"{question.question_id} has {count} options")
        yield from expect(golden == recipe.num_periods + 1, f"{question.question_id} has {golden} golden choices")


def answers_are_a_few_sentences(record: AnswerSet, _: Recipe) -> Iterator[str]:
    """An answer has two or three sentences; one more or fewer is told, not blocked."""
    for choice in (choice for question in record.questions for choice in question.choices):
        count = len(SENTENCE_END.findall(choice.answer))
        yield from expect(1 <= count <= 4, f"{choice.choice_id} has {count} sentences")


def episode_has_all_questions(episode: Episode, recipe: Recipe) -> Iterator[str]:
    """Nothing went missing on the way."""
    yield from expect(len(episode.questions) == recipe.num_questions, f"has {len(episode.questions)} questions")
    yield from expect(len(episode.periods) == recipe.num_periods + 1, f"has {len(episode.periods)} periods")


RULES: dict[StageName, tuple[Rule, ...]] = {
    "personas": (
        Rule("no_excluded_persona", "No excluded persona is sampled.", persona_is_not_excluded),
        Rule("personas_tell_something", "Every persona has words to make a profile of.", persona_tells_something),
    ),
    "user_profiles": (
        Rule("no_empty_field", "Profiles leave out what a persona lacks.", profile_has_no_empty_field),
        Rule("short_paragraph", "The paragraph has fewer than 500 words.", profile_is_short),
    ),
    "questions": (
        Rule(
            "question_counts", "Questions, types and choices are as many as the recipe says.", questions_have_the_recipes_counts
        ),
    ),
    "state_schema": (
        Rule("types_mapped_once", "Every drafted type maps to exactly one variable.", every_original_type_is_mapped_once),
        Rule("choice_counts", "Every variable has the recipe's number of choices.", schema_has_the_recipes_choices),
    ),
    "state_trajectory": (
        Rule("period_dates", "Periods chain from the start date in equal steps.", periods_have_the_recipes_dates),
        Rule(
            "changes_per_period", "Every period changes about as much as wanted.", periods_change_about_as_much_as_wanted, False
        ),
        Rule("changes_per_variable", "No variable changes too often.", no_variable_changes_too_often),
    ),
    "events": (Rule("events_per_period", "Every period has events, one per update.", every_period_has_events),),
    "session_queries": (
        Rule("few_states_each", "Initial queries expose one to three states.", initial_queries_expose_few_states),
        Rule("inside_period", "Sessions lie inside their period.", sessions_lie_inside_their_period),
        Rule("no_copied_value", "Queries do not spell the values they expose.", values_are_not_copied_into_queries, False),
    ),
    "answers": (
        Rule("enough_options", "Questions have enough options and a golden one per period.", questions_have_enough_options),
        Rule("a_few_sentences", "Answers have two or three sentences.", answers_are_a_few_sentences, False),
    ),
    "episodes": (Rule("complete", "Episodes have all questions and periods.", episode_has_all_questions),),
}
