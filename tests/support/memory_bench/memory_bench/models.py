"""What a data set gives: documents and questions."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, str]] | None = None
    timestamp: str | None = None
    context: str | None = None


@dataclass
class Query:
    id: str
    query: str
    gold_ids: list[str]
    gold_answers: list[str]
    user_id: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class AnswerResult:
    answer: str
    reasoning: str
    context: str
    retrieve_time_ms: float
    raw_response: dict[str, Any] | None = None


@dataclass
class QueryResult:
    query_id: str
    answer: str
    correct: bool
    category_axes: dict[str, list[str]]


@dataclass
class EvalSummary:
    total_queries: int
    correct: int
    ingested_docs: int
    results: list[QueryResult]
