from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

import httpx

from ._flow import Call, Flow
from ._problem import RelayProblem, data_of, problem_of
from ._retry import retrying, retrying_until
from ._submit import CallInit, Submission, SubmitInit, header_text, json_body, upstream_call
from ._wait import ReadState, until_ended
from .types import (
    EndedTask,
    OpenTask,
    RedeliveryOrder,
    RegisteredTask,
    Registration,
    Task,
    TaskEvent,
    TaskFilter,
    TaskPage,
    UpstreamJob,
)

_ANSWER_WITHIN_S = 30.0
_SUBMITTED_WITHIN_S = 120.0
"""The relay waits up to 90 s for the answer of an upstream, unless it is configured otherwise."""
_LONGEST_WAIT_S = 60
"""Longest time for which the relay delays the answer to one read of a task."""
_WAIT_RETRY_FOR_S = 300.0

Params = Mapping[str, Any]


class RelayCalls:
    """The methods of a client as flows; see `TaskRelay` for what each does."""

    def __init__(self, url: str, retry_for_s: float) -> None:
        self.url = _origin_of(url)
        self._retry_for_s = retry_for_s

    def call(self, connection: str, path: str, init: CallInit) -> Flow[httpx.Response]:
        call = upstream_call(self.url, connection, path, _SUBMITTED_WITHIN_S, **init)
        return retrying(call, self._retry_for_s)

    def submit(self, connection: str, path: str, init: SubmitInit) -> Flow[Submission]:
        call = upstream_call(self.url, connection, path, _SUBMITTED_WITHIN_S, **init)
        response = yield from retrying(call, self._retry_for_s)
        task_id = response.headers.get("Relay-Task-Id")
        if task_id is None:
            raise problem_of(response)
        return Submission(task_id, response.headers.get("Relay-Status-Url"), response)

    def register(self, registration: Registration, idempotency_key: str | None) -> Flow[RegisteredTask]:
        is_named = registration.get("id") is not None or idempotency_key is not None
        body: Registration = registration if is_named else {**registration, "id": str(uuid4())}
        task: RegisteredTask = yield from self._data("POST", "/v1/tasks", body, idempotency_key=idempotency_key)
        return task

    def attach(self, id: str, job: UpstreamJob) -> Flow[Task]:
        task: Task = yield from self._data("POST", _task_path(id, "/upstream"), job)
        return task

    def report(self, event: TaskEvent) -> Flow[Task]:
        task: Task = yield from self._data("POST", "/v1/events", event)
        return task

    def read(self, id: str) -> Flow[Task]:
        task: Task = yield from self._data("GET", _task_path(id))
        return task

    def wait_for(
        self, id: str, timeout_s: float | None, on_change: Callable[[OpenTask], object] | None
    ) -> Flow[EndedTask]:
        path = _task_path(id)

        def read_change(is_first: bool, etag: str | None, end_at: float) -> Flow[ReadState | None]:
            left_s = min(_LONGEST_WAIT_S, end_at - time.monotonic())
            call = self._to(
                "GET",
                path,
                params={} if is_first else {"wait": max(1, math.ceil(left_s))},
                headers={} if etag is None else {"If-None-Match": etag},
                answer_within_s=_ANSWER_WITHIN_S + _LONGEST_WAIT_S,
            )
            response = yield from retrying_until(end_at, call, _WAIT_RETRY_FOR_S)
            if response is None:
                return None
            if response.status_code == 304:
                return ReadState(None, etag)
            return ReadState(data_of(response), response.headers.get("ETag"))

        return until_ended(read_change, timeout_s, on_change)

    def page(self, filter: TaskFilter) -> Flow[TaskPage]:
        page: TaskPage = yield from self._data("GET", "/v1/tasks", params=filter)
        return page

    def redeliver(self, id: str, order: RedeliveryOrder, idempotency_key: str | None) -> Flow[Task]:
        key = idempotency_key or str(uuid4())
        path = _task_path(id, "/redeliver")
        task: Task = yield from self._data("POST", path, order, idempotency_key=key)
        return task

    def cancel(self, id: str, force: bool) -> Flow[Task]:
        params = {"force": True} if force else {}
        try:
            task: Task = yield from self._data("POST", _task_path(id, "/cancel"), params=params)
        except RelayProblem as problem:
            # The task was canceled by an earlier request, whose answer may have been lost.
            ended = problem.body.get("task") if problem.body is not None else None
            if ended is not None and ended["status"] == "failed" and ended["error"]["code"] == "canceled":
                return ended
            raise
        return task

    def delete_outputs(self, id: str) -> Flow[None]:
        response = yield from self._sent("DELETE", _task_path(id, "/outputs"))
        if not response.is_success:
            raise problem_of(response)

    def erase(self, id: str) -> Flow[bool]:
        response = yield from self._sent("DELETE", _task_path(id))
        if response.is_success:
            return True
        problem = problem_of(response)
        if problem.code == "unknown_task":
            return False
        raise problem

    def request(
        self,
        method: str,
        path: str,
        json: object,
        params: Params | None,
        headers: Mapping[str, str] | None,
    ) -> Flow[httpx.Response]:
        call = self._to(method.upper(), path, json, params=params or {}, headers=headers or {})
        is_repeatable = call.method != "POST" or "Idempotency-Key" in httpx.Headers(call.headers)
        response = yield from retrying(call, self._retry_for_s, is_repeatable=is_repeatable)
        if response.is_error:
            raise problem_of(response)
        return response

    def _data(
        self,
        method: Literal["GET", "POST"],
        path: str,
        json: object = None,
        *,
        params: Params | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Any]:
        response = yield from self._sent(method, path, json, params=params or {}, idempotency_key=idempotency_key)
        return data_of(response)

    def _sent(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        json: object = None,
        *,
        params: Params | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[httpx.Response]:
        """Sends a call that may be repeated."""
        headers = (
            {} if idempotency_key is None else {"Idempotency-Key": header_text("idempotency_key", idempotency_key)}
        )
        call = self._to(method, path, json, params=params or {}, headers=headers)
        return (yield from retrying(call, self._retry_for_s))

    def _to(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        params: Params,
        headers: Mapping[str, str],
        answer_within_s: float = _ANSWER_WITHIN_S,
    ) -> Call:
        if not path.startswith("/"):
            raise ValueError("path does not begin with a slash")
        url = httpx.URL(self.url + path)
        return Call(
            method=method,
            url=url.copy_merge_params(params) if params else url,
            answer_within_s=answer_within_s,
            headers={"Content-Type": "application/json", **headers} if json is not None else headers,
            body=None if json is None else json_body(json),
        )


def _origin_of(url: str) -> str:
    """Checks the URL of the relay. The messages do not contain it, because it may contain a password."""
    try:
        parsed = httpx.URL(url.strip().rstrip("/"))
    except (AttributeError, TypeError, httpx.InvalidURL):
        raise ValueError("url is no URL, such as https://relay.example.com") from None
    if parsed.scheme not in ("http", "https") or parsed.host == "":
        raise ValueError("url does not begin with https:// or http:// and a host")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ValueError("url has more than an origin, such as https://relay.example.com")
    return str(parsed)


def _task_path(id: str, rest: str = "") -> str:
    """Returns the path of a task. An id that is no id stays one segment, which the relay refuses."""
    if id == "":
        raise ValueError("id is empty")
    return f"/v1/tasks/{quote(id, safe='')}{rest}"
