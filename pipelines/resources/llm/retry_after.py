"""How long a service asks to be left alone, read from the headers of its answer (Retry-After and its relatives)."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
RESET = "x-ratelimit-reset"


def retry_after_seconds(headers: Mapping[str, str], *, limited: bool) -> float:
    """Seconds to wait, 0 without a hint. `headers` ignores case, as httpx2.Headers does.

    `limited`: the answer says that a rate limit is used up; only then do the headers that describe limits matter.
    """
    if "retry-after-ms" in headers:
        return parse_duration(headers["retry-after-ms"] + "ms")
    if "retry-after" in headers:
        return parse_duration(headers["retry-after"])
    if not limited:
        return 0.0
    # Providers send one reset per limit, also for limits that are not used up: only those count, where they are known.
    resets = {name.lower(): parse_duration(value) for name, value in headers.items() if name.lower().startswith(RESET)}
    used_up = [wait for name, wait in resets.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(used_up) if used_up else min(resets.values(), default=0.0)


def parse_duration(text: str) -> float:
    """A duration ("2", "1m30.5s", "20ms"), a point in time (seconds or milliseconds since 1970) or an HTTP date."""
    text = text.strip().lower()
    if PART.sub("", text) == "":
        return sum(float(amount) * UNITS[unit] for amount, unit in PART.findall(text))
    if re.fullmatch(r"\d+(\.\d+)?", text):
        number = float(text)
        moment = number / 1000 if number > 1e12 else number
        return max(0.0, moment - time.time()) if moment > 1e9 else number
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
