"""Episodes to evaluate on: a release in a folder or on the Hub, a variant's latest, or a `data.json` of the paper's shape."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import LeftOut
from assets.recipe.loading import RecipeError, build_recipe, expect_recipe
from dataset_card.reference.data_json import ReferenceError, read_data_json
from dataset_card.reference.imported import ImportedData, import_data_json
from dataset_card.reference.settings import DataSettings, SettingsError, read_settings, settings_of
from dataset_card.release.digests import file_digest
from dataset_card.release.manifest import MANIFEST, ReleaseError, read_manifest
from dataset_card.release.store import ReleaseStore, find_release
from dataset_card.release.verify import verify_release
from pipelines.evaluation.errors import EvaluationError
from pipelines.home import home
from pipelines.resources.storage.errors import StoreError

UNKNOWN = "cannot_tell"


@dataclass(frozen=True)
class Rounds:
    """Rounds of a session: one message of the user and one of the assistant. The paper's base has 1 and 2."""

    initial: int = 1
    update: int = 2

    def of(self, period: int) -> int:
        """Rounds of a session in this period."""
        return self.update if period else self.initial


@dataclass(frozen=True)
class Dataset:
    """Checked episodes, and what names them: `digest` is the release's, or the file's sha256.

    `notices`: sentences on what a bare file does not say, and on what of it is mended or `left_out`. `recipe`: a release's.
    """

    name: str
    digest: str
    episodes: tuple[Episode, ...]
    rounds: Rounds
    language: str
    settings: DataSettings = field(default_factory=DataSettings)
    notices: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    recipe: AMemGymRecipe | None = None

    def first(self, users: int | None) -> "Dataset":
        """The dataset of the first so many users. Raises EvaluationError when there are fewer."""
        if users is None:
            return self
        if not 1 <= users <= len(self.episodes):
            raise EvaluationError(f"{self.name} has {len(self.episodes)} users; --users {users} cannot be taken from them.")
        return replace(self, episodes=self.episodes[:users])


def load_dataset(source: str, *, release_store: ReleaseStore, settings: Mapping[str, object] | None = None) -> Dataset:
    """Read and check everything. Raises EvaluationError with one sentence; nothing has been asked of a model then.

    `source`: as in `amemgym evaluate`; `OWNER/NAME@TAG` is fetched from the Hub the first time and from the disk then.
    `release_store`: where a variant's releases stand, for `VARIANT` and `VARIANT@VERSION`. `settings`: rounds, language and
    dates of a bare `data.json`, in place of what the file beside it says; a release has its own.
    """
    path = Path(source)
    if path.suffix == ".json":
        return _data_json(path, settings or {})
    if settings:
        raise EvaluationError(f"{source} has its own {', '.join(settings)}; they are set for a bare data.json only.")
    if (path / MANIFEST).is_file():
        dataset = _release(path)
    elif "://" in source:
        dataset = _release(_at_url(source))
    elif "@" in source and "/" in source:
        dataset = _release(_fetched(source))
    else:
        dataset = _release(_in_store(source, release_store))
    _check(dataset)
    return dataset


def _data_json(path: Path, overrides: Mapping[str, object]) -> Dataset:
    try:
        imported = import_data_json(path)
        settings, source = read_settings(path, overrides)
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ReferenceError, SettingsError) as error:
        raise EvaluationError(f"{path} cannot be used: {error}") from error
    imported = _without_reserved(imported)
    notices = (source, *imported.sentences())
    if not imported.episodes:
        raise EvaluationError(f"{path.name} holds no user who can be used. {' '.join(notices[1:])}".strip())
    return Dataset(
        name=path.name,
        digest=file_digest(path),
        episodes=imported.episodes,
        rounds=Rounds(settings.num_rounds_initial, settings.num_rounds_update),
        language=settings.language_name,
        settings=settings,
        notices=notices,
        left_out=imported.left_out,
    )


def _without_reserved(imported: ImportedData) -> ImportedData:
    """The users of whom no variable has the choice that stands for not knowing."""
    reserved = (one.user_id for one in imported.episodes if any(map(_is_reserved, one.state_schema.choices.values())))
    lost = list(dict.fromkeys(reserved))
    left_out = (LeftOut(user_id=one, reason=f"a variable has the choice {UNKNOWN!r}, which is not knowing") for one in lost)
    return replace(
        imported,
        episodes=tuple(episode for episode in imported.episodes if episode.user_id not in lost),
        left_out=(*imported.left_out, *left_out),
    )


def _is_reserved(choices: list[str]) -> bool:
    return UNKNOWN in choices


def _release(folder: Path) -> Dataset:
    problems = verify_release(folder)
    if problems:
        raise EvaluationError(f"The release {folder} is not what its manifest says: {problems[0]} Take an unchanged copy.")
    manifest, recipe = read_manifest(folder), _recipe(folder / "recipe.yaml")
    return Dataset(
        name=f"{manifest.variant} {manifest.version}",
        digest=manifest.digest,
        episodes=_episodes(folder / manifest.variant / "data.json"),
        rounds=Rounds(recipe.num_rounds_initial, recipe.num_rounds_update),
        language=recipe.language_name,
        settings=settings_of(recipe),
        recipe=recipe,
    )


def _fetched(source: str) -> Path:
    # Only releases on the Hub need its client, and Dagster, which is behind the checks there.
    from dataset_card.hub.port import HubError
    from pipelines.resources.hub.open_hub import release_reader

    try:
        return release_reader(notice=partial(print, file=sys.stderr)).read(source).folder
    except HubError as error:
        raise EvaluationError(str(error)) from error


def _at_url(url: str) -> Path:
    from pipelines.resources.storage.open_stores import release_at

    try:
        return release_at(url, home=home())
    except StoreError as error:
        raise EvaluationError(str(error)) from error


def _in_store(source: str, release_store: ReleaseStore) -> Path:
    variant, _, version = source.partition("@")
    try:
        folder = find_release(release_store, variant, version=version)
    except (ReleaseError, StoreError) as error:
        raise EvaluationError(str(error)) from error
    if folder is None:
        raise EvaluationError(
            f"{source!r} is neither a data.json, nor a release folder, nor OWNER/NAME@TAG, nor a variant with a release in "
            f"{release_store.address}; make one with: amemgym generate demo"
        )
    return folder


def _recipe(path: Path) -> AMemGymRecipe:
    fields: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        return expect_recipe(build_recipe(fields), AMemGymRecipe)
    except RecipeError as error:
        raise EvaluationError(f"{path} cannot be used: {error}") from error


def _episodes(path: Path) -> tuple[Episode, ...]:
    try:
        return tuple(read_data_json(path))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from error
    except ReferenceError as error:
        raise EvaluationError(f"{path} cannot be evaluated on: {error}") from error


def _check(dataset: Dataset) -> None:
    if not dataset.episodes:
        raise EvaluationError(f"{dataset.name} holds no user; there is nothing to evaluate on.")
    for episode in dataset.episodes:
        for question in episode.questions:
            if len(question.answer_choices) < 2:
                raise EvaluationError(f"Question {question.question_id} of user {episode.user_id!r} has only one option.")
        for name, choices in episode.state_schema.choices.items():
            if _is_reserved(choices):
                raise EvaluationError(
                    f"Variable {name!r} of user {episode.user_id!r} has the choice {UNKNOWN!r}, which stands for not knowing."
                )
