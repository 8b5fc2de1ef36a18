"""The protocol holds in every state that its models reach; a rule taken back is found missing."""

import pytest

from tests.models.case import verdict_of
from tests.models.cases import CASES


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_deep], ids=str)
def test_a_case_ends_as_it_must(case):
    verdict = verdict_of(case)
    assert verdict.complaint == case.expected, str(verdict)
