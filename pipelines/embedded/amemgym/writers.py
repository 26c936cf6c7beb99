"""The function that answers each prompt of AMemGym: of its stages, gates and audits."""

from collections.abc import Callable
from typing import Any

from pipelines.embedded.amemgym import (
    answers,
    events,
    judges,
    noise,
    questions,
    session_queries,
    state_schema,
    state_trajectory,
    user_profiles,
)
from pipelines.embedded.task import PromptTask

WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "user_profiles/complete": user_profiles.write_profile,
    "questions/draft": questions.write_questions,
    "questions/redraft": questions.redraft_questions,
    "state_schema/refine": state_schema.name_variables,
    "state_schema/unify": state_schema.unify_choices,
    "state_schema/check_told": judges.compare_profile,
    "state_schema/check_choices": judges.judge_choices,
    "state_schema/check_pairs": judges.find_pairs,
    "state_schema/check_profile": judges.judge_profile,
    "state_schema/check_questions": judges.judge_questions,
    "state_trajectory/initial": state_trajectory.choose_first_state,
    "state_trajectory/update": state_trajectory.choose_updates,
    "state_trajectory/check": judges.judge_story,
    "state_trajectory/retell": state_trajectory.retell_summary,
    "events/elaborate": events.write_events,
    "events/refine": events.rewrite_event,
    "session_queries/initial": session_queries.write_first_queries,
    "session_queries/update": session_queries.write_update_queries,
    "session_queries/noise": noise.write_noise,
    "session_queries/refine": session_queries.rewrite_query,
    "session_queries/probe": judges.probe_queries,
    "session_queries/check_exposure": judges.judge_exposure,
    "answers/draft": answers.write_variant_answers,
    "answers/refine": answers.rewrite_answer,
    "answers/check": judges.recover_situations,
    "answers/choose": judges.pick_answers,
    "audits/options_only": judges.guess_blindly,
    "audits/question_only": judges.guess_blindly,
    "audits/profile_only": judges.guess_from_profile,
}
