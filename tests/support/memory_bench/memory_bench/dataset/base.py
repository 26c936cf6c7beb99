"""What a data set says of itself, where it says nothing else."""

from typing import Any

from memory_bench.models import Document


class Dataset:
    name = ""
    task_type = "open"
    isolation_unit: str | None = None

    def get_isolation_id(self, doc: Document) -> str | None:
        return doc.user_id

    def build_rag_prompt(
        self,
        query: str,
        context: str,
        task_type: str,
        split: str,
        category: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> str:
        return f"{context}\n\n{query}"

    def get_result_categories(self, meta: dict[str, Any]) -> dict[str, list[str]]:
        found = meta.get("category")
        return {"Category": [found]} if found else {}
