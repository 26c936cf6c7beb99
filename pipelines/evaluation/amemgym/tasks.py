"""AMemGym for the runner: its items are users, who are lived with and asked on-policy, or whose dialogues are replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.state import Session
from assets.recipe.registry import DEFAULT_BENCHMARK
from assets.reporting.plurals import counted
from dataset_card.amemgym.reference.settings import DataSettings
from dataset_card.release_store.store import ReleaseStore
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.dataset import AMemGymDataset, read_amemgym_release, read_bare
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.dialogue import SimulatedUser, hold_sessions
from pipelines.evaluation.amemgym.interview import baseline_questions, interview
from pipelines.evaluation.amemgym.sample import Places, places_asked
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.control import asks_control
from pipelines.evaluation.options import PAPER_MODELS, EvaluationOptions
from pipelines.evaluation.records import DialogueTurn, RunManifest
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.sources import open_tasks
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.evaluation.timeline.perceived import turns_by_user
from pipelines.evaluation.timeline.steps import Ask, Converse, Json, Step, Timeline
from pipelines.evaluation.timeline.subjects import Subject, observe_sessions
from pipelines.memories.contract import MemoryEvent

MOST_TOKENS = 100_000  # of recalled text: what leaves the reasoner room for a task


def open_amemgym(source: str, *, release_store: ReleaseStore, settings: Mapping[str, object] | None = None) -> "AMemGymTasks":
    """Return what `open_tasks` does. Raises EvaluationError as that does, and for the data of another benchmark."""
    tasks = open_tasks(source, release_store=release_store, settings=settings)
    if not isinstance(tasks, AMemGymTasks):
        raise EvaluationError(f"{tasks.info.name} is data of {tasks.info.benchmark}; this is for AMemGym, where users are.")
    return tasks


def read_amemgym_tasks(folder: Path, _: type[Episode]) -> "AMemGymTasks":
    """Return the tasks of a verified release. Raises EvaluationError."""
    return AMemGymTasks(read_amemgym_release(folder))


def read_amemgym_file(path: Path, settings: Mapping[str, object]) -> "AMemGymTasks":
    """Return the tasks of a `data.json` without a release around it. Raises EvaluationError."""
    return AMemGymTasks(read_bare(path, settings))


@dataclass(frozen=True)
class AMemGymTasks:
    """AMemGym's episodes for the runner; an item is a user. `recorded`: the turns to replay, by user; None for on-policy."""

    dataset: AMemGymDataset
    recorded: Mapping[str, Sequence[DialogueTurn]] | None = None

    @property
    def users(self) -> tuple[str, ...]:
        return tuple(episode.user_id for episode in self.dataset.episodes)

    @property
    def info(self) -> DatasetInfo:
        data = self.dataset
        return DatasetInfo(
            benchmark=DEFAULT_BENCHMARK,
            name=data.name,
            digest=data.digest,
            language=data.settings.language_name,
            noun="user",
            users=self.users,
            roles=tuple(PAPER_MODELS),
            prompts=("evaluation/", "memories/", "paper/"),
            tokens=MOST_TOKENS,
            notices=data.notices,
        )

    def first(self, users: int | None) -> "AMemGymTasks":
        episodes = self.dataset.episodes[: len(self.info.first(users).users)]
        return replace(self, dataset=replace(self.dataset, episodes=episodes))

    def replaying(self, recorded: FinishedRun) -> "AMemGymTasks":
        """Return the tasks with the dialogues of a run. Raises EvaluationError where it is of other episodes."""
        manifest = recorded.manifest
        if manifest.dataset_digest != self.dataset.digest or not set(self.users) <= set(manifest.users):
            raise EvaluationError(
                f"The dialogues of {manifest.run_id} are of {manifest.dataset} with {counted(len(manifest.users), 'user')}; "
                f"they cannot be replayed on {self.dataset.name} with {counted(len(self.users), 'user')}."
            )
        return replace(self, recorded=turns_by_user(recorded.turns))

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        return {
            "mode": "dialogue",
            "rounds_initial": self.dataset.settings.num_rounds_initial,
            "rounds_update": self.dataset.settings.num_rounds_update,
            "replayed_run": options.replayed_run,
            "questions": options.questions,
            "probes": options.probes,
            "baselines": options.baselines,
            "wording": options.wording,
            "recall_query": options.recall_query,
        }

    def timelines(self, manifest: RunManifest) -> list[Timeline]:
        places = places_asked(self.dataset.episodes, manifest.questions, seed=manifest.seed)
        return [self.timeline(episode, manifest, places) for episode in self.dataset.episodes]

    def timeline(self, episode: Episode, manifest: RunManifest, places: Mapping[str, Places]) -> Timeline:
        """Return one user's periods: each is lived, and a copy is asked beside the next one.

        `places`: what is asked of each user.
        """
        own = places[episode.user_id]
        steps = list[Step]()
        if manifest.baselines:
            questions = tuple(baseline_questions(episode, manifest=manifest, places=own))
            steps.append(Ask("baselines", "the baselines", questions, of_copy=True))
        other = self._stranger_of(episode)
        of_other = places[other.user_id] if other else own
        recorded = None if self.recorded is None else self.recorded.get(episode.user_id, ())
        last = len(episode.periods) - 1
        for period in range(len(episode.periods)):
            steps.append(LivedPeriod(period, episode, self.dataset.settings, recorded))
            controlled: Places = of_other if period == last and asks_control(manifest) else frozenset()
            questions = interview(episode, period, manifest=manifest, other=other, places=own, of_other=controlled)
            steps.append(Ask(f"{period}/asked", f"period {period}", questions, of_copy=True))
        found = Timeline(episode.user_id, episode.user_id, steps, episode.user_profile.name)
        if not manifest.is_probed:
            return found
        return replace(found, conclude=partial(diagnose, episode, sees_recall=not manifest.memory.whole))

    def _stranger_of(self, episode: Episode) -> Episode | None:
        """Return the user whose questions are asked of this one's memory: the next one; None where there is no other."""
        place = [other.user_id for other in self.dataset.episodes].index(episode.user_id)
        other = self.dataset.episodes[(place + 1) % len(self.dataset.episodes)]
        return other if other.user_id != episode.user_id else None


