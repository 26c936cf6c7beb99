"""AMemGym for the runner: its items are users, who are lived with and asked on-policy, or whose dialogues are replayed."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assets.amemgym.records.episode import Episode
from assets.llm.text import count_tokens
from assets.recipe.registry import DEFAULT_BENCHMARK
from assets.reporting.plurals import counted
from dataset_card.reference.settings import DataSettings
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.dialogue import events_of
from pipelines.evaluation.amemgym.interview import unasked_rows
from pipelines.evaluation.amemgym.user_run import UserRun
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import FOLLOW_UP, REPLY, ItemSize
from pipelines.evaluation.isolated import EventRow
from pipelines.evaluation.options import PAPER_MODELS, EvaluationOptions
from pipelines.evaluation.reasoning import end_tasks, gather_all
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueTurn, RunManifest
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run

MOST_TOKENS = 100_000  # of recalled text: what leaves the reasoner room for a task


@dataclass(frozen=True)
class AMemGymTasks:
    """AMemGym's episodes for the runner; an item is a user. `recorded`: the turns to replay; None for on-policy."""

    dataset: AMemGymDataset
    recorded: Sequence[DialogueTurn] | None = None

    @property
    def info(self) -> DatasetInfo:
        data = self.dataset
        return DatasetInfo(
            benchmark=DEFAULT_BENCHMARK,
            name=data.name,
            digest=data.digest,
            language=data.settings.language_name,
            noun="user",
            users=self.items,
            roles=tuple(PAPER_MODELS),
            prompts=("evaluation/", "memories/", "paper/"),
            tokens=MOST_TOKENS,
            notices=data.notices,
        )

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(episode.user_id for episode in self.dataset.episodes)

    def first(self, users: int | None) -> "AMemGymTasks":
        return replace(self, dataset=self.dataset.first(users))

    def replaying(self, recorded: FinishedRun) -> "AMemGymTasks":
        """The tasks with the dialogues of a run. Raises EvaluationError where it is of other episodes."""
        manifest = recorded.manifest
        if manifest.dataset_digest != self.dataset.digest or not set(self.items) <= set(manifest.users):
            raise EvaluationError(
                f"The dialogues of {manifest.run_id} are of {manifest.dataset} with {counted(len(manifest.users), 'user')}; "
                f"they cannot be replayed on {self.dataset.name} with {counted(len(self.items), 'user')}."
            )
        return replace(self, recorded=recorded.turns)

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        return {
            "mode": "off-policy" if options.replayed_run else "on-policy",
            "rounds_initial": self.dataset.settings.num_rounds_initial,
            "rounds_update": self.dataset.settings.num_rounds_update,
            "replayed_run": options.replayed_run,
            "probes": options.probes,
            "unknown_probe": options.unknown_probe,
            "baselines": options.baselines,
            "wording": options.wording,
        }

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        return (size_of(episode, self.dataset.settings, manifest) for episode in self.dataset.episodes)

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        """An interview runs beside the next period, because it is held on a copy."""
        user = self.user_run(run, self._episode(item_id), item_id)
        interviews = list[asyncio.Task[AnswersStep]]()
        baselines = asyncio.create_task(user.baselines())
        period = 0
        try:
            for period in range(len(user.episode.periods)):
                _raise_failure([*interviews, baselines])
                rows.add(await user.live(period))
                interviews.append(await user.begin_interview(period))
            for step in [*await gather_all(interviews), await baselines]:
                rows.add(step)
        except ENDS_ITEM as error:
            # What was begun of earlier periods is finished.
            for step in await asyncio.gather(*interviews, baselines, return_exceptions=True):
                if isinstance(step, AnswersStep):
                    rows.add(step)
            raise ItemStopped(f"period {period}", error) from error
        finally:
            await end_tasks([*interviews, baselines])
            if user.subject:
                user.subject.host.close()
        rows.answers = diagnose(user.episode, rows.answers)

    def user_run(self, run: Run, episode: Episode, key: str) -> UserRun:
        """The user before the first session."""
        own = None if self.recorded is None else [turn for turn in self.recorded if turn.user_id == episode.user_id]
        return UserRun(run, episode, self.dataset, key, own)

    def _episode(self, user_id: str) -> Episode:
        return next(episode for episode in self.dataset.episodes if episode.user_id == user_id)

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        return unasked_rows(self._episode(item_id), answers, manifest=manifest, reason=reason)

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        for turn in turns:
            for event in events_of([turn]):
                yield EventRow(cluster=turn.user_id, text=event.text, kind=event.kind, at=str(event.at), source="")

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        return [page_item(episode, run.turns) for episode in self.dataset.episodes]


def _raise_failure(tasks: Sequence[asyncio.Task[AnswersStep]]) -> None:
    """Raise what ended one of the tasks, so that no period is paid for whose interview would only be thrown away."""
    for task in tasks:
        if task.done():
            task.result()


def size_of(episode: Episode, settings: DataSettings, manifest: RunManifest) -> ItemSize:
    """What one user's sessions, questions and probes come to."""
    length, before, after, sessions = 0, list[int](), list[int](), 0
    for index, period in enumerate(episode.periods):
        for session in period.sessions:
            sessions += 1
            for round_number in range(settings.rounds(index)):
                before.append(length)
                length += (FOLLOW_UP if round_number else count_tokens(session.query)) + REPLY
        after.append(length)
    choices, options = episode.state_schema.choices, episode.questions[0].answer_choices
    probes = {"question": len(episode.questions), "variable": len(choices), "all": 1}[manifest.probes]
    return ItemSize(
        written=2 * len(before),
        event_tokens=REPLY,
        questions=after * len(episode.questions),
        question_tokens=count_tokens(options[0].answer) * len(options),
        steps=2 * len(after) + manifest.baselines,
        replies=() if manifest.replayed_run else before,
        simulated=0 if manifest.replayed_run else len(before) - sessions,
        schema_tokens=count_tokens(str(choices)),
        probes=after * (probes * (1 + manifest.unknown_probe)),
        probe_tokens=count_tokens(str(choices)),
        bounds=sum(len(set(question.golden)) + 1 for question in episode.questions) if manifest.baselines else 0,
    )


def page_item(episode: Episode, turns: Sequence[DialogueTurn]) -> PageItem:
    """The user with the turns of a run, which may be those of all users."""
    own = [turn for turn in turns if turn.user_id == episode.user_id]
    questions = [
        {
            "id": question.question_id,
            "query": question.query,
            "required": question.required_info,
            "options": [
                {"id": option.choice_id, "text": option.answer, "state": option.state} for option in question.answer_choices
            ],
        }
        for question in episode.questions
    ]
    periods = [_period(episode, [turn for turn in own if turn.period == index], index) for index in range(len(episode.periods))]
    return PageItem(episode.user_id, name=episode.user_profile.name, questions=questions, periods=periods)


def _period(episode: Episode, turns: Sequence[DialogueTurn], index: int) -> Json:
    period = episode.periods[index]
    return {
        "end": period.period_end.isoformat(),
        "state": period.state,
        "sessions": [
            {
                "at": session.session_time.isoformat(sep=" "),
                "event": session.event or "",
                "exposed": session.exposed_states,
                "turns": [
                    {"message": turn.message, "reply": turn.reply, "breaches": turn.breaches}
                    for turn in turns
                    if turn.session == number
                ],
            }
            for number, session in enumerate(period.sessions)
        ],
    }
