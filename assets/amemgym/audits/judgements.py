"""Judges of the finished user: what is recovered from queries, answers and states, and what can be guessed without?"""

from collections.abc import Sequence
from dataclasses import dataclass

from assets.amemgym.answers.gates import AnswerSubject, choices_schema, choose_answers, recover_variants
from assets.amemgym.audits.rates import DIRECTIONS
from assets.amemgym.audits.user_parts import PAIR_DRAFT, QUERY_DRAFT, AuditedQuestion, AuditedSession, AuditedUser
from assets.amemgym.records.audit import Guess, Judgement, QueryReading, Recovery
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, queries_per_call
from assets.llm.async_calls import gather_all
from assets.llm.gate import ReadingTask, VoteContext, independent_groups
from assets.llm.structured_output import ask_structured
from assets.records.base import GateRecord, ItemFailed
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
    def item(self) -> tuple[str, str]:
        """What is read: of two periods with the same right option one reading counts for both."""
        return self.question.answers.question_id, self.choice.choice_id


Readings = dict[tuple[str, str], list[dict[str, str]]]  # by item, in the order of tries


async def recover_pairs(user: AuditedUser) -> list[Judgement]:
    """Judges recover the states of randomly drawn questions from their right answers, and the answers from the states.

    Raises ItemFailed where an assistant with perfect memory would score less on them than the recipe says, with all
    readings, so that the ceiling is known of lost users, too.
    """
    pairs = draw_pairs(user)
    found = dict(zip(DIRECTIONS, await gather_all(*(_readings(user, pairs, probe) for probe in DIRECTIONS)), strict=True))
    _check_ceiling(user, pairs, found)
    return [
        Judgement(
            probe=probe,
            question_id=pair.question.answers.question_id,
            period=pair.period,
            expected=pair.choice.choice_id,
            chosen=pair.question.choice_id(reading),
            sample=sample,
        )
        for probe, readings in found.items()
        for pair in pairs
        for sample, reading in enumerate(readings[pair.item])
    ]


def draw_pairs(user: AuditedUser) -> list[DrawnPair]:
    """A random sample of all questions at the ends of all periods: what an evaluation asks."""
    everything = [
        DrawnPair(question, period, next(one for one in question.answers.choices if one.choice_id == golden))
        for question in user.questions
        for period, golden in enumerate(question.answers.golden)
    ]
    return user.rng("pairs").sample(everything, user.recipe.audit.pairs)


async def _readings(user: AuditedUser, pairs: Sequence[DrawnPair], probe: Recovery) -> Readings:
    """What judges recover of each item: one reading where the first is right, else as many as the recipe says."""
    items = {pair.item: pair for pair in pairs}
    readings: Readings = {item: [] for item in items}
    for sample in range(user.recipe.audit.tries):
        due = [pair for item, pair in items.items() if not readings[item] or not _recovered(pair, readings[item][0])]
        sources: dict[str, list[DrawnPair]] = {}
        for pair in due:
            sources.setdefault(pair.question.answers.question_id, []).append(pair)
        groups = independent_groups(list(sources.values()), size=user.recipe.gates.texts_per_call)
        read = await gather_all(*(READERS[probe]([_task(user, pair, sample) for pair in group]) for group in groups))
        for group, found in zip(groups, read, strict=True):
            for pair, reading in zip(group, found, strict=True):
                readings[pair.item].append(reading)
    return readings


def _task(user: AuditedUser, pair: DrawnPair, sample: int) -> ReadingTask[AnswerSubject]:
    vote = VoteContext(PAIR_DRAFT, sample, 0, user.judge(sample))
    case = AnswerSubject(pair.question.context, pair.question.variant(pair.choice), tuple(pair.question.texts))
    return ReadingTask(pair.choice.choice_id, pair.choice.answer, case, vote)


def _recovered(pair: DrawnPair, reading: dict[str, str]) -> bool:
    return reading == pair.question.variant(pair.choice).assignment


def share_read_again(recovered: Sequence[bool]) -> float:
    """The share of an item's readings that recovered it, without the first where that only had it read again."""
    again = recovered[1:] or recovered
    return sum(again) / len(again)


def _check_ceiling(user: AuditedUser, pairs: Sequence[DrawnPair], found: dict[Recovery, Readings]) -> None:
    chosen = found["answer_from_state"]
    shares = [share_read_again([_recovered(pair, one) for one in chosen[pair.item]]) for pair in pairs]
    least = user.recipe.audit.min_ceiling
    if not shares or sum(shares) / len(shares) >= least:
        return
    worst = pairs[shares.index(min(shares))]
    raise ItemFailed(
        "ambiguous",
        f"Perfect memory would score {sum(shares) / len(shares):.2f} on {len(pairs)} questions drawn, and audit.min_ceiling "
        f"is {least}; the worst is {worst.question.answers.question_id} for {worst.question.variant(worst.choice).assignment}.",
        last_reply=worst.choice.answer,
        gate_records=[record for probe, readings in found.items() for record in _records(user, pairs, probe, readings)],
    )


