"""Plays the user who goes on with a chat: a natural next message that gives nothing about the person away."""

import re

from pipelines.embedded.task import Task

WHEN_ASKED = (
    "Hard to say right now, so please go with whatever you would usually recommend.",
    "I would rather leave that open for the moment. What would you do first in general?",
    "No strong feelings either way. Could you just pick one and tell me why?",
    "I haven't made up my mind about that. What are the usual options?",
    "Let's keep it simple. Which version would you start with?",
)
ONWARD = (
    "Thanks, that helps. Which of these would you start with?",
    "Could you explain the first step in a bit more detail?",
    "What do people usually get wrong with this?",
    "Is there an alternative in case that doesn't work out?",
    "How will I notice whether it is working?",
    "That makes sense. What would come after that?",
    "How long should I give it before I judge the result?",
    "Could you put that into a short checklist for me?",
    "Interesting, I hadn't thought of it that way. Can you give me an example?",
    "What should I look out for along the way?",
    "If I could only do one of these things, which would matter most?",
    "Can you tell me why that works?",
    "Good to know. Is there anything I should prepare beforehand?",
    "How often would you come back to this?",
)


def follow_up(task: Task) -> str:
    """The next message; nothing that was said before, as long as there is something new to say."""
    said = task.text("conversation")
    asked = re.search(r"\?[\s\"'}\]]*$", said) is not None
    lines = WHEN_ASKED if asked else ONWARD
    return task.rng("follow_up").choice([line for line in lines if line not in said] or list(lines))
