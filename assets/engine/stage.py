"""What a stage is, before anything wraps, runs or stores it."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from assets.records.base import StageName, UserRecord
from prompts.catalogue import load_prompt

R = TypeVar("R", bound=UserRecord, covariant=True)


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: one async function about one user, called with the records of `needs` in order, recipe and model.

    Raise `version` when the function's logic changes what it makes.
    """

    name: StageName
    record: type[R]
    make: Callable[..., Awaitable[R]]
    needs: "tuple[Stage[UserRecord], ...]" = ()
    prompts: tuple[str, ...] = ()
    version: int = 1

    @property
    def code_version(self) -> str:
        """Changes when the stage's logic or the words of one of its prompts do."""
        fingerprints = [load_prompt(name).fingerprint for name in self.prompts]
        return hashlib.sha256("\n".join([self.name, str(self.version), *fingerprints]).encode()).hexdigest()[:12]
