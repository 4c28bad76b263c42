from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal

from task_relay import AsyncTaskRelay

_END = object()


class BlockingRelay:
    """An `AsyncTaskRelay` whose methods block, so that one test is that of both clients."""

    def __init__(self, portal: BlockingPortal, relay: AsyncTaskRelay) -> None:
        self._portal = portal
        self._relay = relay

    def list(self, *args: Any) -> Iterator[Any]:
        tasks: AsyncIterator[Any] = self._relay.list(*args)

        async def following() -> Any:
            return await anext(tasks, _END)

        while (task := self._portal.call(following)) is not _END:
            yield task

    def close(self) -> None:
        self._portal.call(self._relay.aclose)

    def __enter__(self) -> BlockingRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._relay)

    def __getattr__(self, name: str) -> Any:
        member: Callable[..., Any] = getattr(self._relay, name)
        if not callable(member):
            return member
        return lambda *args, **options: self._portal.call(partial(member, *args, **options))
