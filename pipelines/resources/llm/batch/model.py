"""The LanguageModel port over batch jobs, at half the price: calls that ask for it are gathered and sent together."""

import asyncio
from weakref import WeakKeyDictionary

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.cache.reply_cache import ReplyStore
from pipelines.resources.llm.batch.dispatcher import BatchPlan, Hall
from pipelines.resources.llm.connection import Lanes


class BatchedModel:
    """Sends what is labelled for it in batch jobs and everything else to the endpoint, from any event loop.

    Raises EndpointError as the endpoint does, and when a line has come back without a reply too often.
    """

    def __init__(self, plan: BatchPlan, *, cache: ReplyStore) -> None:
        self._plan, self._cache = plan, cache
        self._lanes = Lanes(plan.settings)
        self._halls: WeakKeyDictionary[asyncio.AbstractEventLoop, Hall] = WeakKeyDictionary()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply: from a job that was sent earlier, or from the next one."""
        if request.labels.transport != "batch":
            return await self._plan.endpoint.complete(request)
        loop = asyncio.get_running_loop()
        if loop not in self._halls:
            self._halls[loop] = Hall(self._plan, lane=await self._lanes.here())
            await self._plan.book.tidy(self._cache)
        return await self._halls[loop].complete(request)
