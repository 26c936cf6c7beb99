"""Whose reply it is: of the asked model and to this request, or of another, as some gateways mix them up."""

import re
from collections import defaultdict

from assets.llm.ports import ModelRequest
from pipelines.resources.llm.errors import Misplaced

UNIQUE_ID = 24  # letters of an id that no other reply has; shorter ones are counted, or drawn from a few
FALLBACKS = "models"  # the field by which some gateways are told of further models
# If half of the replies were another model's, one of 256 endpoints would show that name alone. Each costs one more reply.
ENOUGH_NAMES = 8
VERSION = re.compile(r"(?:[-@:._](?:v?\d{2,8}|v\d|preview|exp|free|fp8|fp16|bf16|awq|gptq|q\d\w*))+$")


class ReplyOrigins:
    """What replies say of their origin: to which request they are, by their id, and which model wrote them.

    Some endpoints always give a name of their own, as of a deployment's model. It counts after `ENOUGH_NAMES` replies, none of
    which bore the asked name: alone where all of these bore it, else like any other, as of a router.
    """

    def __init__(self) -> None:
        self._requests: dict[str, int] = {}
        self._counting: dict[str, set[str]] = {}  # names that count beside the asked one; none once a reply has borne that
        self._doubtful: defaultdict[str, list[str]] = defaultdict(list)

    def find_misplaced(self, request: ModelRequest, *, reply_id: object, model: object) -> Misplaced | None:
        """Return what is wrong with a reply of this id and model; None where nothing is, or nothing can be told."""
        if isinstance(reply_id, str) and len(reply_id) >= UNIQUE_ID:
            asked = hash((request.model, request.messages))
            if self._requests.setdefault(reply_id, asked) != asked:
                return Misplaced("with the reply to another request")
        return None if FALLBACKS in request.extra_body else self.find_other_model(request.model, model)

    def find_other_model(self, asked: str, named: object) -> Misplaced | None:
        """Return what is wrong with a reply that bears this name; None where it is the asked model's, or bears none."""
        if not isinstance(named, str) or not named:
            return None
        if _is_same_model(asked, named):
            self._counting[asked] = set()
            return None
        problem = f"with the model {named!r} in the place of {asked!r}"
        if asked not in self._counting:
            self._doubtful[asked].append(named)
            if len(self._doubtful[asked]) < ENOUGH_NAMES:
                return Misplaced(problem, doubtful=True)
            self._counting[asked] = set(self._doubtful[asked])
        counting = self._counting[asked]
        return None if named in counting or len(counting) > 1 else Misplaced(problem)


def _is_same_model(asked: str, named: str) -> bool:
    """Return True where one name is the other with a maker before it or a version behind it; a size makes another model."""
    asked, named = (name.lower().rpartition("/")[2].removesuffix(":latest").removesuffix("-latest") for name in (asked, named))
    return asked == named or VERSION.sub("", asked) == named or VERSION.sub("", named) == asked
