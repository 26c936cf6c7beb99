"""Calls without a worker: `python -m tests.cluster.asker FIRST COUNT MAX_TOKENS` asks so many questions at once."""

import asyncio
import sys

from assets.llm.ports import ModelReply
from pipelines.home import home
from pipelines.opening.models import open_models
from tests.pipelines.ledger.ledger_stores import call
from tests.support.small import small_recipe


async def main(first: int, count: int, most_tokens: int) -> None:
    recipe = small_recipe(budget={"max_tokens": most_tokens})
    with open_models(home()) as models:
        chat = models.for_account(recipe).chat
        calls = (chat.complete(call(number)) for number in range(first, first + count))
        replies = await asyncio.gather(*calls, return_exceptions=True)
    print(sum(isinstance(reply, ModelReply) for reply in replies))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:4])))
