"""Records of code questions: decisions around a package, the question, and the accepted task."""

from pydantic import Field

from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeFile, CodePackage
from assets.memory_items.documents import ItemDocument
from assets.memory_items.facts import DocumentPlan, Hop
from assets.memory_items.tasks import MemoryTask, TaskQuestion, TaskRecord


class CodeDecisions(TaskRecord):
    """The chain of a question, and the notes that tell it, what it replaced and what was agreed on beside; none of it in code.

    Values of the relation `outcome` are no decisions: they are what calls came to.
    """

    hops: int = Field(description="how many facts the answer takes")
    chain: tuple[Hop, ...] = Field(description="the facts that the answer takes, in order")
    plans: tuple[DocumentPlan, ...] = Field(description="the notes before they are written")


class CodeQuestion(TaskQuestion):
    """One question; `code`: what of the package is shown with it."""

    code: tuple[ItemDocument, ...] = Field(description="source of the functions that the question may be about")

    @property
    def shown_with_question(self) -> tuple[ItemDocument, ...]:
        return self.code


class PackageTask(MemoryTask):
    """An accepted question, with all that it takes to run its calls again: the package's files and the behaviours told."""

    package: CodePackage = Field(description="the package, pinned")
    files: tuple[CodeFile, ...] = Field(description="the files that the calls take")
    behaviours: tuple[Behaviour, ...] = Field(description="the calls that the notes tell, with their results")


class CodeTask(PackageTask):
    """An accepted question with what of the package is shown with it."""

    code: tuple[ItemDocument, ...] = Field(description="what of the package is shown with the question")

    @property
    def shown_with_question(self) -> tuple[ItemDocument, ...]:
        return self.code
