"""AMemGym's episodes to evaluate on: those of a release, or of a `data.json` of the paper's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.user import LeftOut
from assets.recipe.amemgym import AMemGymRecipe
from dataset_card.amemgym.reference.data_json import ReferenceError, read_data_json
from dataset_card.amemgym.reference.settings import DataSettings, SettingsError, read_settings, settings_of
from dataset_card.release.digests import file_sha256
from dataset_card.release.manifest import read_manifest
from pipelines.errors import EvaluationError
from pipelines.evaluation.sources import release_recipe


@dataclass(frozen=True)
class AMemGymDataset:
    """Checked episodes and their names: `digest` is the release's, or the file's sha256.

    `notices`: sentences on what a bare file does not say, and on what of it is mended or `left_out`. `recipe`: a release's.
    """

    name: str
    digest: str
    episodes: tuple[Episode, ...]
    settings: DataSettings = field(default_factory=DataSettings)
    notices: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    recipe: AMemGymRecipe | None = None


def read_bare(path: Path, overrides: Mapping[str, object]) -> AMemGymDataset:
    """Return the users of a `data.json` who can be used. Raises EvaluationError.

    `overrides`: rounds, language and dates, in place of what the file beside it says.
    """
    # Imported late: a release needs nothing of how files of others are read.
    from dataset_card.amemgym.reference.imported import import_data_json

    try:
        imported = import_data_json(path)
        settings, source = read_settings(path, overrides)
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ReferenceError, SettingsError) as error:
        raise EvaluationError(f"{path} cannot be used: {error}") from error
    notices = (source, *imported.sentences())
    if not imported.episodes:
        raise EvaluationError(f"{path.name} holds no user who can be used. {' '.join(notices[1:])}".strip())
    return AMemGymDataset(
        name=path.name,
        digest=file_sha256(path),
        episodes=imported.episodes,
        settings=settings,
        notices=notices,
        left_out=imported.left_out,
    )


def read_amemgym_release(folder: Path) -> AMemGymDataset:
    """Return the users of a verified release of AMemGym. Raises EvaluationError."""
    manifest = read_manifest(folder)
    recipe = release_recipe(folder, AMemGymRecipe)
    name = f"{manifest.variant} {manifest.version}"
    episodes = _episodes(folder / manifest.variant / "data.json")
    if not episodes:
        raise EvaluationError(f"{name} holds no user; there is nothing to evaluate on.")
    for episode in episodes:
        for question in episode.questions:
            # With one option every answer would be right.
            if len(question.answer_choices) < 2:
                raise EvaluationError(f"Question {question.question_id} of user {episode.user_id!r} has only one option.")
    return AMemGymDataset(name, manifest.digest, episodes, settings_of(recipe), recipe=recipe)


def _episodes(path: Path) -> tuple[Episode, ...]:
    try:
        return tuple(read_data_json(path))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from error
    except ReferenceError as error:
        raise EvaluationError(f"{path} cannot be evaluated on: {error}") from error
