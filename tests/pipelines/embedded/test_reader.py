import itertools

import pytest

from pipelines.embedded.amemgym.judges import rank_situations
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import DIMENSIONS, embedding, read_value, read_values

# Written without the bank at hand, as somebody might put it.
PARAPHRASES = [
    (
        "home_type",
        "small_apartment",
        "My studio is so tiny that the bed folds into the wall, and the elevator is broken again.",
    ),
    ("home_type", "house_with_large_yard", "Mowing the lawn takes me half a day, and the shed in the back is full of tools."),
    ("home_type", "shared_house", "My roommates left dishes in the sink, although the chore chart says it was their turn."),
    ("everyday_transport", "own_car", "I drive to the store and then spend ages hunting for a parking spot."),
    ("everyday_transport", "public_transport", "The bus came late again, and I stood at the stop with my pass in my hand."),
    ("everyday_transport", "bicycle_or_walking", "I pedaled over here in the rain with my backpack on."),
    ("work_pattern", "rotating_shifts", "I am on nights this week and on early duty the next, so my sleep is a mess."),
    ("work_pattern", "fixed_daytime_hours", "I sit in the office from nine to five, and lunch is at noon sharp."),
    ("work_pattern", "self_set_hours", "As a freelancer I decide when to begin, and my clients never ask."),
    ("physical_condition", "recovering_from_injury", "The surgeon says my knee needs more therapy, and I still use crutches."),
    ("physical_condition", "stiff_and_easily_tired", "My joints creak and ache, and I am worn out after twenty minutes."),
    ("physical_condition", "in_top_form", "I have plenty of stamina these days and sprint up the hill on strong legs."),
    ("monthly_spare_money", "lives_hand_to_mouth", "I count my coins before payday because the bills swallow everything."),
    ("monthly_spare_money", "a_comfortable_amount", "I never look at the price tag, and I can splurge when I feel like it."),
    ("usual_company", "usually_alone", "I go out by myself and enjoy the silence and the solitude."),
    ("usual_company", "with_a_regular_group", "Our club has a dozen lively members, and everybody brings snacks."),
    (
        "comfort_with_technology",
        "avoids_screens",
        "I own a landline and mail letters on paper, because computers are not for me.",
    ),
    ("comfort_with_technology", "at_ease_with_apps", "My phone and laptop sync to the cloud, and I automated the alerts."),
    ("daily_free_time", "whole_evenings", "After supper I have leisure until bedtime, hours of it."),
    ("vegetable_growing_trouble", "waterlogged_soil", "The bed never drains, puddles stand for days, and the stems rot."),
    ("photography_camera_type", "film_camera", "I develop the negatives in my bathtub and hang them up to dry."),
    ("main_sleep_disturbance", "racing_thoughts", "My mind spins with worries the moment I lie down."),
]
SAYS_NOTHING = [
    "Could you help me plan something nice for the weekend?",
    "I had a good day, thanks for asking, and I would like some advice.",
    "Things are much as they were, and I have a question about dinner.",
]


def test_paraphrases_are_read_mostly_right_and_seldom_wrong() -> None:
    values = load_bank().values
    readings = [(value, read_value(text, name=name, values=values[name])) for name, value, text in PARAPHRASES]
    assert sum(value == reading for value, reading in readings) >= 0.85 * len(readings)
    assert sum(reading not in (value, None) for value, reading in readings) <= 1


@pytest.mark.parametrize("text", SAYS_NOTHING)
def test_a_text_that_settles_nothing_gives_no_value(text: str) -> None:
    assert all(read_value(text, name=name, values=values) is None for name, values in load_bank().values.items())


def test_the_order_of_the_options_changes_no_reading() -> None:
    text = "I pedaled over here in the rain with my backpack on."
    orders = itertools.permutations(load_bank().values["everyday_transport"])
    assert {read_value(text, name="everyday_transport", values=order) for order in orders} == {"bicycle_or_walking"}


def test_a_concept_is_read_with_the_words_of_all_its_topics() -> None:
    homes = load_bank().topics_with["physical_condition"]
    for topic in homes:
        variable = topic.variable("physical_condition")
        assert variable is not None
        cue = variable.choices["recovering_from_injury"].cues[0]
        assert read_value(cue, name="physical_condition", values=tuple(variable.choices)) in ("recovering_from_injury", None)


def test_an_unknown_variable_is_read_by_the_words_of_its_labels() -> None:
    values = ("weekly_flute_lessons", "daily_trumpet_practice", "occasional_choir_visits")
    assert read_value("I blow my trumpet daily.", name="music", values=values) == "daily_trumpet_practice"
    assert read_value("I like music.", name="music", values=values) is None


def test_a_situation_is_ranked_by_all_its_values_together() -> None:
    first, second = load_bank().topics[0].variables[:2]
    one, other = list(first.choices)[:2], list(second.choices)[:2]
    choices = {str(i): {first.name: a, second.name: b} for i, (a, b) in enumerate(itertools.product(one, other))}
    text = f"{first.choices[one[1]].advice[0]} {second.choices[other[0]].advice[1]}"
    best = rank_situations(text, choices)[0].key
    assert choices[best] == {first.name: one[1], second.name: other[0]}


def test_texts_with_common_words_lie_closer() -> None:
    def closeness(one: str, other: str) -> float:
        return sum(a * b for a, b in zip(embedding(one), embedding(other), strict=True))

    garden = "Which tomatoes grow well in pots?"
    assert closeness(garden, "I grow tomatoes in big pots.") > closeness(garden, "My bus pass has run out.") + 0.3
    assert len(embedding(garden)) == DIMENSIONS
    assert closeness(garden, garden) == pytest.approx(1.0, abs=1e-6)
    assert closeness("", "") == 1.0


OTHERWISE = {
    "denied": "It is no longer so that {cue}",
    "a friend's": "A friend of mine says that {cue}",
    "reported": "My sister wrote: “{cue}”",
    "imagined": "Suppose that {cue}",
    "over": "Years ago {cue}",
}


@pytest.mark.parametrize("wording", OTHERWISE.values(), ids=OTHERWISE)
def test_what_is_not_so_for_the_speaker_now_is_not_read(wording: str) -> None:
    topic = load_bank().topics[0]
    cues = {
        cue: {variable.name: value}
        for variable in topic.variables
        for value, phrases in variable.choices.items()
        for cue in phrases.cues
    }
    read = [cue for cue, told in cues.items() if read_values(cue, topic.choices) == told]
    assert len(read) > len(cues) / 2
    assert [cue for cue in read if read_values(wording.format(cue=cue), topic.choices)] == []
