"""Summaries of a stage's finished users for its materialization: numbers that Dagster plots, and small tables."""

from collections import Counter
from collections.abc import Iterable, Sequence

import dagster as dg

from assets.amemgym.audits.rates import gate_error_rates, recovery_rates
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import Persona, UserProfile
from assets.amemgym.records.question import AnswerSet, QuestionSet
from assets.amemgym.records.state import EventSet, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.state_trajectory.quality import balance, change_counts, golden_change_share, ping_pongs
from assets.amemgym.trajectory_svg import trajectory_markdown
from assets.llm.text import count_tokens
from assets.records.estimate import shown
from assets.reporting.asset_description import Metadata, Row, markdown_table

BARS = "▁▂▃▄▅▆▇█"
BINS = 12
DIGITS = 3


def summarize_personas(personas: Sequence[Persona]) -> Metadata:
    """Ages, and how many occupations there are."""
    return {
        "ages": histogram([one.age for one in personas], unit="years"),
        "mean_age": mean([one.age for one in personas]),
        "occupations": len({one.occupation for one in personas}),
    }


def summarize_profiles(profiles: Sequence[UserProfile]) -> Metadata:
    """Lengths of the complementary paragraphs, in words."""
    words = [len(one.complementary_info.split()) for one in profiles]
    return {"lengths": histogram(words, unit="words"), "mean_words": mean(words)}


def summarize_questions(sets: Sequence[QuestionSet]) -> Metadata:
    """How many questions, and of how many different information types."""
    questions = [question for one in sets for question in one.questions]
    types = {info.info_type for question in questions for info in question.required_info}
    return {
        "questions": len(questions),
        "information_types": len(types),
        "lengths": histogram([count_tokens(question.text) for question in questions], unit="tokens"),
    }


def summarize_schemas(schemas: Sequence[StateSchema]) -> Metadata:
    """How many variables are left of how many types, and how many serve several questions."""
    variables = [variable for one in schemas for variable in one.variables]
    drafted = sum(len(variable.merged_from) for variable in variables)
    uses = [Counter(name for question in one.questions for name in question.required_info) for one in schemas]
    return {
        "variables": len(variables),
        "variables_per_user": mean([len(one.variables) for one in schemas]),
        "merged_types": drafted - len(variables),
        "variables_of_several_questions": sum(count > 1 for own in uses for count in own.values()),
    }


def summarize_trajectories(trajectories: Sequence[StateTrajectory]) -> Metadata:
    """How the states move, and one user's states as a picture."""
    counts = [count for one in trajectories for count in change_counts(one.periods).values()]
    per_period = [len(period.updates) for one in trajectories for period in one.periods[1:]]
    returns = sum(len(ping_pongs(one.periods)) for one in trajectories)
    return {
        "updates": sum(counts),
        "updates_per_period": mean(per_period),
        "unmoved_variables": counts.count(0),
        "returns": returns,
        "changes_per_variable": histogram(counts, unit="changes"),
        **({"life": dg.MetadataValue.md(trajectory_markdown(trajectories[0]))} if trajectories else {}),
    }


def summarize_events(sets: Sequence[EventSet]) -> Metadata:
    """How many events, and how many updates each of them explains."""
    events = [event for one in sets for period in one.periods for event in period.events]
    return {
        "events": len(events),
        "updates_per_event": mean([len(event.states) for event in events]),
        "lengths": histogram([count_tokens(event.text) for event in events], unit="tokens"),
    }


def summarize_sessions(sets: Sequence[SessionSet]) -> Metadata:
    """How many sessions, how long their queries are (13 to 32 tokens in the paper), and how many values one exposes."""
    sessions = [session for one in sets for period in one.periods for session in period.sessions]
    tokens = [count_tokens(session.query) for session in sessions]
    return {
        "sessions": len(sessions),
        "lengths": histogram(tokens, unit="tokens"),
        "mean_tokens": mean(tokens),
        "values_per_session": mean([len(session.exposed_states) for session in sessions]),
    }


