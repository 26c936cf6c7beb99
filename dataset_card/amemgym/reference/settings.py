"""Settings that a `data.json` does not say of itself: rounds, language and dates. A release keeps them in a file beside it."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path, PurePosixPath

from pydantic import Field, ValidationError

from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Record
from assets.records.problems import first_problem
from assets.reporting.plurals import counted
from assets.text.languages import LANGUAGES, Language


class SettingsError(ValueError):
    """Settings that cannot be read or that no data set has; the message is one sentence."""


class DataSettings(Record):
    """Named like the recipe's fields. Without dates, those of the users count. The defaults are the paper's base."""

    language: Language = Field(default="en", description="language of the texts")
    num_rounds_initial: int = Field(default=1, ge=1, le=50, description="rounds of a session in period 0")
    num_rounds_update: int = Field(default=2, ge=1, le=50, description="rounds of a later session")
    start_date: date | None = Field(default=None, description="day of the initial state")
    num_months_per_period: int | None = Field(default=None, ge=1, le=24, description="months from one state to the next")

    @property
    def language_name(self) -> str:
        return LANGUAGES[self.language]

    def rounds(self, period: int) -> int:
        """Rounds of a session in this period: one message of the user and one of the assistant."""
        return self.num_rounds_update if period else self.num_rounds_initial

    @property
    def in_words(self) -> str:
        """The settings as they count, in one line."""
        dates = "" if self.start_date is None else f", from {self.start_date}"
        months = "" if self.num_months_per_period is None else f" in steps of {counted(self.num_months_per_period, 'month')}"
        rounds = f"{self.num_rounds_initial} and then {counted(self.num_rounds_update, 'round')} a session"
        return f"{self.language_name}, {rounds}{dates}{months}"


def settings_of(recipe: AMemGymRecipe) -> DataSettings:
    return DataSettings(**{name: getattr(recipe, name) for name in DataSettings.model_fields})


def settings_path(data_json: str) -> str:
    """Return the file beside a `data.json`, as in data.settings.json."""
    return str(PurePosixPath(data_json).with_suffix(".settings.json"))


def settings_bytes(settings: DataSettings) -> bytes:
    return (settings.model_dump_json(indent=2) + "\n").encode()


def read_settings(data_json: Path, overrides: Mapping[str, object]) -> tuple[DataSettings, str]:
    """Return the settings beside the file with `overrides` in place of theirs, and where they are from, as a sentence.

    Raises SettingsError, OSError where the file beside it cannot be read.
    """
    path = Path(settings_path(str(data_json)))
    beside = _parse_settings(path.read_bytes(), path.name) if path.is_file() else None
    fields = {**(beside or DataSettings()).model_dump(), **overrides}
    try:
        settings = DataSettings.model_validate(fields)
    except ValidationError as error:
        name, problem = first_problem(error)
        raise SettingsError(
            f"{name} cannot be set to that: it {problem}. There are {', '.join(DataSettings.model_fields)}."
        ) from error
    if beside is None:
        source = f"{data_json.name} does not say rounds, language and dates; those of the paper's base are taken"
    else:
        source = f"By {path.name} beside it, {data_json.name} is in"
    return settings, f"{source}: {settings.in_words}.{_list_overrides(overrides)}"


def _parse_settings(content: bytes, name: str) -> DataSettings:
    try:
        return DataSettings.model_validate_json(content)
    except ValidationError as error:
        field, problem = first_problem(error)
        raise SettingsError(f"{name} cannot be read: {field} {problem}; correct it, or remove it.") from error


def _list_overrides(overrides: Mapping[str, object]) -> str:
    return f" Given here: {', '.join(overrides)}." if overrides else " --set FIELD=VALUE sets another."
