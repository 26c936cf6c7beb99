"""A copy of a package that an agent reads, searches, edits and runs: files in memory, and calls in the sandbox.

Nothing is edited beside the copy, and nothing is run outside the sandbox. What cannot be done is told in a sentence.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from assets.code_qa.execution.sandbox import CalledFunction, CallReport, run_calls
from assets.code_qa.packages.examples import canonical_arguments
from assets.code_qa.records.sources import CodeFile
from assets.code_repair.records import HiddenCall, Repair, RepairIssue, RepairTask
from assets.recipe.code_qa import SandboxLimits
from assets.tool_dialogue.company import REFUSED, Call, CallRefused, ToolDescription

READ = "read_file"
SEARCH = "search"
EDIT = "edit"
RUN = "run"
RULES = (
    "You repair a Python package. Its files are a copy: read and search it, edit it, and run calls of functions in a sandbox.",
    "A rule that the team settled in an earlier session decides between repairs that both look right. Where sessions disagree, "
    "what was signed off counts, then what is more than a proposal, and then the latest date.",
    "Other calls, which you do not see, will be made of your copy. Finish when it is repaired.",
)
HASH_SEED = 1
MOST_FOUND = 40  # lines of a search
MOST_SHOWN = 6_000  # characters of a file, from the line that was asked for
ENDS: Mapping[str, str] = {
    "no_literal": "returns something that is no literal",
    "too_long": "returns a result that is too long to be shown",
    "too_slow": "ran too long and was ended",
    "refused": "tried what the sandbox does not allow",
    "died": "ended without a result",
}
TEXT = {"type": "string"}


def assertion(function: str, arguments: Sequence[str], result: str) -> str:
    """Return what a call comes to as an assertion, with the function's own name alone."""
    return f"{function.rpartition('.')[2]}({', '.join(arguments)}) == {result}"


