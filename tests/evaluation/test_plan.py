"""What decides a run's results is in its manifest, and so in its id."""

from dataclasses import replace

import pytest

from pipelines.evaluation.plan import EvaluationOptions, manifest_of
from pipelines.evaluation.records import AssistantSpec
from tests.evaluation.scripted_evaluation import ROLES, dataset


@pytest.mark.parametrize("kind", ["llm", "rag"])
def test_a_model_that_is_given_as_null_is_the_runs_and_tells_runs_apart(kind: str) -> None:
    names = ("model", "embedding_model") if kind == "rag" else ("model",)
    open_ = AssistantSpec.model_validate({"name": kind, "kind": kind, "settings": dict.fromkeys(names)})
    one, two = (manifest_of(dataset(), open_, EvaluationOptions(), roles=replace(ROLES, assistant=name)) for name in ("a", "b"))

    assert one.run_id != two.run_id
    assert (
        one.run_id
        == manifest_of(
            dataset(), AssistantSpec(name=kind, kind=kind), EvaluationOptions(), roles=replace(ROLES, assistant="a")
        ).run_id
    )
    assert None not in one.assistant.settings.values()


def test_runs_of_a_plugged_in_assistant_differ_by_the_embedding_model_that_it_may_use() -> None:
    plugged = AssistantSpec(name="diary", kind="diary")
    one, two = (
        manifest_of(dataset(), plugged, EvaluationOptions(), roles=replace(ROLES, embedding=name)) for name in ("a", "b")
    )

    assert (one.embedding, two.embedding) == ("a", "b")
    assert one.run_id != two.run_id
    # Settings belong to the assistant, and a manifest without the field is that of a built-in kind.
    assert "embedding_model" not in one.assistant.settings
    assert (
        "embedding"
        not in manifest_of(dataset(), AssistantSpec(name="llm", kind="llm"), EvaluationOptions(), roles=ROLES).model_dump()
    )
