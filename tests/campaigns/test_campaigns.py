"""The quick part of every campaign."""

from __future__ import annotations

import pytest

from tests.campaigns.campaign import Unavailable, campaigns, conduct

CAMPAIGNS = campaigns()


@pytest.mark.parametrize("name", [pytest.param(name, marks=kind.marks) for name, kind in CAMPAIGNS.items()])
def test_no_case_fails(name):
    campaign = CAMPAIGNS[name]()
    try:
        found = conduct(campaign, range(campaign.quick), seed=0)
    except Unavailable as error:
        pytest.skip(str(error))
    assert found.cases == campaign.quick
    assert not found.faults, "\n".join(f"case {number}: {line}" for number, line in found.faults)
