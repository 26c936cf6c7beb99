"""AMemGym for the runner: its items are users, who are lived with and asked on-policy, or whose dialogues are replayed."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.state import Session
from assets.recipe.registry import DEFAULT_BENCHMARK
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from dataset_card.amemgym.reference.settings import DataSettings
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.dataset import AMemGymDataset, read_amemgym_release, read_bare
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.dialogue import events_of
from pipelines.evaluation.amemgym.interview import control_questions, graded_row, unasked_rows
from pipelines.evaluation.amemgym.user_run import UserRun
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import FOLLOW_UP, REPLY, ItemSize
from pipelines.evaluation.isolated import EventRow
from pipelines.evaluation.metrics.control import asks_control
from pipelines.evaluation.options import PAPER_MODELS, EvaluationOptions
from pipelines.evaluation.reasoning import Answer, end_tasks, gather_or_cancel
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueTurn, RunManifest
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run

MOST_TOKENS = 100_000  # of recalled text: what leaves the reasoner room for a task


def read_amemgym_tasks(folder: Path, _: type[Episode]) -> "AMemGymTasks":
    """Return the tasks of a verified release. Raises EvaluationError."""
    return AMemGymTasks(read_amemgym_release(folder))


def read_amemgym_file(path: Path, settings: Mapping[str, object]) -> "AMemGymTasks":
    """Return the tasks of a `data.json` without a release around it. Raises EvaluationError."""
    return AMemGymTasks(read_bare(path, settings))


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
        """Return the tasks with the dialogues of a run. Raises EvaluationError where it is of other episodes."""
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
            "baselines": options.baselines,
            "wording": options.wording,
            "recall_query": options.recall_query,
        }

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for episode in self.dataset.episodes:
            size = size_of_user(episode, self.dataset.settings, manifest)
            yield replace(size, controls=len(self.controls(manifest, episode.user_id)))

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        """Live with one user, and interview copies beside the next period."""
        user = self.user_run(run, self._episode(item_id), item_id)
        baselines = asyncio.create_task(user.baselines())
        interviews = list[asyncio.Task[AnswersStep]]()
        other = self._stranger_of(item_id)
        controlled = asks_control(run.manifest)
        period = 0
        last = len(user.episode.periods) - 1
        try:
            for period in range(len(user.episode.periods)):
                # No later period is paid for where a question has ended the run.
                _raise_failure([*interviews, baselines])
                rows.add(await user.live(period))
                asks_other = controlled and period == last
                interviews.append(await user.begin_interview(period, other=other, asks_other=asks_other))
            for step in [*await gather_or_cancel(interviews), await baselines]:
                rows.add(step)
        except ENDS_ITEM as error:
            # What was begun of earlier periods is finished.
            for step in await asyncio.gather(*interviews, baselines, return_exceptions=True):
                if isinstance(step, AnswersStep):
                    rows.add(step)
            raise ItemStopped(f"period {period}", error) from error
        finally:
            await end_tasks([*interviews, baselines])
            await user.close()
        rows.answers = diagnose(user.episode, rows.answers)

    def user_run(self, run: Run, episode: Episode, key: str) -> UserRun:
        """Return the user before the first session."""
        own = None
        if self.recorded is not None:
            own = [turn for turn in self.recorded if turn.user_id == episode.user_id]
        return UserRun(run, episode, self.dataset, key, own)

    def _episode(self, user_id: str) -> Episode:
        return next(episode for episode in self.dataset.episodes if episode.user_id == user_id)

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        return unasked_rows(self._episode(item_id), answers, manifest=manifest, reason=reason)

    def _stranger_of(self, user_id: str) -> Episode | None:
        """Return the user whose questions are asked of this one's memory: the next one; None where there is no other."""
        place = self.items.index(user_id)
        other = self.dataset.episodes[(place + 1) % len(self.items)]
        return other if other.user_id != user_id else None

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        stranger = self._stranger_of(item_id)
        if stranger is None or not asks_control(manifest):
            return []
        nothing = Answer[str](None, "", 0, "", kind="permuted")
        return [put.row(nothing) for put in control_questions(self._episode(item_id), stranger, manifest=manifest)]

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        return graded_row(self._episode(row.user_id), row, manifest=manifest)

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


def size_of_user(episode: Episode, settings: DataSettings, manifest: RunManifest) -> ItemSize:
    """Return the size of one user's sessions, questions and probes."""
    length = 0
    sessions = 0
    before = list[int]()  # tokens that were perceived before each reply
    after = list[int]()  # and after each period, when everything is asked
    for index, period in enumerate(episode.periods):
        for session in period.sessions:
            sessions += 1
            for round_number in range(settings.rounds(index)):
                before.append(length)
                length += (FOLLOW_UP if round_number else count_tokens(session.query)) + REPLY
        after.append(length)
    choices = episode.state_schema.choices
    schema_tokens = count_tokens(str(choices))
    options = episode.questions[0].answer_choices
    probes = len(episode.questions) if manifest.probes == "question" else 0
    bounds = 0
    if manifest.baselines:
        for question in episode.questions:
            bounds += len(set(question.golden)) + 1
    live = not manifest.replayed_run
    return ItemSize(
        written=2 * len(before),
        event_tokens=REPLY,
        questions=after * len(episode.questions),
        question_tokens=count_tokens(options[0].answer) * len(options),
        steps=2 * len(after) + manifest.baselines,
        replies=before if live else (),
        simulated=len(before) - sessions if live else 0,
        schema_tokens=schema_tokens,
        probes=after * probes,
        probe_tokens=schema_tokens,
        bounds=bounds,
    )


def page_item(episode: Episode, turns: Sequence[DialogueTurn]) -> PageItem:
    """Return the user with the turns of a run, which may be those of all users."""
    questions = list[Json]()
    for question in episode.questions:
        options = list[Json]()
        for option in question.answer_choices:
            options.append({"id": option.choice_id, "text": option.answer, "state": option.state})
        questions.append(
            {"id": question.question_id, "query": question.query, "required": question.required_info, "options": options}
        )
    periods = list[Json]()
    for index, period in enumerate(episode.periods):
        own = [turn for turn in turns if turn.user_id == episode.user_id and turn.period == index]
        sessions = list[Json]()
        for number, session in enumerate(period.sessions):
            sessions.append(_shown_session(session, [turn for turn in own if turn.session == number]))
        periods.append({"end": period.period_end.isoformat(), "state": period.state, "sessions": sessions})
    return PageItem(episode.user_id, name=episode.user_profile.name, questions=questions, periods=periods)


def _shown_session(session: Session, turns: Sequence[DialogueTurn]) -> Json:
    shown = list[Json]()
    for turn in turns:
        shown.append({"message": turn.message, "reply": turn.reply, "breaches": turn.breaches})
    at = session.session_time.isoformat(sep=" ")
    return {"at": at, "event": session.event or "", "exposed": session.exposed_states, "turns": shown}
