"""Judges of the finished user: they recover items from queries, answers and states, and guess answers without the state."""

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from statistics import fmean
from typing import Any

from assets.amemgym.answers.gates import (
    AnswerSubject,
    answers_of_one_question,
    answers_per_call,
    choices_schema,
    choose_answers,
    chosen_options,
    recover_variants,
)
from assets.amemgym.audits.user_parts import (
    PAIR_DRAFT,
    QUERY_DRAFT,
    AuditedQuestion,
    AuditedSession,
    AuditedUser,
    by_source,
)
from assets.amemgym.records.audit import DIRECTIONS, Guess, Judgement, QueryReading, Recovery
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.records.state import select_values, without
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, Choices, queries_per_call
from assets.llm.async_calls import gather_all
from assets.llm.gate import ReadingTask, VoteContext, independent_groups
from assets.llm.structured_output import ask_structured, numbered
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.plurals import counted
from prompts.catalogue import load_prompt

GUESSES: tuple[Guess, ...] = ("options_only", "question_only", "profile_only")
READERS = {"state_from_answer": recover_variants, "answer_from_state": choose_answers}


@dataclass(frozen=True)
class DrawnPair:
    """A question at the end of a period, with the option that is right then."""

    question: AuditedQuestion
    period: int
    choice: AnswerChoice

    @property
    def question_id(self) -> str:
        return self.question.answers.question_id

    @property
    def item(self) -> tuple[str, str]:
        """The option that is read: of two periods with the same right option one reading counts for both."""
        return self.question_id, self.choice.choice_id

    @property
    def assignment(self) -> dict[str, str]:
        """The variant that the right option answers."""
        return self.question.variant(self.choice).assignment


@dataclass(frozen=True)
class PairReading:
    """One reading of a drawn pair by a judge, in one direction."""

    probe: Recovery
    pair: DrawnPair
    sample: int
    reading: dict[str, str]

    def judgement(self) -> Judgement:
        return Judgement(
            probe=self.probe,
            question_id=self.pair.question_id,
            period=self.pair.period,
            expected=self.pair.choice.choice_id,
            chosen=self.pair.question.choice_id(self.reading),
            sample=self.sample,
        )

    def record(self, user: AuditedUser) -> GateRecord:
        return GateRecord(
            gate=self.probe,
            item_id=f"{self.pair.question_id}-t{self.pair.period:02d}",
            draft=0,
            refinement=0,
            vote=self.sample,
            judge=user.judge(self.sample),
            text=self.pair.choice.answer,
            target=self.pair.assignment,
            reading=self.reading,
            accepted=self.reading == self.pair.assignment,
        )


Readings = dict[tuple[str, str], list[dict[str, str]]]  # by item, in the order of tries


async def recover_pairs(user: AuditedUser) -> list[Judgement]:
    """Let judges recover the states of randomly drawn questions from their right answers, and the answers from the states.

    Raises ItemFailed where an assistant with perfect memory would score less on them than the recipe says, with all
    readings, so that the ceiling is known of lost users, too.
    """
    pairs = draw_pairs(user)
    found = await gather_all(*map(partial(_readings, user, pairs), DIRECTIONS))
    by_direction = dict(zip(DIRECTIONS, found, strict=True))
    readings = list(_pair_readings(pairs, by_direction))
    _check_ceiling(user, pairs, by_direction["answer_from_state"], readings)
    return [reading.judgement() for reading in readings]


def draw_pairs(user: AuditedUser) -> list[DrawnPair]:
    """Return a random sample of all questions at the ends of all periods, as an evaluation asks them."""
    everything: list[DrawnPair] = []
    for question in user.questions:
        choices = {choice.choice_id: choice for choice in question.answers.choices}
        for period, golden in enumerate(question.answers.golden):
            everything.append(DrawnPair(question, period, choices[golden]))
    return user.rng("pairs").sample(everything, user.recipe.audit.pairs)


async def _readings(user: AuditedUser, pairs: Sequence[DrawnPair], probe: Recovery) -> Readings:
    """Return the readings of each item: one where the first is right, else as many as the recipe says."""
    items: dict[tuple[str, str], DrawnPair] = {}
    readings: Readings = {}
    for pair in pairs:
        items[pair.item] = pair  # of two pairs with the same item one is read
        readings[pair.item] = []
    due = list(items.values())
    for sample in range(user.recipe.audit.tries):
        sources = by_source(due, lambda pair: pair.question_id)
        size = answers_per_call(user.recipe.gates)
        groups = independent_groups(sources, size=size, of_one=answers_of_one_question(user.recipe))
        read = await gather_all(*map(partial(_read_group, user, probe=probe, sample=sample), groups))
        for pair, reading in zip(chain.from_iterable(groups), chain.from_iterable(read), strict=True):
            readings[pair.item].append(reading)
        # An item that the first reading recovered is not ambiguous, and needs no second one.
        due = [pair for pair in items.values() if readings[pair.item][0] != pair.assignment]
    return readings


async def _read_group(user: AuditedUser, group: Sequence[DrawnPair], *, probe: Recovery, sample: int) -> list[dict[str, str]]:
    vote = VoteContext(PAIR_DRAFT, sample, 0, user.judge(sample))
    tasks: list[ReadingTask[AnswerSubject]] = []
    for pair in group:
        question = pair.question
        subject = AnswerSubject(question.context, question.variant(pair.choice), tuple(question.texts))
        tasks.append(ReadingTask(pair.choice.choice_id, pair.choice.answer, subject, vote))
    return await READERS[probe](tasks)


