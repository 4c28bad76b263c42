from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeGuard

import httpx

from .types import Issue, Problem, ProblemCode


class RelayProblem(Exception):
    """A request that the relay, or something in front of it, has refused."""

    status: int
    """HTTP status of the answer."""
    code: ProblemCode | None
    """Code of the kind of problem, which `/docs/errors` of the relay explains; None when the answer is not the
    relay's own, e.g. that of a proxy."""
    type: str | None
    """Link to the code on the page `/docs/errors` of the relay; None when the answer is not the relay's own."""
    title: str
    """What the code means; empty when the answer is not the relay's own."""
    detail: str
    """Sentence that says what is wrong with this request; empty when the answer is not the relay's own."""
    issues: Sequence[Issue]
    """The invalid fields, parameters and headers."""
    request_id: str | None
    """Id of the request, which the relay's log names too; None when the answer has none."""
    retry_after_s: int | None
    """Seconds after which to try again; None when the answer does not say."""
    body: Problem | None
    """The whole answer, e.g. with the `task` of a conflict; None when it is not the relay's own."""

    def __init__(
        self,
        status: int,
        body: Problem | None = None,
        request_id: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        # The arguments make the same error again where it crosses processes.
        super().__init__(status, body, request_id, retry_after_s)
        self.status = status
        self.code = None if body is None else body["code"]
        self.type = None if body is None else body["type"]
        self.title = "" if body is None else body["title"]
        self.detail = "" if body is None else body["detail"]
        self.issues = () if body is None else body.get("issues", ())
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.body = body

    def __str__(self) -> str:
        if self.code is None:
            return f"{self.status}, which is not an answer of the relay itself"
        issues = "".join(f" {issue['path']} {issue['message']}." for issue in self.issues)
        return f"{self.status} {self.code}: {self.detail}{issues}"

    def __repr__(self) -> str:
        return f"RelayProblem({str(self)!r})"


def problem_of(response: httpx.Response) -> RelayProblem:
    """Returns the error for an answer that refuses a request, or that the relay would not give."""
    body = _problem_in(response)
    request_id = response.headers.get("X-Request-Id")
    return RelayProblem(response.status_code, body, request_id, retry_after_s(response))


def data_of(response: httpx.Response) -> Any:
    """Returns the JSON of an answer of the relay, of the type that openapi.json states.

    Raises RelayProblem when the relay has refused the request, or the answer is not the relay's own.
    """
    if not response.is_success:
        raise problem_of(response)
    try:
        return response.json()
    except ValueError:
        raise problem_of(response) from None


def retry_after_s(response: httpx.Response) -> int | None:
    """Reads the header `Retry-After` in seconds; None when there is none, or a date."""
    text = response.headers.get("Retry-After", "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _problem_in(response: httpx.Response) -> Problem | None:
    try:
        body: Any = response.json()
    except ValueError:
        return None
    return body if _is_problem(body) else None


def _is_problem(body: Any) -> TypeGuard[Problem]:
    members = ("type", "title", "status", "detail", "code")
    return isinstance(body, dict) and all(name in body for name in members)
