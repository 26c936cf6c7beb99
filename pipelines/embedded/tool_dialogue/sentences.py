"""How this model words and reads requests."""

import re

GREETINGS = ("Hello, this is {customer}.", "Good day, my name is {customer}.", "Hello {company}, {customer} here.")
WISHES = ("I would like to {wants}.", "Please arrange for me to {wants}.", "Could somebody help me to {wants}?")
STATED = ("As to {label}: {value}.", "For {label} I want this: {value}.")
SETTLED = ("All else is as we settled it.", "The rest you know from earlier.", "For everything else what we agreed on holds.")
ASKED = ("And tell me {label} that we agreed on.", "I forgot {label}, please remind me.", "Which was {label} again?")
CLOSES = ("Thank you.", "Many thanks in advance.", "That is all for now.")


def pattern_of(frame: str) -> re.Pattern[str]:
    """Return the pattern of a frame, with a group for each of its slots, none of which goes beyond a sentence."""
    parts = re.split(r"\{(\w+)\}", frame)
    words = [f"(?P<{part}>[^.:?]+?)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    return re.compile("".join(words))


GREETING_PATTERNS = tuple(map(pattern_of, GREETINGS))
WISH_PATTERNS = tuple(map(pattern_of, WISHES))
STATED_PATTERNS = tuple(map(pattern_of, STATED))
