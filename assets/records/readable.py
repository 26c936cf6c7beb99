"""Characters that no text may hold: one rule for replies of models, for personas, for stored records and for the last check.

The suites in `validation/expectations/gx` name those that models are known to write; a test holds the two together.
"""

import json
import re
from typing import cast

# Controls but for tabs and line ends, halves of characters, what stands for a lost character, and what Unicode keeps for none.
UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffd-\uffff]")
# As JSON spells such characters; after a backslash that is itself escaped the same letters are harmless.
ESCAPED = re.compile(r"\\(?:[bf]|u00[01]|u007[fF]|u[dD][89a-fA-F]|u[fF]{3}[d-fD-F])")

# Escape sequences, and C0 and C1 controls but tabs and line ends.
TERMINAL_CONTROLS = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    """Return the text without what steers a terminal: it may be of anybody, and is to be read."""
    return TERMINAL_CONTROLS.sub("", text)


def unreadable_in(value: object) -> str:
    """Return the code of the first such character in the texts of a JSON value, such as "U+0000"; "" where there is none."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found = UNREADABLE.search(part)
            if found is not None:
                return f"U+{ord(found[0]):04X}"
        elif isinstance(part, dict):
            for key, inner in cast(dict[str, object], part).items():
                waiting += (inner, key)
        elif isinstance(part, list | tuple):
            waiting += cast(list[object], part)
    return ""


def is_readable_json(text: str) -> bool:
    """Return whether no text in a JSON document has such a character, written as it is or escaped."""
    if UNREADABLE.search(text) is not None:
        return False
    return ESCAPED.search(text) is None or not unreadable_in(json.loads(text))
