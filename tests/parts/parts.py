"""The parts of the house that can be taken away, as patterns of paths; whatever lies in a folder goes with it.

Entry points are not listed: those whose module is gone go too. What several tracks share goes with the last of them. A test
that looks at two parts goes with either.
"""

from collections.abc import Mapping
from itertools import chain

# Their worked example is a task of deep research.
ABOUT_DOCUMENTS = (
    "tests/evaluation/test_acted_tasks.py",
    "tests/evaluation/test_code_tasks.py",
    "tests/evaluation/test_document_tasks.py",
    "tests/evaluation/test_evidence.py",
    "tests/evaluation/test_session_questions.py",
    "tests/experiments/test_export.py",
    "tests/experiments/test_session_traces.py",
)
# They read releases of every benchmark.
ABOUT_ALL = (
    "tests/environments",
    "tests/experiments/test_exported_grades.py",
    "tests/pipelines/test_hostile_releases.py",
    "tests/support/hostile_releases.py",
)
TRACKS: Mapping[str, tuple[str, ...]] = {
    "deep research": (
        "*/deep_research",
        "*/deep_research.py",
        "pipelines/recipes/dr-*.yaml",
        "tests/assets/memory_items",
        "tests/assets/recipe/test_salt.py",
        "tests/dataset_card/test_deep_research.py",
        *ABOUT_DOCUMENTS,
        "tests/evaluation/test_evaluation_asset.py",
        "tests/pipelines/embedded/test_research_questions.py",
        "tests/pipelines/planning/test_document_tasks.py",
        "tests/recorded/strong-research",
        "tests/recorded/recipes/strong-research.yaml",
        "tests/support/research_tasks.py",
        "tests/validation/test_arrival.py",
        "tests/validation/test_deep_research.py",
    ),
    "code questions": (
        "*/code_qa",
        "*/code_qa.py",
        "*/session_questions.py",
        "pipelines/recipes/code-*.yaml",
        "pipelines/recipes/sessions-*.yaml",
        "tests/assets/isolation",
        "tests/assets/recipe/test_config_schema.py",
        "tests/bench/code_behaviours.py",
        "tests/evaluation/test_code_tasks.py",
        "tests/evaluation/test_session_questions.py",
        "tests/experiments/test_export.py",
        "tests/recorded/strong-code",
        "tests/recorded/recipes/strong-code.yaml",
        "tests/support/code_questions.py",
        "tests/validation/test_code_qa*.py",
    ),
    "facts": (
        "*/user_facts",
        "*/user_facts.py",
        "pipelines/evaluation/*/fact*.py",
        "pipelines/recipes/facts-*.yaml",
        "pipelines/recipes/*-facts.yaml",
        "pipelines/export/views/facts.py",
        "tests/bench/planted_defects",
        "tests/assets/amemgym/test_calendar_faults.py",
        "tests/evaluation/test_fact_tasks.py",
        "tests/evaluation/test_services.py",
        "tests/experiments/test_export.py",
        "tests/pipelines/embedded/test_lives.py",
        "tests/recorded/strong-facts",
        "tests/recorded/recipes/strong-facts.yaml",
        "tests/validation/test_user_facts.py",
    ),
    "tool dialogues": (
        "*/tool_dialogue",
        "*/tool_dialogue.py",
        "pipelines/evaluation/acted/tool_dialogues.py",
        "pipelines/recipes/tools-*.yaml",
        "pipelines/export/environment_files/acted_episodes.py",
        "pipelines/export/views/episodes.py",
        "tests/dataset_card/test_tool_dialogue.py",
        "tests/evaluation/test_acted_tasks.py",
        "tests/experiments/test_export.py",
        "tests/experiments/test_session_traces.py",
        "tests/recorded/strong-tools",
        "tests/recorded/recipes/strong-tools.yaml",
        "tests/support/tool_dialogues.py",
        "tests/validation/test_tool_dialogue.py",
    ),
    "tau2": (
        "pipelines/agents/tau2_world.py",
        "pipelines/embedded/assistant/tau2.py",
        "pipelines/evaluation/acted/tau2*",
        "tests/evaluation/test_leaving_the_window.py",
        "tests/extras/test_tau2.py",
    ),
    "swe": (
        "pipelines/agents/swe_world.py",
        "pipelines/evaluation/acted/sde.py",
        "pipelines/evaluation/acted/swe.py",
        "tests/evaluation/test_swe_rows.py",
        "tests/extras/test_sde.py",
        "tests/extras/test_swe.py",
    ),
    "webarena": (
        "pipelines/agents/browser_page.py",
        "pipelines/agents/webarena_*.py",
        "pipelines/evaluation/acted/webarena.py",
        "tests/browser/test_browser_page.py",
        "tests/browser/test_webarena.py",
        "tests/evaluation/test_webarena_tasks.py",
    ),
}
EXPORTS = (
    "pipelines/export",
    "pipelines/cli/scoring/export.py",
    "tests/environments",
    "tests/experiments/test_eval_results.py",
    "tests/experiments/test_export.py",
    "tests/experiments/test_session_traces.py",
    "tests/extras",
)
# An export of episodes stands on the shared worlds, and so exports go here.
SHARED_BY_TRACKS = (
    "*/memory_items",
    "*/memory_items.py",
    "assets/recipe/document_tasks.py",
    "assets/worlds",
    "pipelines/agents",
    "pipelines/evaluation/acted",
    "pipelines/evaluation/answered",
    "pipelines/evaluation/*/episode*.py",
    *EXPORTS,
    "tests/browser",
    "tests/pipelines/agents",
    "tests/support/document_texts.py",
    "tests/validation/test_arrival.py",
    "tests/validation/test_telling_apart.py",
)
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "exports": (*EXPORTS, *ABOUT_ALL),
    "evolution": ("*/experiments/evolution", "*/experiments/evolution.py"),
    "recorded sessions": (
        "pipelines/recorded_sessions",
        "pipelines/cli/scoring/replay.py",
        "tests/experiments/test_export.py",
        "tests/experiments/test_session_traces.py",
        "tests/pipelines/test_recorded_sessions.py",
    ),
    "reward model": ("*/experiments/reward_model", "*/experiments/reward_model.py", "tests/reward_llm"),
    "cluster": (
        "*/cluster",
        "pipelines/resources/llm/shared_rate_limit.py",
        "pipelines/resources/storage/postgres.py",
    ),
    "service memories": (
        "pipelines/memories/services",
        "tests/evaluation/test_mcp_templates.py",
        "tests/evaluation/test_services.py",
        "tests/pipelines/llm/test_answers_of_any_size.py",
        "tests/pipelines/llm/test_network_route.py",
        "tests/pipelines/test_addresses.py",
    ),
    "mem0": ("pipelines/memories/built_in/mem0*.py", "tests/extras/test_mem0.py"),
}
PARTS: Mapping[str, tuple[str, ...]] = {
    **{name: (*patterns, *ABOUT_ALL) for name, patterns in TRACKS.items()},
    "all tracks": (*chain.from_iterable(TRACKS.values()), *SHARED_BY_TRACKS, *ABOUT_ALL),
    **EXTRAS,
}
