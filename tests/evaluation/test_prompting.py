"""Questions are put in seeded order and read where they have one meaning; what cannot be read twice is unscored."""

import json

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.evaluation.amemgym.questions import choice_question, ordered_options, states_question
from pipelines.evaluation.reasoning import Reasoner, ask
from pipelines.memories.contract import Task
from tests.evaluation.scripted_evaluation import episode
from tests.support.coroutines import run

QUESTION = episode().questions[0]
OPTIONS = ordered_options(QUESTION, 7, "question", "ada", 0, wording="own")


def test_the_order_of_options_follows_from_its_path_alone() -> None:
    path = QUESTION, 7, "question", "ada"
    orders = {period: [o.choice_id for o in ordered_options(*path, period, wording="own")] for period in range(12)}

    assert orders[0] == [option.choice_id for option in OPTIONS]
    assert len({tuple(order) for order in orders.values()}) > 1


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": 2}',
        '```json\n{"answer": 2}\n```',
        'Surely {"answer": 2}.',
        '{"reasoning": "tea, not {coffee}", "answer": 2}',
        '{"answer": "2"}',
        '{"answer": 2.0}',
        '{"answer": "Option 2."}',
        '{"answer": [2]}',
        '{"Answer": 2}',
        '{"result": {"answer": 2}}',
        '[{"answer": 2}]',
        '{"answer": 1} is wrong, it must be {"answer": 2}',
        '<think>Perhaps {"answer": 1}.</think>{"answer": 2}',
        'Perhaps {"answer": 1}.\n</think>\n\n{"answer": 2}',
        '<tool_call>{"name": "answer", "arguments": {"answer": 2}}</tool_call>',
        "2",
        "**2**",
        "The answer is 2.",
        "\\boxed{2}",
        '<|channel|>analysis<|message|>1?<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{"answer": 2}',
        json.dumps({"answer": OPTIONS[1].answer}),
        json.dumps({"answer": f"2. {OPTIONS[1].answer}"}),
    ],
)
def test_an_answer_with_one_meaning_names_the_option_as_shown(reply: str) -> None:
    assert choice_question(QUESTION, OPTIONS).read(reply) == OPTIONS[1].choice_id


@pytest.mark.parametrize(
    "reply",
    [
        "",
        '{"answer": true}',
        '{"answer": 1.5}',
        '{"answer": -1}',
        '{"answer": "-1"}',
        '{"answer": 0}',
        '{"answer": 4}',
        '{"choice": 1}',
        '{"answer": [1, 2]}',
        '{"answer": 1, "answer": 2}',
        '[{"answer": 1}, {"answer": 2}]',
        '{"answer": "1 or 2"}',
        '{"answer": "B"}',
        '{"draft": {"answer": 1}, "answer": ',
        '{"draft": {"answer": 1}, "answer": 2,}',
        '<think>Perhaps {"answer": 1}. No,',
        '<think>{"answer": 1}</think>',
        '{"answer": 2',
        '{"type": "object", "properties": {"answer": {"type": "integer"}}}',
        json.dumps({"answer": f"1. {OPTIONS[1].answer}"}),
        "I cannot say; 2 of them fit.",
    ],
)
def test_what_may_mean_two_things_or_none_cannot_be_read(reply: str) -> None:
    with pytest.raises(ValueError, match=r"number|JSON object|no option"):
        choice_question(QUESTION, OPTIONS).read(reply)


class Replies:
    """Gives these answers in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.questions = list(replies), list[Task]()

    async def __call__(self, question: Task) -> str:
        self.questions.append(question)
        return self.replies[len(self.questions) - 1]


def test_an_unreadable_answer_is_asked_for_once_more_with_what_was_wrong() -> None:
    answer = Replies("the second", '{"answer": 2}')

    outcome = run(ask(choice_question(QUESTION, OPTIONS), answer))

    assert (outcome.value, outcome.tries, outcome.problem) == (OPTIONS[1].choice_id, 2, "")
    assert "the second" in answer.questions[1].text
    assert answer.questions[0].text in answer.questions[1].text


def test_two_unreadable_answers_are_neither_right_nor_wrong() -> None:
    outcome = run(ask(choice_question(QUESTION, OPTIONS), Replies("hm", '{"answer": 9}')))

    assert outcome.value is None
    assert outcome.tries == 2
    assert "no option 9" in outcome.problem


def test_the_options_alone_hide_the_question() -> None:
    assert QUESTION.query not in choice_question(QUESTION, OPTIONS, variant="options_only").task.text
    assert QUESTION.query in choice_question(QUESTION, OPTIONS).task.text


def test_of_a_half_legal_state_the_legal_half_is_scored() -> None:
    states = states_question({"diet": ["vegan", "any"], "goal": ["5 km", "rest"]})

    outcome = run(ask(states, Replies("?", '{"diet": "vegan", "goal": "fly"}')))

    assert outcome.value == {"diet": "vegan"}
    assert "goal" in outcome.problem


def test_what_either_reply_tells_legally_is_scored_and_the_later_word_counts() -> None:
    states = states_question({"diet": ["vegan", "any"], "goal": ["5 km", "rest"]})

    outcome = run(ask(states, Replies('{"diet": "vegan", "goal": "fly"}', '{"goal": "rest"}')))
    changed = run(ask(states, Replies('{"diet": "vegan", "goal": "fly"}', '{"diet": "any", "goal": "swim"}')))

    assert outcome.value == {"diet": "vegan", "goal": "rest"}
    assert changed.value == {"diet": "any"}


def test_a_state_is_one_of_its_values() -> None:
    with pytest.raises(ValueError, match="diet"):
        states_question({"diet": ["vegan", "any"]}).read('{"diet": "cannot_tell"}')


class CutOff:
    """A model that never comes to the end of its thought, in which a draft of an answer stands."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply('Perhaps {"answer": 1}. But', "length", 9, 8192)


def test_a_draft_in_a_reply_that_was_cut_off_is_no_answer() -> None:
    reasoner = Reasoner(CutOff(), "m", seed=7)

    outcome = run(ask(choice_question(QUESTION, OPTIONS), lambda task: reasoner.answer([], task)))

    assert (outcome.value, outcome.reply, outcome.tries) == (None, "", 2)
    assert "cut off" in outcome.problem
    assert run(reasoner.answer([], Task(text="Tell me more.", query="more"))).startswith("Perhaps")


def test_values_are_read_beside_keys_that_nobody_asked_for_and_in_another_case() -> None:
    read = states_question({"diet": ["vegan", "anything"]}).read
    assert read('{"why": "said so", "diet": "Vegan"}') == {"diet": "vegan"}
    with pytest.raises(ValueError, match="see diet"):
        read('{"diet": "fish"}')