def _pair_readings(pairs: Sequence[DrawnPair], found: Mapping[Recovery, Readings]) -> Iterator[PairReading]:
    for probe, readings in found.items():
        for pair in pairs:
            for sample, reading in enumerate(readings[pair.item]):
                yield PairReading(probe, pair, sample, reading)


def share_read_again(recovered: Sequence[bool]) -> float:
    """Return the share of an item's readings that recovered it, without the first where that only had it read again."""
    again = recovered[1:] or recovered
    return fmean(again)


def _check_ceiling(user: AuditedUser, pairs: Sequence[DrawnPair], chosen: Readings, readings: Sequence[PairReading]) -> None:
    shares: list[float] = []
    for pair in pairs:
        recovered = [reading == pair.assignment for reading in chosen[pair.item]]
        shares.append(share_read_again(recovered))
    least = user.recipe.audit.min_ceiling
    if not shares or fmean(shares) >= least:
        return
    worst = pairs[shares.index(min(shares))]
    raise ItemFailed(
        "ambiguous",
        f"Perfect memory would score {fmean(shares):.2f} on {counted(len(pairs), 'question')} drawn, and audit.min_ceiling "
        f"is {least}; the worst is {worst.question_id} for {worst.assignment}.",
        last_reply=worst.choice.answer,
        gate_records=[judged.record(user) for judged in readings],
    )


async def read_queries_again(user: AuditedUser) -> list[QueryReading]:
    """Return what a judge reads out of randomly drawn queries, of all variables."""
    drawn = user.rng("queries").sample(user.session_items, user.recipe.audit.pairs)
    size = queries_per_call(user.recipe.gates)
    groups = independent_groups(by_source(drawn, lambda item: item.period), size=size, of_one=QUERIES_OF_ONE_PERIOD)
    read = await gather_all(*map(partial(_query_readings, user), groups))
    return list(chain.from_iterable(read))


async def _query_readings(user: AuditedUser, items: Sequence[AuditedSession]) -> list[QueryReading]:
    vote = VoteContext(QUERY_DRAFT, 0, 0, user.judge(0))
    tasks: list[ReadingTask[Choices]] = []
    for item in items:
        tasks.append(ReadingTask(item.item_id, item.session.query, user.schema.choices, vote))
    found: list[QueryReading] = []
    for item, reading in zip(items, await user.read_queries(tasks), strict=True):
        exposed = item.session.exposed_states
        leaked = without(reading, exposed)
        found.append(QueryReading(item_id=item.item_id, recovered=exposed.items() <= reading.items(), leaked=leaked))
    return found


async def guess_answers(user: AuditedUser) -> list[Judgement]:
    """Ask every question without the state, forced to choose: the judge of the shortcut baselines that guess.

    The prompts do not change from period to period, so one guess counts against the right option of every period.
    Questions with a variable in common have options that fit together, so they share no call.
    """
    groups = independent_groups(_group_unrelated(user.questions), size=user.recipe.gates.texts_per_call)
    calls: list[Coroutine[Any, Any, list[Judgement]]] = []
    for probe in GUESSES:
        for sample in range(user.recipe.audit.guesses):
            calls.extend(map(partial(_guess, user, probe=probe, sample=sample), groups))
    return list(chain.from_iterable(await gather_all(*calls)))


def _group_unrelated(questions: Sequence[AuditedQuestion]) -> list[list[AuditedQuestion]]:
    """Return the questions in sets of which none has a variable in common with another."""
    sets: list[list[AuditedQuestion]] = []
    for question in questions:
        joined: list[AuditedQuestion] = []
        apart: list[list[AuditedQuestion]] = []
        for group in sets:
            if any(not question.variables.isdisjoint(other.variables) for other in group):
                joined.extend(group)
            else:
                apart.append(group)
        sets = [*apart, [*joined, question]]
    return sets


@dataclass(frozen=True)
class GuessCase:
    """A question with its options in the order in which a guesser reads them."""

    question: AuditedQuestion
    options: Sequence[AnswerChoice]

    def in_prompt(self, probe: Guess) -> dict[str, object]:
        options = numbered(option.answer for option in self.options)
        if probe == "options_only":
            return {"options": options}
        return {"question": self.question.context.question.text, "options": options}


async def _guess(user: AuditedUser, group: Sequence[AuditedQuestion], *, probe: Guess, sample: int) -> list[Judgement]:
    cases: list[GuessCase] = []
    shown: list[dict[str, object]] = []
    for question in group:
        rng = user.rng(probe, question.answers.question_id, sample)
        case = GuessCase(question, rng.shuffled(question.answers.choices))
        cases.append(case)
        shown.append(case.in_prompt(probe))

    options = [case.options for case in cases]

    def convert(reply: dict[str, int]) -> list[str]:
        return [option.choice_id for option in chosen_options(options, reply) if option]

    # Each prompt declares what it lets the guesser know, and is refused anything else.
    prompt = load_prompt(f"audits/{probe}")
    known = {"cases": numbered(shown), "user_profile": user.profile.in_prompt}
    chosen = await ask_structured(
        user.model,
        prompt=prompt.render(**select_values(known, prompt.variables)),
        reply=choices_schema(options, cannot_tell=False),
        convert=convert,
        sample=sample,
        model_name=user.judge(sample),
        settings=user.recipe.asking,
    )
    judgements: list[Judgement] = []
    for question, choice in zip(group, chosen, strict=True):
        question_id = question.answers.question_id
        for period, golden in enumerate(question.answers.golden):
            judgement = Judgement(
                probe=probe, question_id=question_id, period=period, expected=golden, chosen=choice, sample=sample
            )
            judgements.append(judgement)
    return judgements
