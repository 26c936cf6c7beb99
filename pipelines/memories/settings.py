"""Settings of memories: as they stand behind a name, as in `my.py:Class?topk=5`, and as its class and its process take them.

A setting has one value, or several for a sweep. None is ever evaluated.
"""

import json
import math
import os
import re
from collections.abc import Mapping
from inspect import Parameter, signature
from itertools import product
from string import Template
from typing import Any, NamedTuple, cast, get_type_hints
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assets.isolation.limits import DEFAULT_LIMITS, ResidentLimits
from assets.recipe.extra_body import SECRET_NAME, SECRET_VALUE
from assets.records.problems import first_problem, nearest_first
from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemorySpec, Setting
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.kinds import Factory, is_service, own_class
from pipelines.memories.perturbed import PERTURBATIONS, PERTURBED
from pipelines.redaction import can_be_taken_apart, login_of

VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
SECRET_SETTING = re.compile(r"(^|_)(api_?key|secret|password|passwd|token|credentials?)$", re.IGNORECASE)
# Names of an address's query that hold keys, beside those that are named like secrets anyway.
KEYS_OF_QUERIES = {"key", "code", "sig", "signature", "auth", "token"}
# An option of a command that is given a secret and no variable.
SECRET_OPTION = re.compile(r"(?:^|\s)-{1,2}[\w-]*(?:key|token|secret|password|passwd)(?:=|\s+)(?![-$])\S", re.IGNORECASE)
# A folder's name may hold a question mark too, so that only NAME= after one begins the settings, or a NAME that ends them.
WITH_SETTINGS = re.compile(r"(?P<memory>.+?)\?(?P<settings>[A-Za-z_]\w*(?:=.*|&[^/]*)?)", re.DOTALL)
MODELS = {"memory": "model", "embedding": "embedding_model"}  # settings of every kind, by the role that they name a model for
PLACES = ("address", "command")  # of services; a spec's location is the whole one
NETWORK = "network"  # the setting by which a memory of others declares that it needs the network
APART = "apart"  # the setting by which each of its memories has a process and a home of its own
PYTHON = "python"  # the setting that names the interpreter of an environment whose packages it uses in place of ours
LIMITS = {"max_memory_mb": "memory_mb", "max_processes": "processes", "max_disk_mb": "disk_mb"}  # settings of all of these
COUNT = re.compile("[1-9][0-9]{0,8}")
MOST_MEMORIES = 100  # of one sweep
MOST_LETTERS = 100  # of what becomes part of a run's name


def swept_memories(source: str) -> list[str]:
    """Return the memory once for each combination of its settings' values: `bm25?topk=5,10` is two. Raises EvaluationError."""
    memory, values = _taken_apart(source)
    if all(len(several) == 1 for several in values.values()):
        return [source]
    if math.prod(map(len, values.values())) > MOST_MEMORIES:
        raise EvaluationError(f"The settings of {memory} make more than {MOST_MEMORIES} memories; give fewer values.")
    found = list[str]()
    for chosen in product(*values.values()):
        pairs = [f"{name}={value}" for name, value in zip(values, chosen, strict=True)]
        found.append(f"{memory}?{'&'.join(pairs)}")
    return list(dict.fromkeys(found))


def split_settings(source: str) -> tuple[str, dict[str, Setting]]:
    """Return the memory without its settings, and these. Raises EvaluationError for several values of one."""
    memory, values = _taken_apart(source)
    settings = dict[str, Setting]()
    for name, several in values.items():
        if len(several) > 1:
            raise EvaluationError(
                f"The setting {name!r} of {memory} has {len(several)} values, and one memory takes one; "
                "`amemgym evaluate` takes several, and %2C is a comma within one."
            )
        settings[name] = _value(unquote(several[0]))
    return memory, settings


def settings_suffix(settings: Mapping[str, Setting]) -> str:
    """Return the settings as they stand behind a memory's name, the same for every order of them.

    Raises EvaluationError where they are too long for the name of a run.
    """
    words = "&".join(f"{name}={_show_value(value)}" for name, value in sorted(settings.items()))
    if len(words) > MOST_LETTERS:
        raise EvaluationError(
            f"Settings behind a memory's name have {MOST_LETTERS} letters at most; put longer ones into a YAML file with "
            "`kind` and `settings`."
        )
    return f"?{words}"


def from_environment(template: Template, *, what: str) -> str:
    """The text with the values of its variables. Raises MemoryFailed for one that is not set."""
    for name in template.get_identifiers():
        if not os.environ.get(name):
            raise MemoryFailed(f"{what} needs the environment variable {name}, which is not set.")
    return template.substitute(os.environ).strip()


def refuse_secrets(settings: Mapping[str, Setting], *, where: str) -> None:
    """Raise EvaluationError for a setting that is named like a secret or holds one, without repeating it."""
    for name, value in settings.items():
        if not isinstance(value, str) or VARIABLE.fullmatch(value):
            continue
        if SECRET_SETTING.search(name) or _holds_secret(value):
            raise EvaluationError(
                f"{where} holds the value of {name!r}, which would be written into the run's files; put it "
                f"into an environment variable, and give the variable's name, as in {name}: $MY_KEY."
            )


