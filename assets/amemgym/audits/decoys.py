"""Decoys: the stages' own gates judge texts under labels of which the truth is known beforehand."""

from assets.amemgym.answers.gates import choice_gate, recovery_gate
from assets.amemgym.audits.case import DECOY_DRAFT, Case
from assets.amemgym.audits.labelled_texts import AnswerPlant, Plant, answer_plants, query_plants
from assets.amemgym.records.audit import Decoy
from assets.amemgym.session_queries.exposure_gate import Draft, exposure_gate
from assets.engine.item_tasks import together
from assets.llm.gate import Attempt, Gate, accepts, vote


async def judge_decoys(case: Case) -> list[Decoy]:
    """Show every planted text to its gate; the calls are samples of their own."""
    gates = [(_exposure(case, plant), plant) for plant in query_plants(case)]
    gates += [(recovery_gate(one.asked.sheet, one.variant), one.plant) for one in answer_plants(case, gate="recovery")]
    if case.recipe.gates.reverse:
        gates += [(_choice(one), one.plant) for one in answer_plants(case, gate="choice")]
    return await together(*(_judge(case, gate, plant, number) for number, (gate, plant) in enumerate(gates)))


async def _judge(case: Case, gate: Gate, plant: Plant, number: int) -> Decoy:
    # A text may stand under several labels, which the judge is not shown: the number makes their readings different ones.
    attempt = Attempt(plant.item_id, plant.text, draft=DECOY_DRAFT, refinement=number)
    votes = await vote(gate, attempt, recipe=case.recipe)
    return Decoy(
        gate=gate.name,
        item_id=plant.item_id,
        kind=plant.kind,
        text=plant.text,
        label=plant.label,
        right=plant.right,
        accepted=accepts(votes, case.recipe.gates),
        readings=len(votes),
    )


def _exposure(case: Case, plant: Plant) -> Gate:
    async def never(*_: object) -> str:
        raise AssertionError("A decoy is judged and never written anew.")

    return exposure_gate(case.scene, Draft(plant.item_id, plant.text, plant.label), never)


def _choice(planted: AnswerPlant) -> Gate:
    """The choice gate of a variant whose option has the planted text; where that is a sibling's, they change places."""
    asked, text = planted.asked, planted.plant.text
    own = asked.texts[asked.sheet.variants.index(planted.variant)]
    swapped = {own: text, text: own}
    return choice_gate(asked.sheet, planted.variant, [swapped.get(one, one) for one in asked.texts])
