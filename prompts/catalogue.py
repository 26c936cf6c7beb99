"""All templates by name."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from prompts.template import Prompt, PromptError, parse_prompt

FOLDER = Path(__file__).parent


# Prompts in place of the shipped ones, by name.
_OVERRIDES: ContextVar[Mapping[str, Prompt]] = ContextVar("prompt_overrides", default={})  # noqa: B039 - never changed


@contextmanager
def override_prompts(prompts: Iterable[Prompt]) -> Generator[None, None, None]:
    """Let `load_prompt` give these prompts under their names, here and in the tasks started here."""
    token = _OVERRIDES.set({prompt.name: prompt for prompt in prompts})
    try:
        yield
    finally:
        _OVERRIDES.reset(token)


def load_prompt(name: str) -> Prompt:
    """Load the template `<stage>/<call>`. Raises PromptError for an unknown name."""
    return _OVERRIDES.get().get(name) or load_shipped_prompt(name)


@cache
def load_shipped_prompt(name: str) -> Prompt:
    """Load the template as it is shipped, whatever stands in its place here. Raises PromptError for an unknown name."""
    if name not in prompt_names():
        near = get_close_matches(name, prompt_names())
        known = dict.fromkeys([*near, *prompt_names()])
        raise PromptError(f"There is no prompt {name!r}; there are {', '.join(known)}.")
    return parse_prompt(name, prompt_path(name).read_text(encoding="utf-8"))


def prompt_names() -> tuple[str, ...]:
    return tuple(sorted(_paths()))


def prompt_path(name: str) -> Path:
    """Return a template's file. A stage's templates lie below the folder of its benchmark, which is no part of their names."""
    return _paths()[name]


@cache
def _paths() -> dict[str, Path]:
    paths = [*FOLDER.glob("*/*.md"), *FOLDER.glob("*/*/*.md")]
    return {f"{path.parent.name}/{path.stem}": path for path in paths}
