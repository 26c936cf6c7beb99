"""The embedded guessers use what they are shown and nothing else, so that the audits measure what a prompt gives away."""

from collections import Counter
from itertools import permutations

from pipelines.embedded.bank import load_bank
from tests.pipelines.embedded.embedded_requests import PROFILE, ask

QUESTION = "How can I get more out of growing vegetables at home?"
TOPIC = next(topic for topic in load_bank().topics if QUESTION in topic.questions)
TROUBLE = TOPIC.variables[0]
ADVICE = {value: " ".join(choice.advice[:2]) for value, choice in TROUBLE.choices.items()}


def guess(probe: str, options: list[str], *, question: str = "", user_profile: str = "") -> str:
    numbered = {str(place): text for place, text in enumerate(options, start=1)}
    case = {**({"question": question} if question else {}), "options": numbered}
    known = {"user_profile": user_profile} if user_profile else {}
    return numbered[str(ask(f"audits/{probe}", {"cases": {"1": case}, **known})["1"])]


def test_a_blind_guess_is_one_option_wherever_it_stands() -> None:
    for probe, known in (("options_only", {}), ("question_only", {"question": QUESTION})):
        assert len({guess(probe, list(order), **known) for order in permutations(ADVICE.values())}) == 1


def test_blind_guesses_spread_over_what_options_say_and_how_long_they_are() -> None:
    options = [f"{'Rest well and ' * number}do exercise {number}." for number in range(4)]
    guessed = Counter(guess("question_only", options, question=f"What about {number}?") for number in range(400))
    assert min(guessed[option] for option in options) > 70


def test_a_profile_that_conveys_the_value_is_followed() -> None:
    for value, choice in TROUBLE.choices.items():
        profile = f"{PROFILE} {' '.join(choice.cues)}"
        assert guess("profile_only", list(ADVICE.values()), question=QUESTION, user_profile=profile) == ADVICE[value]


def test_a_profile_that_conveys_nothing_leaves_a_blind_guess() -> None:
    options = list(ADVICE.values())
    blind = guess("question_only", options, question=QUESTION)
    assert guess("profile_only", options, question=QUESTION, user_profile="Name: Dana Whitfield") == blind
