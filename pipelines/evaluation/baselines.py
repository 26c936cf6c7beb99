"""What the same assistant reaches with perfect memory and with none, and what needs no assistant at all."""

from collections.abc import Callable

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from pipelines.evaluation.assistant import Assistant
from pipelines.evaluation.interview import Seen, choice_answer, together
from pipelines.evaluation.prompting import Outcome, View, choice_ask, put, shuffled_options
from pipelines.evaluation.records import Answer, AskKind

WITHOUT_MEMORY: dict[AskKind, View] = {"options_only": "options_only", "no_memory": "question"}


async def ask_baselines(fresh: Assistant, episode: Episode, *, seed: int) -> list[Answer]:
    """The upper bound (true state given), and the two bounds below, asked of an assistant that remembers nothing.

    A question that is the same in several periods is asked once.
    """
    parts = await together(
        [
            *(_upper_bound(fresh, episode, question, seed=seed) for question in episode.questions),
            *(
                _without_memory(fresh, episode, question, kind=kind, seed=seed)
                for kind in WITHOUT_MEMORY
                for question in episode.questions
            ),
        ]
    )
    return [answer for part in parts for answer in part]


async def _upper_bound(fresh: Assistant, episode: Episode, question: EpisodeQuestion, *, seed: int) -> list[Answer]:
    lived = list(dict.fromkeys(question.golden))

    async def seen_with(golden: str) -> Seen:
        options = shuffled_options(question, seed, "upper_bound", episode.user_id, golden)
        values = next(option.state for option in question.answer_choices if option.choice_id == golden)
        state = dict(zip(question.required_info, values, strict=True))
        return Seen(options, await put(choice_ask(question, options, view="state_given", state=state), fresh.answer))

    seen = dict(zip(lived, await together([seen_with(golden) for golden in lived]), strict=True))
    return _every_period(episode, question, kind="upper_bound", seen=lambda golden: seen[golden])


async def _without_memory(
    fresh: Assistant, episode: Episode, question: EpisodeQuestion, *, kind: AskKind, seed: int
) -> list[Answer]:
    options = shuffled_options(question, seed, kind, episode.user_id)
    outcome: Outcome[str] = await put(choice_ask(question, options, view=WITHOUT_MEMORY[kind]), fresh.answer)
    return _every_period(episode, question, kind=kind, seen=lambda golden: Seen(options, outcome))


def _every_period(episode: Episode, question: EpisodeQuestion, *, kind: AskKind, seen: Callable[[str], Seen]) -> list[Answer]:
    return [
        choice_answer(episode, question, period=period, kind=kind, seen=seen(golden))
        for period, golden in enumerate(question.golden)
    ]
