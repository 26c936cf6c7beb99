"""Answers of the embedded model and its judgements of them; its words depend on the request and the seed alone."""

import re
from collections.abc import Mapping, Sequence

from tests.pipelines.embedded.embedded_requests import SCHEMA, ask, initial_queries
from validation.amemgym.shortcuts.programs import shared_words, words

QUESTION = "How can I get more out of growing vegetables at home?"
VARIANTS = [
    {"vegetable_growing_trouble": trouble, "home_type": home}
    for trouble in SCHEMA["vegetable_growing_trouble"]
    for home in SCHEMA["home_type"]
]


def answers(seed: int, variants_of_state: Sequence[Mapping[str, str]] = VARIANTS) -> dict[str, str]:
    info = {name: SCHEMA[name] for name in VARIANTS[0]}
    variants = {f"variant_{index + 1}": variant for index, variant in enumerate(variants_of_state)}
    values = {"question": QUESTION, "required_info": info, "variants": variants, "language": "English"}
    return ask("answers/draft", values, seed=seed)


def recovered(text: str, *, cannot_tell: bool = True) -> int:
    choices = {str(index + 1): variant for index, variant in enumerate(VARIANTS)}
    cases = {"1": {"question": QUESTION, "situations": choices, "answers": {"1": text}}}
    return ask("answers/check", {"cases": cases, "cannot_tell": cannot_tell, "reworded": False})["1"]


def test_answers_differ_and_most_are_recovered_but_not_all() -> None:
    right = tried = 0
    for seed in range(40):
        drafted = list(answers(seed).values())
        assert len(set(drafted)) == len(VARIANTS)
        tried += len(drafted)
        right += sum(recovered(text) == index + 1 for index, text in enumerate(drafted))
    assert 0.85 < right / tried < 0.99


def test_a_variant_that_shares_no_value_does_not_show_in_rare_words() -> None:
    troubles, homes = SCHEMA["vegetable_growing_trouble"], SCHEMA["home_type"]
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    variants = [{"vegetable_growing_trouble": troubles[trouble], "home_type": homes[home]} for trouble, home in pairs]
    rarest = 0
    for seed in range(60):
        texts = list(answers(seed, variants).values())
        shared = shared_words([words(text) for text in texts])
        rarest += shared.index(min(shared)) == len(pairs) - 1
    assert rarest < 60 / 2


def test_answers_have_two_or_three_sentences_of_similar_length() -> None:
    lengths = [len(text.split()) for text in answers(1).values()]
    assert all(2 <= len(re.findall(r"[.?!](?= |$)", text)) <= 3 for text in answers(1).values())
    assert max(lengths) <= 1.7 * min(lengths)


def test_a_refined_answer_is_recovered() -> None:
    others = VARIANTS[1:]
    vague = "Watch your plants closely, and do what suits the place where you live."
    assert recovered(vague) == 0
    assert recovered(vague, cannot_tell=False) in range(1, len(VARIANTS) + 1)
    values = {
        "question": QUESTION,
        "matched_state": VARIANTS[0],
        "other_states": others,
        "answer": vague,
        "reading": {},
        "chosen": "none",
    }
    refined_ones = [ask("answers/refine", {**values, "language": "English"}, seed=seed)["answer"] for seed in range(60)]
    assert sum(recovered(text) == 1 for text in refined_ones) >= 42


def chosen(situation: Mapping[str, str], texts: Sequence[str], *, cannot_tell: bool = True) -> int:
    choices = {str(index + 1): text for index, text in enumerate(texts)}
    cases = {"1": {"question": QUESTION, "situations": {"1": situation}, "answers": choices}}
    return ask("answers/choose", {"cases": cases, "cannot_tell": cannot_tell, "reworded": False})["1"]


def test_an_informed_judge_chooses_most_answers_for_their_own_situation_and_none_for_another() -> None:
    drafted = list(answers(1).values())
    picks = [chosen(variant, drafted) for variant in VARIANTS]
    assert all(pick in (0, index + 1) for index, pick in enumerate(picks))
    assert picks.count(0) <= 3


def test_an_informed_judge_passes_only_where_it_may() -> None:
    twice = [answers(1)["variant_1"]] * 2
    assert chosen(VARIANTS[0], twice) == 0
    assert chosen(VARIANTS[0], twice, cannot_tell=False) in (1, 2)


def test_equal_requests_get_equal_words_and_another_seed_others() -> None:
    assert initial_queries(seed=3) == initial_queries(seed=3)
    assert initial_queries(seed=3) != initial_queries(seed=4)
    assert answers(3) == answers(3)
    assert answers(3) != answers(4)