def _holds_secret(text: str) -> bool:
    """Return True for a key of a common provider, an address with a login or a key, and an option with a key."""
    if SECRET_VALUE.search(text) or SECRET_OPTION.search(text):
        return True
    if "://" not in text:
        return False
    if not can_be_taken_apart(text):
        return "@" in text
    names = {name.lower() for name, _ in parse_qsl(urlsplit(text).query)}
    has_key = bool(names & KEYS_OF_QUERIES) or any(map(SECRET_NAME.search, names))
    return has_key or login_of(text) is not None


def _taken_apart(source: str) -> tuple[str, dict[str, list[str]]]:
    """Return the memory, and the values of each setting as they are written; what follows an address is its own query."""
    found = WITH_SETTINGS.fullmatch(source)
    if found is None or "://" in found["memory"]:
        return source, {}
    values = dict[str, list[str]]()
    for pair in found["settings"].split("&"):
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in values:
            raise EvaluationError(
                f"The settings of {found['memory']} cannot be read; give each once as NAME=VALUE with & between, as in "
                f"'{found['memory']}?topk=5&freq=2'."
            )
        values[name] = value.split(",")
    return found["memory"], values


def _value(text: str) -> Setting:
    """Return a number, a truth value or nothing as JSON writes them; everything else is text."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(found, float) and not math.isfinite(found):
        return text
    return found if isinstance(found, str | int | float | None) else text


def _show_value(value: Setting) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class ReadSettings(NamedTuple):
    """A memory's settings by who takes them: its class, its process, and the runner, which names its models."""

    own: dict[str, Any]
    network: bool
    apart: bool
    limits: ResidentLimits
    models: dict[str, Setting]
    perturbed: str


def read_settings(spec: MemorySpec) -> ReadSettings:
    """Return the memory's settings. Raises EvaluationError for those that nothing takes, as far as its class is ours."""
    settings = dict(spec.settings)
    network, apart = (is_on(settings.pop(name, False), name=name) for name in (NETWORK, APART))
    limits = _limits(spec.name, {name: settings.pop(name) for name in LIMITS if name in settings})
    models = {name: settings.pop(name) for name in MODELS.values() if name in settings}
    perturbed = str(settings.pop(PERTURBED, None) or "")
    if perturbed and perturbed not in PERTURBATIONS:
        known = nearest_first(perturbed, PERTURBATIONS)
        raise EvaluationError(f"There is no perturbation {perturbed!r} of memories. There are: {known}.")
    for name in PLACES:
        if is_service(spec.kind) and name in settings:
            settings[name] = spec.location or settings[name]
    own = own_class(spec.kind)
    if own is not None:
        settings = _check_settings(spec.name, own, settings)
    return ReadSettings(settings, network, apart, limits, models, perturbed)


def is_on(setting: Setting, *, name: str) -> bool:
    """Return True for a setting that says yes, and False for one that says no. Raises EvaluationError for any other."""
    word = str(setting).lower()
    if word not in ("true", "yes", "on", "1", "false", "no", "off", "0", "none"):
        raise EvaluationError(f"The setting {name} of a memory is true or false, not {word!r}.")
    return word in ("true", "yes", "on", "1")


def _limits(name: str, settings: Mapping[str, Setting]) -> ResidentLimits:
    """Return what the memory's process may take. Raises EvaluationError for what is no number."""
    for setting, value in settings.items():
        if not COUNT.fullmatch(str(value)):
            raise EvaluationError(
                f"The setting {setting!r} of memory {name!r} is {value!r}; it must be a whole number from 1 on."
            )
    return DEFAULT_LIMITS._replace(**{LIMITS[setting]: int(str(value)) for setting, value in settings.items()})


def from_variables(settings: Mapping[str, Setting]) -> dict[str, Any]:
    return {name: from_variable(name, value) for name, value in settings.items()}


def from_variable(name: str, value: Setting) -> Setting:
    """A setting of a memory that is not ours; one that is `$NAME` is in the environment. Raises MemoryFailed."""
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return from_environment(Template(value), what=f"The memory's setting {name}")
    return value


def _check_settings(name: str, factory: Factory, settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The settings by the types of the class's own parameters."""
    hints = get_type_hints(cast(type, factory).__init__, include_extras=True)
    fields = dict[str, Any]()
    for field_name, parameter in signature(factory).parameters.items():
        if parameter.kind == Parameter.KEYWORD_ONLY:
            fields[field_name] = (hints[field_name], parameter.default)
    kind: type[BaseModel] = create_model("Settings", __config__=ConfigDict(extra="forbid"), **fields)
    try:
        return kind.model_validate(dict(settings)).model_dump()
    except ValidationError as error:
        problem = error.errors()[0]
        known = ", ".join([*fields, *MODELS.values()])
        if problem["type"] == "extra_forbidden":
            plain = name.partition("?")[0]
            raise EvaluationError(f"{plain} has no setting {problem['loc'][0]!r}; its settings are: {known}.") from error
        setting, needed = first_problem(error)
        raise EvaluationError(
            f"The setting {setting!r} of memory {name!r} cannot be used, it {needed}; there are {known}."
        ) from error
