"""Rules about the state trajectories. They judge how well states move by the stage's own measures."""

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from assets.amemgym.records.state import StateSchema, StateTrajectory
from assets.amemgym.state_trajectory.days import change_days, period_dates
from assets.amemgym.state_trajectory.quality import (
    all_can_move,
    balance,
    golden_change_share,
    ping_pongs,
    unmoved_variables,
)
from assets.amemgym.state_trajectory.value_ranges import FEWEST_VALUES, value_ranges
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from validation.amemgym.texts import SUMMARIES, prose_rules
from validation.rules import AcceptingVotes, Rule, expect, invariants

# Below this, one value is held so long that naming it is nearly always right.
LEAST_EVENNESS = 0.4
# A single trajectory scatters around the recipe's share, since it has few questions.
GOLDEN_CHANGES_OFF = 0.1


def states_are_legal(trajectory: StateTrajectory, schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    for period in trajectory.periods:
        missing = sorted(schema.choices.keys() - period.state.keys())
        orphans = sorted(period.state.keys() - schema.choices.keys())
        yield from expect(not missing, f"the state of period {period.index} lacks {missing}")
        yield from expect(not orphans, f"the state of period {period.index} has {orphans}, which the schema does not know")
        for name, value in period.state.items():
            # A variable that the schema does not know was named above.
            if value not in schema.choices.get(name, [value]):
                yield f"period {period.index} sets {name!r} to {value!r}, which is none of its choices"


def periods_have_the_recipes_dates(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(len(trajectory.periods) == recipe.num_periods + 1, f"has {counted(len(trajectory.periods), 'period')}")
    yield from expect(trajectory.periods[0].end == recipe.start_date, "does not begin on the start date")
    for period in trajectory.periods[1:]:
        dates = (period.start, period.end)
        yield from expect(dates == period_dates(recipe, period.index), f"period {period.index} has the dates {dates}")


def changes_have_their_days(trajectory: StateTrajectory, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    """Data from elsewhere has no days."""
    for period in trajectory.periods[1:]:
        days = change_days(schema, recipe, period.index)
        for name, day in period.days.items():
            yield from expect(day in (None, days.get(name)), f"{name} changes on {day} in period {period.index}")


def periods_change_about_as_much_as_wanted(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    """One update more or fewer than wanted is fine."""
    for period in trajectory.periods[1:]:
        count = len(period.updates)
        fits = recipe.fewest_changes <= count <= recipe.num_changes_per_period + 1
        yield from expect(fits, f"period {period.index} has {counted(count, 'update')}")


def no_variable_changes_too_often(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for period in trajectory.periods:
        for update in period.updates:
            counts[update.variable] += 1
    for name, count in counts.items():
        yield from expect(count <= recipe.max_changes_per_state, f"{name} changes {counted(count, 'time')}")


def every_variable_moves(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    """A variable that never changes tests no memory."""
    # Few changes over many variables leave no room for all to change.
    if all_can_move(len(trajectory.periods[0].state), recipe):
        for name in unmoved_variables(trajectory.periods):
            yield f"{name} never changes"


def no_value_returns_at_once(trajectory: StateTrajectory, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    ranges = value_ranges(schema, trajectory.periods[0].state, recipe=recipe)
    for pair in ping_pongs(trajectory.periods):
        # A variable with two values in a life can only go back.
        if len(ranges[pair.variable]) > FEWEST_VALUES:
            yield f"{pair.variable} leaves {pair.value!r} in period {pair.left} and returns to it in period {pair.back}"


def values_are_balanced(trajectory: StateTrajectory, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    if all_can_move(len(schema.variables), recipe):
        evenness = fmean(balance(trajectory.periods, schema.choices).values())
        yield from expect(evenness >= LEAST_EVENNESS, f"has an evenness of {evenness:.2f}, wanted are {LEAST_EVENNESS} or more")


def states_do_not_exclude_each_other(trajectory: StateTrajectory, schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    for period in trajectory.periods:
        for pair in schema.excluded(period.state):
            yield f"period {period.index} holds {pair}, which exclude each other"


def first_state_is_as_stated(trajectory: StateTrajectory, schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    first = trajectory.periods[0].state
    for name, value in schema.known_at_first.items():
        yield from expect(first.get(name) == value, f"{name} is {first.get(name)!r} at first, and the profile says {value!r}")


def summaries_passed_their_gate(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    if not recipe.gates.consistency:
        return
    votes = AcceptingVotes(trajectory.gate_records)
    for period in trajectory.periods[1:]:
        count = votes.too_few("summary", period.summary or "", {}, policy=recipe.gates)
        if count is not None:
            yield f"the summary of period {period.index} has {counted(count, 'accepting vote')}"


def right_answers_change_as_wanted(trajectory: StateTrajectory, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    target = recipe.golden_changes
    if target is None:
        return
    share = golden_change_share(trajectory.periods, [question.required_info for question in schema.questions])
    near = abs(share - target) <= GOLDEN_CHANGES_OFF
    yield from expect(near, f"has another right answer in {share:.0%} of the cases, the recipe wants {target:.0%}")


RULES = (
    Rule("states_follow", "Each state is the one before with updates that change something, and periods chain.", invariants),
    Rule(
        "legal_states",
        "States assign the schema's variables, each one of its choices.",
        states_are_legal,
        reads=("state_schema",),
    ),
    Rule(
        "possible_states",
        "No state holds two values that exclude each other.",
        states_do_not_exclude_each_other,
        reads=("state_schema",),
    ),
    Rule(
        "first_state_stated",
        "The first state holds what judges took from the profile.",
        first_state_is_as_stated,
        reads=("state_schema",),
    ),
    Rule(
        "summaries_passed_gate",
        "Enough judges found that a summary tells its period's changes, and contradicts no state, profile or earlier one.",
        summaries_passed_their_gate,
        of_votes=True,
    ),
    *prose_rules("Summaries", SUMMARIES),
    Rule("period_dates", "Periods chain from the start date in equal steps.", periods_have_the_recipes_dates),
    Rule(
        "days_of_changes",
        "Each change has its own day within its period.",
        changes_have_their_days,
        reads=("state_schema",),
    ),
    Rule(
        "changes_per_period",
        "Every period changes about as much as wanted.",
        periods_change_about_as_much_as_wanted,
        blocking=False,
    ),
    Rule("changes_per_variable", "No variable changes too often.", no_variable_changes_too_often),
    Rule("every_variable_moves", "Every variable changes at least once.", every_variable_moves, blocking=False),
    Rule(
        "no_ping_pong",
        "No value left is taken up again within two periods, where there is another.",
        no_value_returns_at_once,
        blocking=False,
        reads=("state_schema",),
    ),
    Rule(
        "balanced_values", "Each value has its share of the time.", values_are_balanced, blocking=False, reads=("state_schema",)
    ),
    Rule(
        "golden_changes",
        "Right answers change about as often as the recipe wants.",
        right_answers_change_as_wanted,
        blocking=False,
        reads=("state_schema",),
    ),
)
