"""What votes promise stands beside what decoys show."""

from typing import Literal

from assets.amemgym.records.audit import GateErrorRate, JudgeErrorRate
from assets.recipe.policies import GatePolicy
from assets.records.estimate import Estimate
from tests.support.releases import report
from validation.amemgym.report.gates import promised_rates
from validation.amemgym.report.page import render_quality_page

Error = Literal["false_accept", "false_reject"]


def of_items(gate: str, *, low: float, error: Error = "false_accept", kind: str = "") -> GateErrorRate:
    share = Estimate(value=low + 0.02, low=low, high=low + 0.1)
    return GateErrorRate(gate=gate, error=error, kind=kind, decoys=40, errors=2, readings=80, share=share)


def of_readings(gate: str, value: float, *, error: Error = "false_accept") -> JudgeErrorRate:
    share = Estimate(value=value, low=value, high=value)
    return JudgeErrorRate(gate=gate, error=error, readings=80, errors=4, share=share)


def test_independent_readings_promise_what_the_policy_makes_of_their_errors() -> None:
    policy = GatePolicy(votes=2, votes_needed=2, max_refinements=0, max_redrafts=0)
    errors = [of_items("exposure", low=0.3), of_items("recovery and choice", low=0.1), of_items("event", low=0.1)]
    readings = [
        of_readings("exposure", 0.05),
        of_readings("exposure", 0.5, error="false_reject"),
        of_readings("recovery", 0.1),
        of_readings("choice", 0.2),
    ]
    promised = promised_rates(errors, readings, policy=policy)
    assert promised == {"exposure": 0.0025, "recovery and choice": 0.002}


def test_the_page_has_the_promise_beside_the_rate() -> None:
    page = render_quality_page(report(gate_errors=(of_items("exposure", low=0.03),), promised={"exposure": 0.0025}))
    assert "if independent" in page
    assert "0.2\N{NO-BREAK SPACE}%" in page
