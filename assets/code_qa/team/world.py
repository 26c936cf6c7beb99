"""The world of one question: a package as it is, an invented team, calls with their results, and patches that break them."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple, Self

from assets.code_qa.packages.symbols import Function, function_in
from assets.code_qa.packages.vocabulary import CodeVocabulary, code_vocabulary
from assets.code_qa.records.behaviours import Behaviour, CodeBehaviours
from assets.code_qa.records.sources import CodeFile, CodeSources, CodeSymbol
from assets.code_qa.team.calls import TeamCode, is_awkward
from assets.code_qa.team.names import CODE_KINDS, WRITERS, TeamNames
from assets.code_qa.team.relations import (
    COMPARED,
    EXECUTED,
    HELD,
    NOTE_KINDS,
    NOTED,
    OUTCOME,
    QUESTION_KINDS,
    RELATIONS,
    SHOWN,
    STANDINGS,
)
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import PROMPT
from assets.memory_items.facts import DocumentPlan, Hop, Statement, Status
from assets.memory_items.world.occasions import Occasion, read_occasions
from assets.memory_items.world.relations import FactWorld, NameMaker, Relation, numbers_beside, spoken
from assets.recipe.code_qa import PackageRecipe
from assets.recipe.document_tasks import Operation
from assets.text.words import folded, words_of
from prompts.fence import neutralize_brackets

OCCASIONS = read_occasions(Path(__file__).with_name("occasions.yaml"))
TRYING = frozenset(("bug report", "code review", "ticket", "chat"))  # kinds of notes in which people try a call
FEWEST_CALLS = 8  # of different results, below which no note tells of calls
FEWEST_PATCHES = 12  # below which no note tells of patches
MOST_LETTERS = 80  # of a line that is quoted
NO_DOC = "nothing at all"


class TeamWorld(FactWorld):
    """A team's notes on a package. `behaviours` are those that notes may tell."""

    write_prompt = "code_documents/write"
    standings = STANDINGS
    most_tokens = 400
    dated_titles = True
    days = NOTED
    spare_clusters = 3.0
    tells_why = True
    relations = RELATIONS
    document_kinds = NOTE_KINDS
    statuses = ("plain",)  # of two that disagree, the later one counts, unless it is a proposal
    shown_relations = SHOWN

    def __init__(self, sources: CodeSources, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary) -> None:
        self._sources = sources
        self.code = TeamCode.of(sources, behaviours)
        self.vocabulary = vocabulary
        self._calls = {behaviour.call: behaviour for behaviour in self.code.behaviours}
        unknown: set[str] = set()
        if len({folded(behaviour.result.text) for behaviour in self.code.behaviours}) < FEWEST_CALLS:
            unknown.update(("call", "patch"))
        if len(self.code.patches) < FEWEST_PATCHES:
            unknown.add("patch")
        self.relations = [relation for relation in RELATIONS if unknown.isdisjoint((relation.subject, relation.value))]

    @classmethod
    def of(cls, sources: CodeSources, behaviours: CodeBehaviours, recipe: PackageRecipe) -> Self:
        """Return the team of a question."""
        return cls(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))

    def entities(self, path: Sequence[object], taken: Set[str]) -> TeamNames:
        return TeamNames(self.code, self.vocabulary, SeededRandom(*path), taken)

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        if operation in ("since_when", "still_so"):
            known = [relation for relation in self.relations if relation.name in HELD]
            about_code = [relation for relation in known if CODE_KINDS & {relation.subject, relation.value}]
            return [self._path_to(rng.choice(known if hops > 1 else about_code).name, rng, hops)]
        if operation != "which_of_two":
            return [self._path_to(self._draw_end(rng) if hops > 1 else "", rng, hops)]
        compared = [relation for relation in self.relations if relation.name in COMPARED]
        while True:
            amount = rng.choice(compared)
            leading = [relation for relation in self.relations if relation.value == amount.subject and relation.disputed]
            if hops == 2 or leading:
                return [[*rng.sample(leading, hops - 2), amount], [amount]]

    def _path_to(self, end: str, rng: SeededRandom, hops: int) -> list[Relation]:
        """Return relations of which one is about code; the first may be disputed. `end`: the name of the last one, or any."""
        starts = [relation for relation in self.relations if relation.disputed]
        while True:
            path = [rng.choice(starts)]
            while len(path) < hops:
                fitting = [relation for relation in self.relations_of(path[-1].value) if relation not in path]
                if not fitting:
                    break
                path.append(rng.choice(fitting))
            about_code = any(CODE_KINDS & {relation.subject, relation.value} for relation in path)
            is_end = path[-1].name == end if end else path[-1].value != "call"
            if len(path) == hops and about_code and is_end:
                return path

    def _draw_end(self, rng: SeededRandom) -> str:
        """Return the relation that a question of a drawn kind ends in."""
        known = {relation.name for relation in self.relations}
        kinds = [[name for name in names if name in known] for names in QUESTION_KINDS.values()]
        return rng.choice(rng.choice(list(filter(None, [kinds[0], *kinds]))))

    def evidence(self, names: NameMaker, hop: Hop, kind: str) -> tuple[Relation, str] | None:
        """Return the outcome of a call of the function that a note is about, if it is about one and shows none yet.

        A ticket or a patch has no call that goes well beside it: it would read as the one that fails.
        """
        function = hop.subject
        if kind not in TRYING or function not in self.code.functions or hop.relation in SHOWN:
            return None
        call = names.similar_name("call", function)
        return (self.relation(OUTCOME), call) if self.code.function_of(call) == function else None

    def belongs_with(self, relation: Relation, hop: Hop) -> bool:
        """Return False for what names another function than the one that the note is about, if it is about one."""
        about_function = self.code.function_of(hop.subject) or self.code.function_of(hop.value)
        return not about_function or relation.value not in CODE_KINDS or relation.name in EXECUTED

    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        return OCCASIONS.of(relation.name, relation.subject)

    def causes_of(self, relation: Relation, value: str) -> Sequence[str]:
        return OCCASIONS.causes_of(relation.name, value)

    def session(self, statement: Statement) -> str:
        """Return the call as it is typed, and its result, or the traceback whose last line begins with the error's name."""
        call = self._calls.get(statement.subject)
        if call is None:
            return f"{PROMPT}{self.code.patches[statement.subject].behaviour.call}\n{statement.value}"
        frames, _, last = call.result.traceback.rpartition("\n")
        if not last or is_awkward(last):
            return f"{PROMPT}{call.call}\n{statement.value}"
        return f"{PROMPT}{call.call}\n{frames}\n{last}"

    def runs_with(self, statement: Statement) -> Mapping[str, str]:
        return {"applied": statement.subject} if statement.subject in self.code.patches else {}

    def expected(self, statement: Statement) -> str:
        patch = self.code.patches.get(statement.subject)
        return patch.behaviour.result.text if patch else ""

    def material(self, plan: DocumentPlan) -> Mapping[str, str]:
        """A note is signed, dated with the latest day that it speaks of, and quotes the function that it is about, if any."""
        rng = SeededRandom(plan.document_id, "material")
        author, colleague = rng.sample(WRITERS, 2)
        written_on = spoken(max(statement.as_of for statement in plan.statements))
        manner = rng.choice(OCCASIONS.manners[plan.kind])
        people = {"author": author, "colleague": colleague, "written_on": written_on, "manner": manner}
        people["numbers"] = numbers_beside(rng)
        about = [statement for statement in plan.statements if statement.relation not in SHOWN]
        for statement in (*about, *plan.statements):
            # Of a patch the function would hint at what the note leaves out: its edit, and the call that it breaks.
            named = [name for name in (statement.subject, statement.value) if name not in self.code.patches]
            functions = [self.code.function_of(name) for name in named]
            function = next((spoken_name for spoken_name in functions if spoken_name), "")
            if function:
                words = source_words(self._sources, self.code.functions[function])
                code = {"function": f"`{function}`", "signature": words.signature, "docstring": words.doc}
                return {**people, **code, "line": rng.choice(words.lines)}
        return people


