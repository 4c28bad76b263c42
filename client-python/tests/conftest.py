"""What the tests share: both clients behind one face, the running relay, and a server that answers by script.

The tests in the folder `running` need the running relay, which test/process/client/python.test.ts starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from task_relay import AsyncTaskRelay, TaskRelay

from .blocking import BlockingRelay
from .http_servers import ScriptedServer

Connect = Callable[..., Any]


@pytest.fixture(params=["sync", "asyncio", "trio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients: the blocking one, or the one for asyncio or trio behind the same face."""
    if request.param == "sync":
        yield TaskRelay
        return
    with start_blocking_portal(request.param) as portal:
        yield lambda *args, **options: _started(portal, *args, **options)


def _started(portal: BlockingPortal, *args: Any, **options: Any) -> BlockingRelay:
    return BlockingRelay(portal, AsyncTaskRelay(*args, **options))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started
