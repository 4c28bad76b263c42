from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import anyio
import httpx
from typing_extensions import Self, Unpack

from ._calls import RelayCalls
from ._flow import Call, Flow, Outcome
from ._key_auth import KeyAuth
from ._relay import LIMITS, RETRY_FOR_S
from ._submit import CallInit, Submission, SubmitInit
from .types import (
    EndedTask,
    ListedTask,
    OpenTask,
    RedeliveryOrder,
    RegisteredTask,
    Registration,
    Task,
    TaskEvent,
    TaskFilter,
    UpstreamJob,
)

T = TypeVar("T")


class AsyncTaskRelay:
    """A client of one relay for asyncio and trio; `TaskRelay` has the same methods for other programs.

    Every method raises `RelayProblem` when the relay refuses the request, and `httpx.TransportError` when no answer
    came. A request that was answered with 429 is sent again. A request that was lost or answered with 5xx is sent again
    only when its repetition cannot have a second effect.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retry_for_s: float = RETRY_FOR_S,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Makes a client.

        `url` is the origin of the relay, e.g. `https://relay.example.com`, and `key` an operator key or the API key of
        an account. A failed request is tried again for `retry_for_s`, 0 for never. `http_client` sends the requests,
        e.g. through a proxy, and is not closed with the relay's client.
        """
        self._calls = RelayCalls(url, retry_for_s)
        self._auths = {header: KeyAuth(key, header) for header in ("Authorization", "Relay-Key")}
        self._client = http_client or httpx.AsyncClient(limits=LIMITS)
        self._owns_client = http_client is None

    def __repr__(self) -> str:
        return f"AsyncTaskRelay({self.url!r})"

    @property
    def url(self) -> str:
        """URL of the relay."""
        return self._calls.url

    async def submit(self, connection: str, path: str, **init: Unpack[SubmitInit]) -> Submission:
        """Submits a job through the relay, once: calls a path of the upstream below the connection's base URL.

        Waits while an earlier call under the same key is in flight. A refusal by the upstream is returned like its
        acceptance. After a RelayProblem with the code `submit_unknown` the upstream may have started a job: the `task`
        of its body awaits it, or has failed already where nothing can show it. Do not submit it again.
        """
        return await self._run(self._calls.submit(connection, path, init))

    async def call(self, connection: str, path: str, **init: Unpack[CallInit]) -> httpx.Response:
        """Makes a call of an upstream's own API through the relay, e.g. the `GET` that reads a job, and returns every
        answer.

        The call is sent again after a failure, a `POST` under the same key.
        """
        return await self._run(self._calls.call(connection, path, init))

    async def register(self, registration: Registration, *, idempotency_key: str | None = None) -> RegisteredTask:
        """Registers a task. Without an `id` and an idempotency key, the client makes the id."""
        return await self._run(self._calls.register(registration, idempotency_key))

    async def attach(self, id: str, job: UpstreamJob) -> Task:
        """Attaches the job that the upstream's submit call returned."""
        return await self._run(self._calls.attach(id, job))

    async def report(self, event: TaskEvent) -> Task:
        """Reports an event of a task; the same event again changes nothing."""
        return await self._run(self._calls.report(event))

    async def read(self, id: str) -> Task:
        """Reads a task."""
        return await self._run(self._calls.read(id))

    async def wait_for(
        self,
        id: str,
        *,
        timeout_s: float | None = None,
        on_change: Callable[[OpenTask], object] | None = None,
    ) -> EndedTask:
        """Waits until the task is completed or failed, at most `timeout_s`, after which it raises WaitTimeoutError.

        Without `timeout_s` the wait ends with the task, at the latest at its deadline. `on_change` gets the open task
        at once and after every change. Lost connections and answers 429 and 5xx are bridged for up to five minutes.
        """
        return await self._run(self._calls.wait_for(id, timeout_s, on_change))

    async def list(self, filter: TaskFilter | None = None) -> AsyncIterator[ListedTask]:
        """Lists tasks from the index, newest first, page by page as they are read."""
        filter = filter or {}
        while True:
            page = await self._run(self._calls.page(filter))
            for task in page["data"]:
                yield task
            cursor = page["next_cursor"]
            if cursor is None:
                return
            filter = {**filter, "cursor": cursor}

    async def redeliver(
        self, id: str, order: RedeliveryOrder | None = None, *, idempotency_key: str | None = None
    ) -> Task:
        """Redelivers a settled callback. Without an idempotency key, the client makes one."""
        return await self._run(self._calls.redeliver(id, order or {}, idempotency_key))

    async def cancel(self, id: str, *, force: bool = False) -> Task:
        """Ends an open task as failed, with the code `canceled`, and refunds it.

        Where the relay can cancel its job, the upstream must confirm first: the returned task is still open when it has
        not within a few seconds, and its member `cancel` says why. A RelayProblem `task_settled` says that the job had
        ended: its result counts. `force` fails the task at once, whatever becomes of its job; for operator keys only.
        """
        return await self._run(self._calls.cancel(id, force))

    async def delete_outputs(self, id: str) -> None:
        """Deletes the outputs of a task that has ended: the relay's links to them no longer work, and it keeps no copy.

        The task stays. A repetition changes nothing.
        """
        await self._run(self._calls.delete_outputs(id))

    async def erase(self, id: str) -> bool:
        """Erases a settled task. Returns False when there is no such task (any more)."""
        return await self._run(self._calls.erase(id))

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Sends a request to any route of the relay, e.g. `request("GET", "/healthz")`, with the key.

        A POST without the header `Idempotency-Key` is sent again only after an answer 429.
        """
        return await self._run(self._calls.request(method, path, json, params, headers))

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._owns_client:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _run(self, flow: Flow[T]) -> T:
        outcome: Outcome | None = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Call):
                outcome = await self._send(step)
            else:
                outcome = None
                await anyio.sleep(step.seconds)

    async def _send(self, call: Call) -> Outcome:
        request = self._client.build_request(
            call.method,
            call.url,
            headers=call.headers,
            content=call.body,
            timeout=call.answer_within_s,
        )
        try:
            return await self._client.send(request, auth=self._auths[call.key_header])
        except httpx.TransportError as error:
            return error
