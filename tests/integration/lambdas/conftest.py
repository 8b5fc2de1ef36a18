"""Both runtime clients: ours must behave like the platform's own."""

from importlib.util import find_spec

import pytest

from taskmill_local.lambdas.launch import RuntimeClient


@pytest.fixture(params=list(RuntimeClient))
def client(request) -> RuntimeClient:
    if request.param is RuntimeClient.AWSLAMBDARIC and not find_spec("awslambdaric"):
        pytest.skip("awslambdaric has no wheel for this machine")
    return request.param
