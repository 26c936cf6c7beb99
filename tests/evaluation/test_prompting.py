"""Questions are put in seeded order and read strictly; what cannot be read twice is unscored."""

import pytest

from pipelines.evaluation.amemgym.questions import choice_question, ordered_options, states_question
from pipelines.evaluation.contract import Task
from pipelines.evaluation.reasoning import ask
from tests.evaluation.scripted_evaluation import episode
from tests.support.coroutines import run

QUESTION = episode().questions[0]
OPTIONS = ordered_options(QUESTION, 7, "question", "ada", 0, wording="own")


def test_the_order_of_options_follows_from_its_path_alone() -> None:
    path = QUESTION, 7, "question", "ada"
    orders = {period: [o.choice_id for o in ordered_options(*path, period, wording="own")] for period in range(12)}

    assert orders[0] == [option.choice_id for option in OPTIONS]
    assert len({tuple(order) for order in orders.values()}) > 1


@pytest.mark.parametrize("reply", ['{"answer": 2}', '```json\n{"answer": 2}\n```', 'Surely {"answer": 2}.'])
def test_the_number_names_the_option_as_shown(reply: str) -> None:
    assert choice_question(QUESTION, OPTIONS).read(reply) == OPTIONS[1].choice_id


@pytest.mark.parametrize(
    "reply",
    ["", "2", '{"answer": "2"}', '{"answer": true}', '{"answer": 1.5}', '{"answer": 0}', '{"answer": 4}', '{"choice": 1}'],
)
def test_whatever_is_not_exactly_a_number_of_an_option_cannot_be_read(reply: str) -> None:
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
    states = states_question({"diet": ["vegan", "any"], "goal": ["5 km", "rest"]}, may_not_know=False)

    outcome = run(ask(states, Replies("?", '{"diet": "vegan", "goal": "fly"}')))

    assert outcome.value == {"diet": "vegan"}
    assert "goal" in outcome.problem


def test_what_either_reply_tells_legally_is_scored_and_the_later_word_counts() -> None:
    states = states_question({"diet": ["vegan", "any"], "goal": ["5 km", "rest"]}, may_not_know=False)

    outcome = run(ask(states, Replies('{"diet": "vegan", "goal": "fly"}', '{"goal": "rest"}')))
    changed = run(ask(states, Replies('{"diet": "vegan", "goal": "fly"}', '{"diet": "any", "goal": "swim"}')))

    assert outcome.value == {"diet": "vegan", "goal": "rest"}
    assert changed.value == {"diet": "any"}


def test_not_knowing_is_an_answer_only_where_it_is_offered() -> None:
    choices = {"diet": ["vegan", "any"]}

    assert states_question(choices, may_not_know=True).read('{"diet": "cannot_tell"}') == {"diet": "cannot_tell"}
    with pytest.raises(ValueError, match="diet"):
        states_question(choices, may_not_know=False).read('{"diet": "cannot_tell"}')
