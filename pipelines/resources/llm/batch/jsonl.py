"""The lines of batch jobs: a request as a line of the input file, and a line of a result file as a reply or a trouble."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import httpx2
import openai
from pydantic import BaseModel, ValidationError

from assets.llm.ports import BATCH_SHARE, ModelReply, ModelRequest
from pipelines.resources.llm.compatibility import Dialect
from pipelines.resources.llm.completion import read_reply
from pipelines.resources.llm.errors import Diagnosis, Trouble

URL = "/v1/chat/completions"
LOST = Trouble("transient", "ended a batch job without an answer to one of its lines")
NOT_DONE = Trouble("transient", "did not get to one of a batch job's lines in time")


class _Response(BaseModel):
    status_code: int
    body: Any = None


class Result(BaseModel):
    """One line of an output or error file."""

    custom_id: str
    response: _Response | None = None

    def reply(self) -> ModelReply | None:
        """The reply, where there is one."""
        if self.response is None or self.response.status_code != 200:
            return None
        reply = read_reply(json.dumps(self.response.body).encode())
        return reply and replace(reply, price_share=BATCH_SHARE)

    def trouble(self, request: ModelRequest, diagnosis: Diagnosis) -> Trouble:
        """What went wrong where there is no reply."""
        if self.response is None:
            return NOT_DONE
        if self.response.status_code == 200:
            return diagnosis.of_strange_answer()
        return diagnosis.of_status(_as_status_error(self.response), request=request)


def input_line(request: ModelRequest, *, custom_id: str, dialect: Dialect) -> str:
    """The request as a line of an input file, without the line's end."""
    line = {"custom_id": custom_id, "method": "POST", "url": URL, "body": dialect.body(request)}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def chunks(lines: Mapping[str, str], *, most_lines: int, most_bytes: int) -> Iterator[dict[str, str]]:
    """The lines by their ids, split so that each part fits into one job."""
    chunk, size = dict[str, str](), 0
    for custom_id, line in sorted(lines.items()):
        length = len(line.encode()) + 1
        if chunk and (len(chunk) >= most_lines or size + length > most_bytes):
            yield chunk
            chunk, size = {}, 0
        chunk[custom_id] = line
        size += length
    if chunk:
        yield chunk


def read_results(files: Iterable[bytes]) -> dict[str, Result]:
    """Results by the ids of their lines. A line that is no result is left out, and so counts as lost."""
    found: dict[str, Result] = {}
    for content in files:
        for row in content.split(b"\n"):
            try:
                result = Result.model_validate_json(row)
            except ValidationError:
                continue
            found[result.custom_id] = result
    return found


def _as_status_error(response: _Response) -> openai.APIStatusError:
    """The error that the client would have raised for the same answer to a call of its own."""
    body: object = response.body
    error = cast(dict[str, object], body).get("error") if isinstance(body, dict) else None
    answer = httpx2.Response(response.status_code, request=httpx2.Request("POST", f"http://batch{URL}"))
    return openai.APIStatusError("", response=answer, body=error)