def stands_in_code(statement: Statement, world: TeamWorld) -> str:
    """Return what the package's code holds of a decision, by text or syntax tree; empty for nothing.

    A function is no decision; that one function takes another's place is, and then neither may name the other.
    """
    functions = world.code.functions
    for text in (statement.subject, statement.value):
        if text not in functions and "(" not in text and world.vocabulary.has(text):
            return text
    subject = functions.get(statement.subject)
    value = functions.get(statement.value)
    if subject is None or value is None:
        return ""
    named = value.name in subject.source or folded(value.symbol_id) in words_of(subject.source)
    return f"{statement.value} in {statement.subject}" if named else ""


class SourceWords(NamedTuple):
    """Words of a function. `lines` are quoted with their places; there is at least one."""

    signature: str
    doc: str
    lines: tuple[str, ...]


def source_words(sources: CodeSources, symbol: CodeSymbol) -> SourceWords:
    """Return what may be quoted of a function of the sources."""
    file = next(candidate for candidate in sources.files if candidate.path == symbol.path)
    function = function_in(file, symbol.name)
    name = f"`{symbol.name}`"
    # Marks of code would read as code of the note.
    doc = (ast.get_docstring(function) or "").partition("\n")[0].replace("`", "'").strip().removesuffix(".")
    lines = tuple(_deciding_lines(function, file))
    return SourceWords(
        signature=f"`{symbol.signature}`" if _is_plain(symbol.signature) else name,
        doc=f'"{neutralize_brackets(doc)}"' if doc else NO_DOC,
        lines=lines or (f"{name} ({file.path}, line {function.lineno})",),
    )


def _deciding_lines(function: Function, file: CodeFile) -> Iterator[str]:
    """Yield lines of conditions and loops, whose outcome no line alone gives away, each with its place."""
    lines = file.text.split("\n")
    numbers: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While | ast.For):
            numbers.add(node.lineno)
    for number in sorted(numbers):
        line = lines[number - 1].strip()
        if _is_plain(line) and len(line) <= MOST_LETTERS:
            yield f"`{line}` ({file.path}, line {number})"


def _is_plain(text: str) -> bool:
    return "`" not in text and "{" not in text and neutralize_brackets(text) == text
