"""Sets of users with questions at random by seed, in which a test can change something that gives answers away."""

from collections.abc import Callable, Sequence

from assets.amemgym.records.audit import Judgement, Probe, UserAudit
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from tests.support import scenario
from tests.support.scenario import varied

PERIODS, OPTIONS, QUESTIONS = 11, 4, 10
WORDS = [
    "walk",
    "early",
    "with",
    "a",
    "friend",
    "and",
    "rest",
    "on",
    "days",
    "when",
    "the",
    "week",
    "runs",
    "long",
    "or",
    "the",
    "weather",
    "turns",
    "before",
    "noon",
]
Change = Callable[[EpisodeQuestion], EpisodeQuestion]


def random_users(users: int, *, seed: int = 1, change: Change | None = None, share: float = 1.0) -> list[Episode]:
    """Users with ten questions of four options; `change` alters that share of the questions."""
    rng = SeededRandom(seed, "plant")
    found: list[Episode] = []
    for number in range(users):
        user_id = f"user-{number:02d}"
        dealt = [question(SeededRandom(seed, user_id, place), place) for place in range(QUESTIONS)]
        questions = tuple(change(one) if change and rng.bernoulli(share) else one for one in dealt)
        # Shortcut baselines read questions and profile only, and an episode around made-up questions would need a whole life.
        found.append(
            Episode.model_construct(
                user_id=user_id, user_profile=scenario.profile(user_id=user_id), periods=(), questions=questions
            )
        )
    return found


def question(rng: SeededRandom, place: int) -> EpisodeQuestion:
    """Options of random words; in a third of the periods the right option is another than before."""
    name = f"q{place:02d}"
    choices = tuple(
        AnswerChoice(
            choice_id=f"{name}-c{index + 1}",
            state=(str(index),),
            answer=" ".join(rng.sample(WORDS, 8 + rng.integer_below(8))) + f" {index}.",
            type="experience",
        )
        for index in range(OPTIONS)
    )
    golden = [rng.choice(choices).choice_id]
    while len(golden) < PERIODS:
        golden.append(rng.choice(choices).choice_id if rng.bernoulli(0.45) else golden[-1])
    return EpisodeQuestion(
        question_id=name, query="How early should I go?", required_info=("x",), answer_choices=choices, golden=tuple(golden)
    )


def with_choices(one: EpisodeQuestion, change: Callable[[AnswerChoice, bool], AnswerChoice]) -> EpisodeQuestion:
    """`change` gets each option, and whether it is the one that is right most often."""
    best = favourite(one)
    return varied(one, answer_choices=tuple(change(choice, choice.choice_id == best) for choice in one.answer_choices))


def favourite(one: EpisodeQuestion) -> str:
    """The option that is right most often."""
    return max(one.golden, key=one.golden.count)


def adding(text: str) -> Change:
    """Adds the text to the option that is right most often."""
    return lambda one: with_choices(one, lambda choice, best: varied(choice, answer=choice.answer + text) if best else choice)


def shortened(one: EpisodeQuestion) -> EpisodeQuestion:
    """Leaves the option that is right most often with few words."""
    return with_choices(one, lambda choice, best: varied(choice, answer=choice.answer[-9:]) if best else choice)


def moved(one: EpisodeQuestion) -> EpisodeQuestion:
    """Puts the option that is right most often in the second place."""
    others = [choice for choice in one.answer_choices if choice.choice_id != favourite(one)]
    best = [choice for choice in one.answer_choices if choice.choice_id == favourite(one)]
    return varied(one, answer_choices=(*others[:1], *best, *others[1:]))


def frozen(one: EpisodeQuestion) -> EpisodeQuestion:
    """The option that is right at first stays right in every period."""
    return varied(one, golden=one.golden[:1] * PERIODS)


def audits(episodes: Sequence[Episode], probe: Probe, choose: Callable[[EpisodeQuestion], str | None]) -> list[UserAudit]:
    """A judge's choice for each question, the same in every period."""
    return [
        UserAudit(
            user_id=episode.user_id,
            judgements=tuple(
                Judgement(probe=probe, question_id=one.question_id, period=period, expected=golden, chosen=choose(one))
                for one in episode.questions
                for period, golden in enumerate(one.golden)
            ),
        )
        for episode in episodes
    ]
