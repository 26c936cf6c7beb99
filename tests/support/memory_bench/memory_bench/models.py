"""What a data set gives: documents."""

from dataclasses import dataclass


@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, str]] | None = None
    timestamp: str | None = None
    context: str | None = None
