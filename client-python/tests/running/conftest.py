from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from ..conftest import Connect
from ..http_servers import CallbackReceiver

URL = os.environ.get("RELAY_URL")
KEY = os.environ.get("RELAY_KEY")
RESTART_URL = os.environ.get("RELAY_RESTART_URL")


@pytest.fixture
def relay(connect: Connect) -> Iterator[Any]:
    """A client of the running relay, with an operator key."""
    if URL is None or KEY is None:
        pytest.fail("RELAY_URL and RELAY_KEY are not set: test/process/client/python.test.ts sets them")
    with connect(URL, KEY) as client:
        yield client


@pytest.fixture
def restart() -> Callable[[], None]:
    """Kills the relay, and returns once it runs again."""

    def ask() -> None:
        assert RESTART_URL is not None
        urlopen(Request(RESTART_URL, method="POST"), timeout=60).close()

    return ask


@pytest.fixture
def receiver() -> Iterator[CallbackReceiver]:
    with CallbackReceiver() as started:
        yield started
