"""The program that runs verifiers inside the boundary, where they have no network: their `requests` is a module made here.

The job is JSON: `verifiers`, each with name and source; the state, and the seconds that each has. A line answers for each: null
for none, or a list of true, false or null, which is for a verifier that wants more than the state, and of what was said.
"""

import json
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it runs where this project is not to be seen
    from assets.isolation.confine import Boundary, Tell

URL = "http://127.0.0.1"
MEMORY_MB = 512
MOST_MESSAGE = 300  # characters


class NotTheState(BaseException):
    """A verifier asks for something else; no `except Exception` of its own hides that."""


def main(boundary: "Boundary") -> None:
    job = boundary.job
    seconds = job["seconds"]
    for verifier in job["verifiers"]:
        verify = _work_of(verifier, job["state"])
        outcome = boundary.run(verify, most_lines=1, memory_mb=MEMORY_MB, silent=(seconds, seconds), seconds=seconds)
        boundary.answer(outcome.lines[0] if outcome.lines else b"null")


def _work_of(verifier: dict[str, str], state: str) -> "Callable[[Tell], None]":
    """Return the work of a sealed child: ask a verifier about the state."""

    def verify(tell: "Tell") -> None:
        sys.modules["requests"] = _requests(state)
        names: dict[str, Any] = {"__name__": "verifier"}
        try:
            exec(compile(verifier["source"], verifier["name"], "exec"), names)  # noqa: S102
            passed, message = names["verify"](URL)
        except NotTheState as other:
            passed = None
            message = other
        except Exception as error:  # noqa: BLE001 - anything may come out of foreign code
            # As WebArena-Infinity counts it: most often the state lacks what the verifier looks for.
            passed = False
            message = f"the verifier raised {type(error).__name__}: {error}"
        answer = [passed if passed is None else bool(passed), str(message)[:MOST_MESSAGE]]
        tell(json.dumps(answer).encode())

    return verify


def _requests(state: str) -> ModuleType:
    """Return a module that gets the state and nothing else."""

    def get(url: str, **_: object) -> SimpleNamespace:
        if url != f"{URL}/api/state":
            raise NotTheState(f"it asks for {url}, and there is the state alone")
        return SimpleNamespace(
            status_code=200, ok=True, text=state, json=lambda: json.loads(state), raise_for_status=lambda: None
        )

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotTheState(f"it uses requests.{name}, and there is requests.get alone")

    module = ModuleType("requests")
    vars(module).update(get=get, __getattr__=missing)
    return module
