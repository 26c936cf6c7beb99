"""The matters that users tell about, from `matters.yaml`, and the invented names of their values."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import name_stem
from assets.records.base import Name, Record

PATH = Path(__file__).with_suffix(".yaml")
SYLLABLES = 2  # of a value's name


class FactMatter(Record):
    """A matter: its label in sentences, the forms of its values, and what it may follow from or become the same as."""

    label: Name
    value: str
    coarse: str = ""
    follows: str = ""
    like: str = ""


@cache
def all_matters() -> Mapping[str, FactMatter]:
    """Return the matters by name."""
    content = yaml.load(PATH.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {name: FactMatter.model_validate(fields) for name, fields in content.items()}


def label_of(matter: str) -> str:
    """Return the matter's words in sentences."""
    return all_matters()[matter].label


@cache
def matters_by_label() -> Mapping[str, str]:
    """Return the names of the matters by their labels."""
    return {matter.label: name for name, matter in all_matters().items()}


class ValueMaker:
    """Makes the values of one user. No two hold the same name, so that each tells where it came from."""

    def __init__(self, rng: SeededRandom) -> None:
        self._rng = rng
        self._taken: set[str] = set()

    def new(self, matter: str) -> str:
        """Return a value of the matter."""
        return all_matters()[matter].value.format(name=self._name())

    def coarse(self, matter: str) -> str:
        """Return a value of the matter that could be more exact."""
        return all_matters()[matter].coarse.format(name=self._name())

    def _name(self) -> str:
        # The first letters differ as well, so that no name is taken for another one.
        name = name_stem(self._rng, SYLLABLES)
        while name[:4] in self._taken:
            name = name_stem(self._rng, SYLLABLES)
        self._taken.add(name[:4])
        return name
