"""How well a model judges: the gates' own readings of cases that were labelled by hand (`cases.yaml`)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from assets.amemgym.answers.gates import AnswerSubject, recover_variants
from assets.amemgym.answers.variants import QuestionVariants, Variant
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateVariable
from assets.amemgym.session_queries.drafts import UserContext
from assets.amemgym.session_queries.exposure_gate import read_exposure
from assets.llm.gate import ReadingTask, VoteContext
from assets.llm.ports import CallLabels, LanguageModel
from assets.llm.usage import Meter, MeteredModel
from assets.records.base import ItemFailed, Record

CASES = Path(__file__).with_name("cases.yaml")
NOBODY = "nobody"
UNUSABLE = "no usable reply"
CANNOT_TELL = "cannot tell"
FIRST = VoteContext(0, 0, 0)


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
        """Whether the judge read what the label says."""
        return self.read == self.wanted


def load_cases() -> Cases:
    return Cases.model_validate(yaml.safe_load(CASES.read_text(encoding="utf-8")))


async def judge_cases(cases: Cases, *, recipe: AMemGymRecipe, model: LanguageModel) -> list[Verdict]:
    """Judge every case once, all at once. Raises EndpointError where the endpoint cannot serve."""
    asked = MeteredModel(model, CallLabels(stage="trial", item_id=NOBODY), Meter())
    return await asyncio.gather(
        *(_read(gate, case, recipe=recipe, model=asked) for gate in ("exposure", "leak") for case in getattr(cases, gate)),
        *(_recover(case, recipe=recipe, model=asked) for case in cases.recovery),
    )


async def _read(gate: str, case: ReadingCase, *, recipe: AMemGymRecipe, model: LanguageModel) -> Verdict:
    schema = _schema(case.choices, question=case.query)
    user = UserContext(_anybody(), schema, recipe, model)
    wanted = _reading_text({name: case.truth[name] for name in sorted(case.truth)})
    try:
        (reading,) = await read_exposure(user, [ReadingTask(case.query, case.query, schema.choices, FIRST)])
        read = _reading_text({name: reading[name] for name in sorted(reading)})
    except ItemFailed:
        read = UNUSABLE
    return Verdict(gate, case.query, any(case.truth.values()), wanted, read)


async def _recover(case: AnswerCase, *, recipe: AMemGymRecipe, model: LanguageModel) -> Verdict:
    names = tuple(case.choices[0])
    variants = [Variant(names, tuple(choice[name] for name in names), "random") for choice in case.choices]
    schema = _schema(
        {name: tuple(dict.fromkeys(choice[name] for choice in case.choices)) for name in names}, question=case.question
    )
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
    variables = tuple(StateVariable(name=name, choices=values, merged_from=()) for name, values in choices.items())
    asked = SchemaQuestion(question_id="q01", text=question, required_info=tuple(choices))
    return StateSchema(user_id=NOBODY, variables=variables, questions=(asked,))


def _anybody() -> UserProfile:
    """The gates read a message without knowing who wrote it."""
    blank = ("gender", "marital_status", "education_level", "occupation", "hobbies_and_interests", "skills_and_expertise")
    texts = {"name": NOBODY, "complementary_info": NOBODY, "formatted_str": NOBODY}
    return UserProfile(user_id=NOBODY, age=0, **texts, **dict.fromkeys(blank, ""))
