"""Records of a code repair: the seeded fault with both patches, the issue, and the accepted task."""

from typing import Literal

from pydantic import Field

from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeFile, CodePackage
from assets.memory_items.facts import DocumentPlan, Fact, Hop
from assets.memory_items.tasks import MemoryTask, TaskQuestion, TaskRecord
from assets.records.answers import TypedAnswer
from assets.records.base import Name, Record, Text


class Patch(Record):
    """A change of one place of a file: a text that is there once, and the text in its place."""

    old: str = Field(description="the lines that are there")
    new: str = Field(description="the lines in their place")
    rule: Text = Field(description="the assertion of the failing call that then holds")


class HiddenCall(Record):
    """A call that grades a repair: literals in order, and what has to come of it."""

    arguments: tuple[Text, ...] = Field(description="literals, in order; keywords as name=literal")
    status: Literal["returns", "raises"] = Field(description="returns or raises")
    text: str = Field(description="the literal that it returns, or the name of the exception")


class Repair(Record):
    """A package with a fault, two patches that both look right, and the calls that grade. Only one patch passes them."""

    package: CodePackage = Field(description="the package, pinned")
    function: Name = Field(description="the function at fault")
    path: Name = Field(description="the file in which it is")
    files: tuple[CodeFile, ...] = Field(description="the package's files that its calls take, with the fault")
    arguments: tuple[Text, ...] = Field(description="literals of the failing call")
    fails_with: Text = Field(description="what the failing call comes to")
    patches: tuple[Patch, ...] = Field(min_length=2, max_length=2, description="both patches, in the order of the issue")
    settled: int = Field(ge=0, le=1, description="the place of the patch that the team settled on")
    hidden: tuple[HiddenCall, ...] = Field(description="calls that have to come to the same as with the settled patch")
    limits: Text = Field(description="limits at which a call is ended, as JSON")

    @property
    def call(self) -> str:
        """The failing call as one writes it."""
        return f"{self.function}({', '.join(self.arguments)})"

    @property
    def rule(self) -> str:
        """The assertion that the team settled on."""
        return self.patches[self.settled].rule


class SeededFault(TaskRecord):
    """A fault that was found by running, and the sessions of a team that have to be told."""

    repair: Repair = Field(description="the fault, both patches, and the calls that grade")
    equivalent: int = Field(description="changed functions that were thrown away, because every call came to the same")
    rival_first: bool = Field(description="whether what does not count comes first where sessions disagree")
    behaviours: tuple[Behaviour, ...] = Field(description="calls that sessions may tell, with their results")
    chain: tuple[Hop, ...] = Field(description="the rule that the repair takes")
    plans: tuple[DocumentPlan, ...] = Field(description="the sessions before they are told")


class RepairIssue(TaskQuestion):
    """The issue in words, and the fault that it is about."""

    repair: Repair = Field(description="the fault, both patches, and the calls that grade")

    @property
    def also_certified(self) -> str:
        return self.repair.model_dump_json()


Form = Literal["decision", "failed_path", "convention", "still_so"]


class SessionQuestion(Record):
    """A question about the sessions of a repair, which no agent acts on. Its key follows from what they tell."""

    form: Form = Field(description="decision, failed_path, convention or still_so")
    question: Text = Field(description="the question, with the rule that settles contradictions")
    answer: TypedAnswer = Field(description="the key, its kind, and a wrong answer where the sessions tell one")
    hops: tuple[Fact, ...] = Field(description="the facts that the answer takes")


class RepairTask(MemoryTask):
    """An accepted repair: an agent gets the issue and a copy of the package, and hidden calls grade the copy."""

    repair: Repair = Field(description="the fault, both patches, and the calls that grade")
    questions: tuple[SessionQuestion, ...] = Field(description="questions about the same sessions, one of a form at most")

    @property
    def also_certified(self) -> str:
        return self.repair.model_dump_json()
