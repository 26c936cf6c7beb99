"""A release as a data set of the Agent Memory Benchmark (vectorize-io/agent-memory-benchmark), which ingests first.

An export holds a copy of this file, which needs nothing but the harness: in its clone, `uv run python EXPORT/harness.py run
--dataset amemgym --split all --memory bm25` is its own command `omb`, with this data set beside its own.

Its runner ingests all documents of a namespace before it asks. So the namespace of a question is its user and period, and each
namespace gets the documents until that period. It asks for the letter of an option. On documents in turns answers are mostly
free: all questions are asked openly then, and what is read with one stands in it.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase
from typing import Any

NAME = "amemgym"
PROMPT = """\
Below are memories of what one user said, with the time of each where it is known, and a question with the options \
({letters}) from which one has to be chosen. Where memories contradict each other, the latest before the time of the question \
holds. Choose the option that fits what the memories say about this user, and no other knowledge.

<memories>
{context}
</memories>

<question>
{query}
</question>

Think about which option fits, then give its letter alone as the choice.\
"""


def _read(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def _lettered(one: Mapping[str, Any]) -> list[str]:
    """Return the options, each behind its letter. Raises ValueError where there are more than letters."""
    options: Sequence[str] = one["options"]
    if len(options) > len(ascii_lowercase):
        raise ValueError(f"Question {one['id']} has {len(options)} options, and the harness reads one letter.")
    return [f"({letter}) {text}" for letter, text in zip(ascii_lowercase, options, strict=False)]


def _asked(one: Mapping[str, Any], *, chosen: bool) -> str:
    lines = [f"Time of the question: {one['at']}"] if one.get("at") else []
    lines += [*one["shown"], one["query"]]
    if chosen:
        lines += _lettered(one)
    return "\n".join(lines)


def _right(one: Mapping[str, Any], *, chosen: bool) -> list[str]:
    """Return what counts as right: the option and its letter, of which the harness compares the first letter."""
    if not chosen:
        return [one["gold_answer"]]
    place: int = one["gold_option"]
    return [_lettered(one)[place], ascii_lowercase[place]]


def _space(one: Mapping[str, Any]) -> str:
    return f"{one['user_id']}@{one['period']}"


def _category(one: Mapping[str, Any]) -> str:
    return one.get("category") or f"period {one['period']}"


class ExportedFiles:
    """The files of `amemgym export` as records of the harness. `chosen`: one of the options is asked for."""

    def __init__(self, folder: Path) -> None:
        self.models = import_module("memory_bench.models")
        self.documents = _read(folder / "documents.jsonl")
        self.questions = _read(folder / "questions.jsonl")
        # One task type for the whole set: where an answer is free, all are.
        self.chosen = all(one["options"] for one in self.questions)

    def of_category(self, category: str | None) -> list[dict[str, Any]]:
        """Return the questions of a category, or all of them."""
        return [one for one in self.questions if category in (None, _category(one))]

    def query(self, one: Mapping[str, Any]) -> Any:
        """Return a question, in the namespace of its user and period."""
        meta = {"retrieval_query": one["query"], "category": _category(one), "user_id": _space(one)}
        if one.get("at"):
            meta["query_timestamp"] = one["at"]
        if self.chosen:
            meta["letters"] = ", ".join(ascii_lowercase[: len(one["options"])])
        return self.models.Query(
            id=one["id"],
            query=_asked(one, chosen=self.chosen),
            gold_ids=[f"{document}@{one['period']}" for document in one["gold_document_ids"]],
            gold_answers=_right(one, chosen=self.chosen),
            user_id=_space(one),
            meta=meta,
        )

    def documents_before(self, asked: Mapping[str, Any], *, ids: Collection[str] | None) -> list[Any]:
        """Return what its user had said or read before a question; of that the documents of these ids, or all.

        A document of an early period stands in every later namespace of its user, under a name of its own.
        """
        found = list[Any]()
        for one in self.documents:
            name = f"{one['id']}@{asked['period']}"
            is_seen = one["user_id"] == asked["user_id"] and one["period"] <= asked["period"]
            if is_seen and (not ids or name in ids):
                found.append(self._document(one, name=name, space=_space(asked)))
        return found

    def _document(self, one: Mapping[str, Any], *, name: str, space: str) -> Any:
        # The time stands in the text too: of a document the harness shows readers nothing else.
        content = f"[{one['at']}] {one['text']}" if one["at"] else one["text"]
        messages = [{"role": "user", "content": content}]
        return self.models.Document(id=name, content=content, user_id=space, messages=messages, timestamp=one["at"] or None)


def benchmark_dataset(folder: Path) -> Any:
    """A `memory_bench.dataset.base.Dataset` over the files of `amemgym export`. Needs the package `memory_bench`."""
    base = import_module("memory_bench.dataset.base")
    files = ExportedFiles(folder)

    class ExportedRelease(base.Dataset):
        """The questions, with a namespace for each user and period."""

        name = NAME
        description = "A release of amemgym-synth, ingested first"
        splits = ["all"]  # noqa: RUF012 - the harness reads an attribute of the class
        task_type = "mcq" if files.chosen else "open"
        isolation_unit = "user and period"

        def categories(self, split: str) -> list[str]:
            return list(dict.fromkeys(map(_category, files.questions)))

        def load_queries(self, split: str, category: str | None = None, limit: int | None = None) -> list[Any]:
            return list(map(files.query, files.of_category(category)[:limit]))

        def load_documents(
            self,
            split: str,
            category: str | None = None,
            limit: int | None = None,
            ids: set[str] | None = None,
            user_ids: set[str] | None = None,
        ) -> list[Any]:
            spaces = {_space(one): one for one in files.of_category(category)}
            wanted = list[Any]()
            for space, asked in spaces.items():
                if not user_ids or space in user_ids:
                    wanted += files.documents_before(asked, ids=ids)
            return wanted[:limit]

        def build_rag_prompt(
            self,
            query: str,
            context: str,
            task_type: str,
            split: str,
            category: str | None = None,
            meta: Mapping[str, Any] | None = None,
        ) -> str:
            if task_type != "mcq":
                parent: Any = super()
                return parent.build_rag_prompt(query, context, task_type, split, category, meta)
            return PROMPT.format(letters=(meta or {}).get("letters", "a to z"), context=context, query=query)

        def dataset_stats(self, console: Any, **_: object) -> None:
            units = len(set(map(_space, files.questions)))
            console.print(f"{len(files.documents)} documents, {len(files.questions)} questions in {units} units")

    return ExportedRelease()


def main() -> None:
    """Be the harness's own command, with the export in which this file lies among its data sets."""
    registry: dict[str, Any] = import_module("memory_bench.dataset").REGISTRY
    registry[NAME] = lambda: benchmark_dataset(Path(__file__).parent)
    import_module("memory_bench.cli").app()


if __name__ == "__main__":
    main()