@dataclass
class PackageCopy:
    """One copy of the package of a repair, as a world in which an agent acts.

    `remembers`: what a call came to on the same files in this process is not run again.
    """

    task: RepairTask | RepairIssue
    remembers: bool = False
    texts: dict[str, str] = field(init=False)
    edited: bool = False

    def __post_init__(self) -> None:
        self.texts = {file.path: file.text for file in self.repair.files}

    @property
    def repair(self) -> Repair:
        return self.task.repair

    @property
    def rules(self) -> str:
        listed = "\n".join(f"- {line}" for line in RULES)
        paths = "\n".join(f"- {path}" for path in self.texts)
        return f"{listed}\nFiles:\n{paths}"

    @property
    def opening(self) -> str:
        return self.task.question

    @property
    def ended(self) -> bool:
        return False

    @property
    def tools(self) -> list[ToolDescription]:
        path = {"path": {**TEXT, "description": "a path of the copy"}}
        line = {"line": {**TEXT, "description": "the first line to show, from 1"}}
        texts = {
            "old": {**TEXT, "description": "a text that is there once"},
            "new": {**TEXT, "description": "the text instead"},
        }
        call = {"call": {**TEXT, "description": "a call with literals, such as package.module.function('a', 2)"}}
        return [
            ToolDescription(READ, "Shows a file from a line on.", {**path, **line}, ("path",), writes=False),
            ToolDescription(SEARCH, "Finds lines that hold a text.", {"text": TEXT}, ("text",), writes=False),
            ToolDescription(
                EDIT, "Puts a text in the place of another in a file.", {**path, **texts}, ("path", "old", "new"), writes=True
            ),
            ToolDescription(RUN, "Runs a call on the copy, and shows what it comes to.", call, ("call",), writes=False),
        ]

    def writes(self, tool: str) -> bool:
        """Return True for the tool that changes the copy."""
        return tool == EDIT

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Call a tool, and return what it gives back, or a sentence where it refuses."""
        tools: dict[str, Callable[[Mapping[str, str]], str]] = {
            READ: self._read,
            SEARCH: self._search,
            EDIT: self._edit,
            RUN: self._run,
        }
        try:
            if tool not in tools:
                raise CallRefused(f"there is no tool {tool!r}; there are {', '.join(tools)}.")
            return tools[tool](arguments)
        except CallRefused as refused:
            return f"{REFUSED}{refused}"
        except KeyError as missing:
            return f"{REFUSED}{tool} takes the argument {missing}."

    def say(self, text: str) -> str:
        """Nobody answers in words."""
        return "Nobody is there to answer; go on with the tools, or finish."

    @property
    def written(self) -> str:
        """The assertion that now holds of the failing call; "" where nothing was edited, or no assertion holds."""
        if not self.edited:
            return ""
        (report,) = self._reports([self.repair.arguments])
        held = assertion(self.repair.function, self.repair.arguments, report.text)
        # The settled one is said of copies alone that pass.
        return held if report.status == "returns" and held != self.repair.rule else ""

    @property
    def failed_by(self) -> str:
        """Return why the copy is not repaired, "" where it is: all hidden calls come to what they have to."""
        if not self.edited:
            return "nothing was edited"
        hidden = self.repair.hidden
        for one, report in zip(hidden, self._reports([call.arguments for call in hidden]), strict=True):
            if (report.status, report.text) != (one.status, one.text):
                return f"{assertion(self.repair.function, one.arguments, one.text)} does not hold"
        return ""

    def close(self) -> None:
        """Nothing is held open."""

    def _text(self, path: str) -> str:
        if path not in self.texts:
            raise CallRefused(f"{path!r} is no file of the copy; there are {', '.join(self.texts)}.")
        return self.texts[path]

    def _read(self, arguments: Mapping[str, str]) -> str:
        lines = self._text(arguments["path"]).split("\n")
        first = arguments.get("line") or "1"
        if not first.isdecimal() or not 1 <= int(first) <= len(lines):
            raise CallRefused(f"line is {first!r}; give a number from 1 to {len(lines)}.")
        return "\n".join(lines[int(first) - 1 :])[:MOST_SHOWN]

    def _search(self, arguments: Mapping[str, str]) -> str:
        found: list[str] = []
        for path, text in self.texts.items():
            for number, line in enumerate(text.split("\n"), start=1):
                if arguments["text"] and arguments["text"] in line:
                    found.append(f"{path}:{number}: {line}")
        return "\n".join(found[:MOST_FOUND]) or "Nothing is found."

    def _edit(self, arguments: Mapping[str, str]) -> str:
        path, old = arguments["path"], arguments["old"]
        text = self._text(path)
        count = text.count(old) if old else 0
        if count != 1:
            raise CallRefused(f"old is there {count} times in {path}; give a text that is there once.")
        changed = text.replace(old, arguments["new"])
        try:
            ast.parse(changed)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CallRefused(f"{path} would be no Python any more: {type(error).__name__}.") from error
        self.texts[path] = changed
        self.edited = True
        return f"{path} is edited."

    def _run(self, arguments: Mapping[str, str]) -> str:
        """Make a call as one writes it. What it comes to is told as an assertion."""
        try:
            node = ast.parse(arguments["call"], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            node = None
        if not isinstance(node, ast.Call):
            raise CallRefused("call is no call of a function.")
        given = canonical_arguments(node)
        module, _, name = ast.unparse(node.func).rpartition(".")
        if given is None:
            raise CallRefused("an argument is no literal.")
        if module not in {file.module for file in self.repair.files} or not name.isidentifier():
            raise CallRefused(f"{module!r} is no module of the copy; write package.module.function(...).")
        (report,) = self._reports([given], module=module, name=name)
        if report.status == "returns":
            return assertion(name, given, report.text)
        if report.status == "raises":
            return report.traceback or f"It raises {report.text}."
        if report.status == "unimportable":
            return f"The module cannot be imported: {report.text}."
        return f"It {ENDS[report.status]}."

    def _reports(self, calls: Sequence[tuple[str, ...]], *, module: str = "", name: str = "") -> list[CallReport]:
        """Make calls of a function on the copy as it is now; of the one at fault unless another is named. Blocks."""
        if not module:
            module, _, name = self.repair.function.rpartition(".")
        files = tuple(file.model_copy(update={"text": self.texts[file.path]}) for file in self.repair.files)
        made = _remembered_reports if self.remembers else _made_reports
        return made(files, self.repair.limits, module, name, tuple(calls))


def _made_reports(
    files: tuple[CodeFile, ...], limits: str, module: str, name: str, calls: tuple[tuple[str, ...], ...]
) -> list[CallReport]:
    called = CalledFunction(module=module, name=name, calls=calls)
    (reports,) = run_calls([called], files=files, limits=SandboxLimits.model_validate_json(limits), hash_seed=HASH_SEED)
    return reports


_remembered_reports = lru_cache(maxsize=512)(_made_reports)


def graded_call(arguments: tuple[str, ...], report: CallReport) -> HiddenCall | None:
    """Return the call as one that grades; None for one that comes to nothing which can be compared."""
    if report.status == "returns" or (report.status == "raises" and report.own):
        return HiddenCall(arguments=arguments, status=report.status, text=report.text)
    return None


def next_step(issue: "ReadIssue", rule: str, done: Sequence[tuple[Call, str]]) -> Call | None:
    """Return the next call of the program that repairs: it tries the first patch, and keeps the one with which the rule holds.

    Without a rule ("") it takes the first patch: a guess.
    """
    run = Call(tool=RUN, arguments={"call": issue.call})
    (first_old, first_new), (second_old, second_new) = issue.patches
    steps = [issue.edit(first_old, first_new)]
    if rule:
        steps += [run, issue.edit(first_new, first_old), issue.edit(second_old, second_new)]
    if len(done) == 2 and done[1][1].strip() == rule:
        return None
    return steps[len(done)] if len(done) < len(steps) else None


@dataclass(frozen=True)
class ReadIssue:
    """What a program reads in an issue: function, path, failing call, old and new text of both patches, and the ticket."""

    function: str
    path: str
    call: str
    patches: Sequence[tuple[str, str]]
    ticket: str = ""

    def edit(self, old: str, new: str) -> Call:
        return Call(tool=EDIT, arguments={"path": self.path, "old": old, "new": new})


def repair_by_program(copy: PackageCopy, rule: str) -> None:
    """Let the program that repairs act with this rule."""
    repair = copy.repair
    issue = ReadIssue(repair.function, repair.path, repair.call, [(one.old, one.new) for one in repair.patches])
    done: list[tuple[Call, str]] = []
    while True:
        call = next_step(issue, rule, done)
        if call is None:
            return
        done.append((call, copy.call(call.tool, call.arguments)))