def _records(user: AuditedUser, pairs: Sequence[DrawnPair], probe: Recovery, readings: Readings) -> list[GateRecord]:
    return [
        GateRecord(
            gate=probe,
            item_id=f"{pair.question.answers.question_id}-t{pair.period:02d}",
            draft=0,
            refinement=0,
            vote=sample,
            judge=user.judge(sample),
            text=pair.choice.answer,
            target=pair.question.variant(pair.choice).assignment,
            reading=reading,
            accepted=_recovered(pair, reading),
        )
        for pair in pairs
        for sample, reading in enumerate(readings[pair.item])
    ]


async def read_queries_again(user: AuditedUser) -> list[QueryReading]:
    """What a judge reads out of randomly drawn queries, of all variables."""
    drawn = user.rng("queries").sample(user.session_items, user.recipe.audit.pairs)
    sources: dict[int, list[AuditedSession]] = {}
    for item in drawn:
        sources.setdefault(item.period, []).append(item)
    size = queries_per_call(user.recipe.gates)
    groups = independent_groups(list(sources.values()), size=size, of_one=QUERIES_OF_ONE_PERIOD)
    vote = VoteContext(QUERY_DRAFT, 0, 0, user.judge(0))
    tasks = [[ReadingTask(item.item_id, item.session.query, user.schema.choices, vote) for item in group] for group in groups]
    read = await gather_all(*(user.read_queries(group) for group in tasks))
    return [
        QueryReading(
            item_id=item.item_id,
            told=item.session.exposed_states.items() <= reading.items(),
            leaked={name: value for name, value in reading.items() if name not in item.session.exposed_states},
        )
        for group, readings in zip(groups, read, strict=True)
        for item, reading in zip(group, readings, strict=True)
    ]


async def guess_answers(user: AuditedUser) -> list[Judgement]:
    """The guessability wall's judge: every question asked without the state, forced to choose.

    The prompts do not change from period to period, so one guess counts against the right option of every period.
    Questions with a variable in common have options that fit together, so they share no call.
    """
    groups = independent_groups(_related(user.questions), size=user.recipe.gates.texts_per_call)
    parts = await gather_all(
        *(
            _guess(user, group, probe=probe, sample=sample)
            for probe in GUESSES
            for sample in range(user.recipe.audit.guesses)
            for group in groups
        )
    )
    return [judgement for judgements in parts for judgement in judgements]


def _related(questions: Sequence[AuditedQuestion]) -> list[list[AuditedQuestion]]:
    """The questions by sets of which none has a variable in common with another."""
    sets: list[list[AuditedQuestion]] = []
    for question in questions:
        own = set(question.context.question.required_info)
        joined = [one for one in sets if any(own & set(other.context.question.required_info) for other in one)]
        sets = [one for one in sets if one not in joined]
        sets.append([*(other for one in joined for other in one), question])
    return sets


async def _guess(user: AuditedUser, group: Sequence[AuditedQuestion], *, probe: Guess, sample: int) -> list[Judgement]:
    orders = [user.rng(probe, one.answers.question_id, sample).shuffled(one.answers.choices) for one in group]
    cases = {
        str(place): {
            **({} if probe == "options_only" else {"question": question.context.question.text}),
            "options": {str(number): one.answer for number, one in enumerate(order, start=1)},
        }
        for place, (question, order) in enumerate(zip(group, orders, strict=True), start=1)
    }

    def convert(reply: dict[str, int]) -> list[str]:
        return [order[reply[place] - 1].choice_id for place, order in zip(cases, orders, strict=True)]

    prompt = load_prompt(f"audits/{probe}")
    known = {"cases": cases, "user_profile": user.profile.formatted_str}
    chosen = await ask_structured(
        user.model,
        prompt=prompt.render(**{name: known[name] for name in prompt.variables}),
        reply=choices_schema([(1, len(order)) for order in orders]),
        convert=convert,
        sample=sample,
        model_name=user.judge(sample),
        recipe=user.recipe,
    )
    return [
        Judgement(
            probe=probe, question_id=one.answers.question_id, period=period, expected=golden, chosen=choice, sample=sample
        )
        for one, choice in zip(group, chosen, strict=True)
        for period, golden in enumerate(one.answers.golden)
    ]
