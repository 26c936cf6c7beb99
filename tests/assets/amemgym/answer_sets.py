"""The example's answers, as a scripted model makes them."""

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.records.question import AnswerSet
from assets.llm.ports import ModelRequest
from assets.recipe.policies import GatePolicy
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import Answer, case_of, honest, material
from tests.support.scripted_model import Reply, Script, ScriptedModel
from tests.support.small import PLAIN_GATES

DRAFT, CHECK, REFINE, CHOOSE = "answers/draft", "answers/check", "answers/refine", "answers/choose"
FIRST_QUESTION = scenario.schema().questions[0]


def written(script: Script | None = None, *, minimum: int = 2, **gates: int | bool) -> tuple[AnswerSet, ScriptedModel]:
    policy = GatePolicy.model_validate({**PLAIN_GATES, **gates})
    model = ScriptedModel(script or {})
    recipe = scenario.recipe(gates=policy, min_variants_per_question=minimum)
    return run(write_answers(scenario.schema(), scenario.trajectory(), recipe=recipe, model=model)), model


def of_first(*replies: Reply) -> Answer:
    """Replies in turn about the first question, of which the last is repeated; honest ones about others."""
    left = list(replies)

    def answer(request: ModelRequest) -> object:
        about = case_of(request)["question"] if request.labels.prompt in (CHECK, CHOOSE) else material(request, "question")
        if about != FIRST_QUESTION.text:
            return honest(request)
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply(request) if callable(reply) else reply

    return answer
