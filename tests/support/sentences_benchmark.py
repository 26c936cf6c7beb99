"""A second benchmark in one file: numbers are drawn, a model writes a sentence about each, and judges read it back."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pydantic import BaseModel

from assets.engine.benchmark import Benchmark
from assets.engine.stage import Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.ports import LanguageModel, ModelRequest
from assets.recipe.recipe import Recipe, Unit
from assets.records.base import GateRecord, ItemRecord
from assets.records.common_tables import FailureRow, GateVoteRow
from assets.records.flat_tables import Table, flat_row
from dataset_card.release.content import ReleaseFormat
from tests.support.scripted_model import ScriptedModel, ask_test_prompt
from validation.report.validation import Validation
from validation.rules import Rule, expect


class ArithmeticRecipe(Recipe):
    num_numbers: int = 2

    @property
    def num_items(self) -> int:
        return self.num_numbers


class NumberRecord(ItemRecord):
    id_field = "number_id"

    number_id: str


class Number(NumberRecord):
    value: int


class Sentence(NumberRecord):
    value: int
    text: str
    gate_records: tuple[GateRecord, ...]


class Reply(BaseModel):
    text: str


def text_of(reply: Reply) -> str:
    return reply.text


def draw(recipe: Recipe, unit: Unit) -> Iterator[tuple[int, Number]]:
    return ((position, Number(number_id=f"number-{position}", value=position)) for position in unit.positions)


async def double(number: Number, *, recipe: Recipe, model: LanguageModel) -> Number:
    return number.model_copy(update={"value": 2 * number.value})


async def write(number: Number, *, recipe: Recipe, model: LanguageModel) -> Sentence:
    """A sentence out of which the gate's judges read the number."""
    ask = partial(ask_test_prompt, model, text_of, reply=Reply, recipe=recipe)

    async def draft(sample: int) -> str:
        return await ask(name="sentences/write", question=str(number.value), sample=sample)

    async def read(tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        return [{"value": await ask(name="sentences/read", question=one.text, sample=one.vote.number)} for one in tasks]

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await ask(name="sentences/refine", question=text, sample=sample)

    attempt = GateAttempt(number.number_id, await draft(0))
    gate = Gate("reading", {"value": str(number.value)}, None, refine, draft)
    await pass_gates([[(gate, attempt)]], read, size=1, recipe=recipe)
    records = tuple(attempt.records)
    return Sentence(number_id=number.number_id, value=number.value, text=attempt.text, gate_records=records)


def is_double(sentence: Sentence, number: Number, recipe: Recipe) -> tuple[str, ...]:
    return expect(sentence.value == 2 * number.value, f"{sentence.value} is not twice {number.value}")


def scripted_model() -> ScriptedModel:
    """Its judges never find 2, and find other numbers once the sentence was refined; 0 they find at once."""

    def read(request: ModelRequest) -> object:
        text = request.messages[-1].content
        (number,) = re.findall(r"\d+", text)
        return {"text": number if number == "0" or (number != "2" and "certainly" in text) else "none"}

    return ScriptedModel(
        {
            "sentences/write": [lambda request: {"text": f"It is {request.messages[-1].content}."}],
            "sentences/refine": [lambda request: {"text": f"{request.messages[-1].content} Yes, certainly."}],
            "sentences/read": [read],
        }
    )


NUMBERS = Stage(name="numbers", record=Number, draw=draw)
DOUBLES = Stage(name="doubles", record=Number, make=double, needs=(NUMBERS,))
SENTENCES = Stage(name="sentences", record=Sentence, make=write, needs=(DOUBLES,))
ARITHMETIC = Benchmark(
    name="arithmetic",
    noun="number",
    recipe=ArithmeticRecipe,
    stages=(SENTENCES, NUMBERS, DOUBLES),
    tables={
        "sentences": Table(flat_row(Sentence, "", "", "number_id value text"), ("number_id",)),
        "gate_records": Table(GateVoteRow, ("user_id", "number"), scored=False),
        "failures": Table(FailureRow, ("user_id",), scored=False),
    },
    prefix="arithmetic_",
    units_by_variant={"demo": ["demo"]},
)
RULE = Rule("doubled", "A sentence is about twice the number that was drawn.", is_double, reads=("numbers",))
VALIDATION = Validation(ARITHMETIC, {"sentences": (RULE,)})
FORMAT = ReleaseFormat(ARITHMETIC, reported=True)