def summarize_answers(sets: Sequence[AnswerSet]) -> Metadata:
    """How many options, how long (39 to 98 tokens in the paper), and how many of them a user lives through."""
    choices = [choice for one in sets for question in one.questions for choice in question.choices]
    tokens = [count_tokens(choice.answer) for choice in choices]
    return {
        "answers": len(choices),
        "lengths": histogram(tokens, unit="tokens"),
        "mean_tokens": mean(tokens),
        "lived_through": mean([choice.type == "experience" for choice in choices]),
        "options_per_question": mean([len(question.choices) for one in sets for question in one.questions]),
    }


def summarize_audits(audits: Sequence[UserAudit]) -> Metadata:
    """How often the gates erred on decoys, and how often judges recovered what was meant, with 95 % intervals over users."""
    errors: list[Row] = [
        {"what": f"{rate.gate}: {rate.error.replace('_', ' ')}", "of": rate.decoys, "share": shown(rate.share)}
        for rate in gate_error_rates(audits)
        if not rate.kind
    ]
    recovered = [rate for rate in recovery_rates(audits) if not rate.user_id]
    recoveries: list[Row] = [
        {"what": f"recovered: {rate.probe.replace('_', ' ')}", "of": rate.items, "share": shown(rate.share)}
        for rate in recovered
    ]
    numbers = {rate.probe: rate.share.value for rate in recovered if rate.share.value is not None}
    return {"rates": dg.MetadataValue.md(markdown_table([*errors, *recoveries])), **numbers}


def summarize_episodes(episodes: Sequence[Episode]) -> Metadata:
    """What the set holds, which of their choices variables hold at the start and at the end, and how right options move."""
    evenness = [share for one in episodes for share in balance(one.periods, one.state_schema.choices).values()]
    shares = [golden_change_share(one.periods, [question.required_info for question in one.questions]) for one in episodes]
    return {
        "sessions": sum(len(period.sessions) for one in episodes for period in one.periods),
        "questions": sum(len(one.questions) for one in episodes),
        "evenness": mean(evenness),
        "golden_changes": mean(shares),
        "value_balance": dg.MetadataValue.md(markdown_table(_held(episodes))),
    }


def _held(episodes: Iterable[Episode]) -> list[Row]:
    """By position among a variable's listed choices, how many variables hold it at the start and at the end."""
    held_by_moment: dict[str, Counter[int]] = {"at the start": Counter(), "at the end": Counter()}
    for one in episodes:
        for moment, period in zip(held_by_moment, (one.periods[0], one.periods[-1]), strict=True):
            held_by_moment[moment].update(values.index(period.state[name]) for name, values in one.state_schema.choices.items())
    most = max((position for held in held_by_moment.values() for position in held), default=-1)
    return [
        {
            "choice": position + 1,
            **{moment: f"{held[position] / max(1, held.total()):.0%}" for moment, held in held_by_moment.items()},
        }
        for position in range(most + 1)
    ]


def histogram(numbers: Sequence[int], *, unit: str) -> str:
    """Numbers at a glance: least, how many fall into each of at most twelve equal bins, greatest, and their mean."""
    if not numbers:
        return "none"
    least, most = min(numbers), max(numbers)
    width = max(1, -(-(most - least + 1) // BINS))
    counts = Counter((number - least) // width for number in numbers)
    top = max(counts.values())
    bars = "".join(_bar(counts[index], top) for index in range((most - least) // width + 1))
    return f"{least} {bars} {most} {unit}, mean {mean(numbers):.3g}"


def _bar(count: int, top: int) -> str:
    return BARS[-(-count * len(BARS) // top) - 1] if count else "\N{FIGURE SPACE}"


def mean(numbers: Sequence[float]) -> float:
    """To three digits; 0 of nothing."""
    return round(sum(numbers) / max(1, len(numbers)), DIGITS)
