"""The embedded model's one entry: a task in, the reply's text out."""

import json
from collections.abc import Callable
from typing import Any

from pipelines.embedded.amemgym import (
    annotators,
    answers,
    audit_judges,
    events,
    judges,
    questions,
    session_queries,
    state_schema,
    state_trajectory,
    user_profiles,
)
from pipelines.embedded.assistant import assistant, policies
from pipelines.embedded.assistant.follow_ups import follow_up
from pipelines.embedded.task import PLAIN_CHAT, Task

WRITERS: dict[str, Callable[[Task], Any]] = {
    "user_profiles/complete": user_profiles.complete,
    "questions/draft": questions.draft,
    "state_schema/refine": state_schema.refine,
    "state_schema/unify": state_schema.unify,
    "state_trajectory/initial": state_trajectory.initial,
    "state_trajectory/update": state_trajectory.update,
    "events/elaborate": events.elaborate,
    "session_queries/initial": session_queries.initial,
    "session_queries/update": session_queries.update,
    "session_queries/refine": session_queries.refine,
    "session_queries/check_exposure": judges.check_exposure,
    "answers/draft": answers.draft,
    "answers/refine": answers.refine,
    "answers/check": judges.check_answer,
    "answers/choose": judges.choose_answer,
    "audits/options_only": audit_judges.guess_blindly,
    "audits/question_only": audit_judges.guess_blindly,
    "audits/profile_only": audit_judges.guess_from_profile,
    "evaluation/follow_up": follow_up,
    "evaluation/improve_policy": policies.improve,
    "evaluation/check_memory": policies.check_memory,
    "annotation/rate_exposure": annotators.rate_exposure,
    "annotation/rate_integrity": annotators.rate_integrity,
    "annotation/choose_truth": judges.choose_answer,
    PLAIN_CHAT: assistant.reply,
}


def answer(task: Task) -> str:
    """The reply's text. Raises ValueError when the prompt lacks what its name promises."""
    reply = WRITERS.get(task.name, assistant.reply)(task)
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
