"""Questions to a running Dagster web server, over GraphQL."""

from http import HTTPStatus
from typing import Any

import httpx2

from tests.support.waiting import LONG


class GraphQL:
    """Brings the token of the server's start, as a browser does. `url` has no slash at its end."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/graphql"
        self._client = httpx2.Client(timeout=5 * LONG)

    def ask(self, query: str, *, key: str, **variables: Any) -> dict[str, Any]:
        """Return the value of the query's only field, which has the key."""
        answer = self._client.post(self._url, json={"query": query, "variables": variables})
        if answer.status_code == HTTPStatus.FORBIDDEN and answer.cookies:  # refused, and given the token
            answer = self._client.post(self._url, json={"query": query, "variables": variables})
        (value,) = answer.json()["data"].values()
        if key not in value:
            raise RefusedError(value.get("message") or value["errors"][0]["message"])
        return value


class RefusedError(Exception):
    """What Dagster says of a launch that it refuses."""