@dataclass(frozen=True)
class LivedPeriod(Converse):
    """The sessions of one period of a user. `recorded`: the user's turns to replay; None for on-policy."""

    episode: Episode
    settings: DataSettings
    recorded: Sequence[DialogueTurn] | None = None

    @property
    def openings(self) -> list[MemoryEvent]:
        sessions = self.episode.periods[self.period].sessions
        return [MemoryEvent(session.query, "user", session.session_time) for session in sessions]

    async def hold(self, context: EvaluationContext, subject: Subject) -> list[DialogueTurn]:
        """Hold the sessions, or let the subject hear those that were recorded."""
        if self.recorded is None:
            model = context.model("simulator", item_id=self.episode.user_id)
            user = SimulatedUser(self.episode, context.asking, context.manifest.language, model)
            rounds = self.settings.rounds(self.period)
            return await hold_sessions(user, subject, period=self.period, rounds=rounds)
        turns = self._own(self.recorded)
        await observe_sessions(subject, turns)
        return turns

    def _own(self, turns: Sequence[DialogueTurn]) -> list[DialogueTurn]:
        return [turn for turn in turns if turn.period == self.period]

    def page_fields(self, turns: Sequence[DialogueTurn]) -> Json:
        period = self.episode.periods[self.period]
        own = self._own(turns)
        sessions = list[Json]()
        for number, session in enumerate(period.sessions):
            sessions.append(_shown_session(session, [turn for turn in own if turn.session == number]))
        return {"end": period.period_end.isoformat(), "state": period.state, "sessions": sessions}


def _shown_session(session: Session, turns: Sequence[DialogueTurn]) -> Json:
    shown = list[Json]()
    for turn in turns:
        shown.append({"message": turn.message, "reply": turn.reply, "breaches": turn.breaches})
    at = session.session_time.isoformat(sep=" ")
    return {"at": at, "event": session.event or "", "exposed": session.exposed_states, "turns": shown}
