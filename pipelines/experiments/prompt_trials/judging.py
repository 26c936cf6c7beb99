"""Measure how well a model judges: the gates' own readings of cases that were labelled by hand (`cases.yaml`)."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from assets.amemgym.answers.gates import AnswerSubject, recover_variants
from assets.amemgym.answers.variants import QuestionVariants, Variant
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateVariable
from assets.amemgym.session_queries.drafts import UserContext
from assets.amemgym.session_queries.exposure_gate import read_exposure
from assets.llm.gate import ReadingTask, VoteContext
from assets.llm.ports import CallLabels, LanguageModel
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import GatePolicy
from assets.records.base import ItemFailed, Record

CASES = Path(__file__).with_name("cases.yaml")
NOBODY = "nobody"  # a case has no user
UNUSABLE = "no usable reply"
CANNOT_TELL = "cannot tell"
# The gate of a recipe by the cases that measure it.
CALIBRATED_FROM = {"exposure": ("exposure", "leak"), "recovery": ("recovery",), "choice": ("recovery",)}
FIRST = VoteContext(0, 0, 0)  # each case is read once, as a first text at its gate


class ReadingCase(Record):
    """A message, and the value that it gives each variable; "" for one that it leaves open."""

    query: str
    choices: dict[str, tuple[str, ...]]
    truth: dict[str, str]


class AnswerCase(Record):
    """An answer, and the number of the situation it was written for; 0 where it does not show which."""

    question: str
    answer: str
    choices: tuple[dict[str, str], ...]
    truth: int


class Cases(Record):
    """All cases by the gate that they are for; `leak` are variables that a message may reveal beside its own."""

    exposure: tuple[ReadingCase, ...]
    leak: tuple[ReadingCase, ...]
    recovery: tuple[AnswerCase, ...]


@dataclass(frozen=True)
class Verdict:
    """One case as judged. `settled`: whether the text gives the value at all, or leaves it open."""

    gate: str
    text: str
    settled: bool
    wanted: str
    read: str

    @property
    def right(self) -> bool:
        """True when the judge read what the label says."""
        return self.read == self.wanted


def load_cases() -> Cases:
    return Cases.model_validate(yaml.safe_load(CASES.read_text(encoding="utf-8")))


async def judge_cases(cases: Cases, *, recipe: AMemGymRecipe, model: LanguageModel) -> list[Verdict]:
    """Judge every case once, all at once. Raises EndpointError where the endpoint cannot serve."""
    asked = MeteredModel(model, CallLabels(stage="trial", item_id=NOBODY), Meter())
    read = partial(_read, recipe=recipe, model=asked)
    recover = partial(_recover, recipe=recipe, model=asked)
    exposure = map(partial(read, "exposure"), cases.exposure)
    leak = map(partial(read, "leak"), cases.leak)
    return await asyncio.gather(*exposure, *leak, *map(recover, cases.recovery))


async def _read(gate: str, case: ReadingCase, *, recipe: AMemGymRecipe, model: LanguageModel) -> Verdict:
    schema = _schema(case.choices, question=case.query)
    user = UserContext(_anybody(), schema, recipe, model)
    wanted = _reading_text(dict(sorted(case.truth.items())))
    try:
        (reading,) = await read_exposure(user, [ReadingTask(case.query, case.query, schema.choices, FIRST)])
        read = _reading_text(dict(sorted(reading.items())))
    except ItemFailed:
        read = UNUSABLE
    return Verdict(gate, case.query, any(case.truth.values()), wanted, read)


async def _recover(case: AnswerCase, *, recipe: AMemGymRecipe, model: LanguageModel) -> Verdict:
    names = tuple(case.choices[0])
    variants: list[Variant] = []
    values: dict[str, tuple[str, ...]] = {}
    for choice in case.choices:
        variants.append(Variant(names, tuple(map(choice.__getitem__, names)), "random"))
        for name, value in choice.items():
            if value not in values.setdefault(name, ()):
                values[name] += (value,)
    schema = _schema(values, question=case.question)
    asked = QuestionVariants(schema.questions[0], schema, variants, recipe, model)
    try:
        (reading,) = await recover_variants([ReadingTask(case.answer, case.answer, AnswerSubject(asked, variants[0]), FIRST)])
        read = _reading_text(reading)
    except ItemFailed:
        read = UNUSABLE
    wanted = case.choices[case.truth - 1] if case.truth else {}
    return Verdict("recovery", case.answer, bool(case.truth), _reading_text(wanted), read)


def _reading_text(reading: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in reading.items() if value) or CANNOT_TELL


def _schema(choices: Mapping[str, tuple[str, ...]], *, question: str) -> StateSchema:
    variables: list[StateVariable] = []
    for name, values in choices.items():
        variables.append(StateVariable(name=name, choices=values, merged_from=()))
    asked = SchemaQuestion(question_id="q01", text=question, required_info=tuple(choices))
    return StateSchema(user_id=NOBODY, variables=tuple(variables), questions=(asked,))


def _anybody() -> UserProfile:
    """Return a blank user: the gates read a message without knowing who wrote it."""
    blank = ("gender", "marital_status", "education_level", "occupation", "hobbies_and_interests", "skills_and_expertise")
    texts = {"name": NOBODY, "complementary_info": NOBODY, "formatted_str": NOBODY}
    return UserProfile(user_id=NOBODY, age=0, **texts, **dict.fromkeys(blank, ""))


def calibration(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Say what to set for calibrated gates: the upper end of how often a reading takes a text for what it does not tell."""
    errors: dict[str, float] = {}
    for gate, names in CALIBRATED_FROM.items():
        read = wrong = 0
        for verdict in verdicts:
            if verdict.gate in names:
                read += 1
                # A judge that cannot tell accepts nothing, so that is no error here.
                wrong += not verdict.right and verdict.read not in (CANNOT_TELL, UNUSABLE)
        errors[gate] = round(float(wilson_interval(wrong, read, level=0.9).high), 3)
    policy: dict[str, Any] = {"policy": "calibrated", "judge_error": errors}
    yield from _misses(verdicts)
    yield "For calibrated gates, from these cases (upper end of 90 %; choice has the same value as recovery):"
    try:
        gates = GatePolicy.model_validate(policy)
    except ValueError:
        yield f"  it errs too often: {errors}. Take another judge, or raise gates.max_false_accept."
        return
    settings: list[str] = []
    votes: list[str] = []
    for gate, rate in errors.items():
        settings.append(f"--set gates.judge_error.{gate}={rate:g}")
        _, first = gates.votes_for(gate, text=0)
        _, last = gates.votes_for(gate, text=gates.texts - 1)
        votes.append(f"{gate} {first} on a first text, up to {last} on later ones")
    yield f"  {' '.join(settings)}"
    yield f"  Votes: {'; '.join(votes)}."


def _misses(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Say it where the judge finds less than half of what texts tell: no rate of wrong acceptances shows that."""
    told = [verdict for verdict in verdicts if verdict.settled]
    found = sum(verdict.right for verdict in told)
    if 2 * found < len(told):
        yield (
            f"This judge finds what a text tells in {found} of {len(told)} cases. It would refuse most right drafts, and users "
            "would be given up: take another judge."
        )


def wilson_interval(part: int, whole: int, *, level: float) -> Any:
    """Return Wilson's interval of a share, with its ends in `low` and `high`."""
    # Takes a second to import, and only those who measure a judge need it.
    from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

    return binomtest(part, whole).proportion_ci(confidence_level=level, method="wilson")
