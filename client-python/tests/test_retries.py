"""Both clients with answers that a relay gives rarely, and with what may be in front of one."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from task_relay import RelayProblem, WaitTimeoutError

from .conftest import Connect
from .http_servers import Answer, ScriptedServer

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OPEN = {"id": ID, "status": "pending"}
DONE = {"id": ID, "status": "completed", "output": {"urls": []}}
LOST = Answer(None)
PAGE = Answer(200, b"<html>", {"Content-Type": "text/html"})


def problem(status: int, code: str, **headers: str) -> Answer:
    body = {"type": "t", "title": "T", "status": status, "detail": "D.", "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, body, {"Content-Type": "application/problem+json", **named})


BUSY = problem(503, "unavailable")


@pytest.fixture
def relay(connect: Connect, server: ScriptedServer) -> Iterator[Any]:
    with connect(server.url, "trk_acme_0") as client:
        yield client


@pytest.mark.parametrize("failure", [LOST, BUSY, problem(429, "rate_limited"), Answer(502, b"bad gateway")])
def test_a_read_is_sent_again_after_a_failure(relay: Any, server: ScriptedServer, failure: Answer) -> None:
    server.gives(failure, Answer(200, OPEN))
    assert relay.read(ID) == OPEN
    assert len(server.received) == 2


def test_a_call_is_sent_again_after_the_seconds_of_retry_after(relay: Any, server: ScriptedServer) -> None:
    server.gives(problem(429, "rate_limited", Retry_After="1"), Answer(200, OPEN))
    started_at = time.monotonic()
    relay.read(ID)
    assert time.monotonic() - started_at >= 1


@pytest.mark.parametrize("status", [400, 404, 409, 501])
def test_an_answer_that_no_repetition_changes_is_raised_at_once(
    relay: Any, server: ScriptedServer, status: int
) -> None:
    server.gives(problem(status, "invalid_request"))
    with pytest.raises(RelayProblem):
        relay.read(ID)
    assert len(server.received) == 1


def test_failures_are_raised_when_a_further_try_would_begin_after_retry_for_s(
    connect: Connect, server: ScriptedServer
) -> None:
    with connect(server.url, "trk_acme_0", retry_for_s=1) as client:
        server.gives(BUSY)
        with pytest.raises(RelayProblem):
            client.read(ID)
        assert 1 < len(server.received) < 6
        server.gives(LOST)
        with pytest.raises(httpx.TransportError):
            client.read(ID)
    with connect(server.url, "trk_acme_0", retry_for_s=0) as client:
        server.received.clear()
        server.gives(BUSY)
        with pytest.raises(RelayProblem):
            client.read(ID)
        assert len(server.received) == 1


def test_all_sendings_of_a_submission_and_of_a_registration_have_the_same_key_and_id(
    relay: Any, server: ScriptedServer
) -> None:
    submitted = Answer(200, {"id": "job"}, {"Relay-Task-Id": ID})
    server.gives(LOST, BUSY, submitted)
    assert relay.submit("ark", "tasks", json={"model": "m"}).task_id == ID
    assert len({each.headers["Idempotency-Key"] for each in server.received}) == 1
    server.received.clear()
    server.gives(LOST, Answer(201, OPEN))
    relay.register({"model": "m"})
    assert len({each.body for each in server.received}) == 1
    assert b'"id":"' in server.received[0].body


def test_a_submission_waits_as_long_as_an_earlier_one_under_its_key_is_in_flight(
    connect: Connect, server: ScriptedServer
) -> None:
    running = problem(409, "submission_running", Retry_After="1")
    with connect(server.url, "trk_acme_0", retry_for_s=1.5) as client:
        server.gives(running, running, running, Answer(200, {}, {"Relay-Task-Id": ID}))
        assert client.submit("ark", "tasks", json={}).task_id == ID


def test_the_upstreams_own_refusal_is_returned_and_not_sent_again(relay: Any, server: ScriptedServer) -> None:
    server.gives(Answer(500, {"error": "no"}, {"Relay-Task-Id": ID}))
    submission = relay.submit("ark", "tasks", json={})
    assert (submission.status_url, submission.response.status_code) == (None, 500)
    assert len(server.received) == 1


def test_after_submit_unknown_nothing_is_sent_again(relay: Any, server: ScriptedServer) -> None:
    unknown = problem(424, "submit_unknown")
    server.gives(Answer(424, {**unknown.body, "task": OPEN}, unknown.headers))
    with pytest.raises(RelayProblem) as raised:
        relay.submit("ark", "tasks", json={})
    assert raised.value.body is not None and raised.value.body["task"]["id"] == ID
    assert len(server.received) == 1


def test_a_post_of_request_without_an_idempotency_key_is_sent_again_only_after_429(
    relay: Any, server: ScriptedServer
) -> None:
    server.gives(problem(429, "rate_limited"), Answer(200, {"done": True}))
    assert relay.request("POST", "/v1/wake", json={}).json() == {"done": True}
    server.received.clear()
    server.gives(BUSY)
    with pytest.raises(RelayProblem):
        relay.request("POST", "/v1/wake", json={})
    server.gives(LOST)
    with pytest.raises(httpx.TransportError):
        relay.request("POST", "/v1/wake", json={})
    assert len(server.received) == 2
    server.gives(BUSY, Answer(200, {}))
    relay.request("POST", "/v1/wake", json={}, headers={"idempotency-key": "k"})
    assert len(server.received) == 4


@pytest.mark.parametrize("answer", [PAGE, Answer(200, b"ok"), Answer(301, b"", {"Location": "/"})])
def test_an_answer_of_something_in_front_of_the_relay_is_a_problem_without_a_code(
    relay: Any, server: ScriptedServer, answer: Answer
) -> None:
    server.gives(answer)
    with pytest.raises(RelayProblem, match="not an answer of the relay itself") as raised:
        relay.read(ID)
    assert (raised.value.code, raised.value.body) == (None, None)


def test_a_wait_reads_again_with_the_etag_and_without_a_change_calls_on_change_once(
    relay: Any, server: ScriptedServer
) -> None:
    etag = {"ETag": '"1-operator"'}
    other = {"ETag": '"2-operator"'}
    server.gives(Answer(202, OPEN, etag), Answer(202, OPEN, other), LOST, BUSY, Answer(200, DONE))
    states: list[Any] = []
    assert relay.wait_for(ID, on_change=states.append) == DONE
    assert states == [OPEN]
    assert [each.headers.get("If-None-Match") for each in server.received] == [
        None,
        '"1-operator"',
        '"2-operator"',
        '"2-operator"',
        '"2-operator"',
    ]
    assert "wait" not in server.received[0].path
    assert all(each.path.endswith("?wait=60") for each in server.received[1:])


def test_a_wait_whose_relay_does_not_answer_ends_after_timeout_s_without_a_task(
    relay: Any, server: ScriptedServer
) -> None:
    server.gives(BUSY)
    with pytest.raises(WaitTimeoutError) as raised:
        relay.wait_for(ID, timeout_s=0.6)
    assert raised.value.task is None
    assert isinstance(raised.value, TimeoutError)


def test_a_wait_for_an_unknown_task_raises_the_problem_at_once(relay: Any, server: ScriptedServer) -> None:
    server.gives(problem(404, "unknown_task"))
    with pytest.raises(RelayProblem):
        relay.wait_for(ID)
    assert len(server.received) == 1


def test_a_list_reads_a_page_only_when_the_page_before_is_used_up(relay: Any, server: ScriptedServer) -> None:
    server.gives(
        Answer(200, {"data": [OPEN, OPEN], "next_cursor": "c2"}),
        Answer(200, {"data": [DONE], "next_cursor": None}),
    )
    tasks = relay.list({"status": "failed"})
    assert [next(tasks), next(tasks)] == [OPEN, OPEN]
    assert [each.path for each in server.received] == ["/v1/tasks?status=failed"]
    assert list(tasks) == [DONE]
    assert server.received[1].path == "/v1/tasks?status=failed&cursor=c2"


def test_with_the_customers_key_the_relays_key_goes_beside_that_of_the_upstream(
    relay: Any, server: ScriptedServer
) -> None:
    server.gives(Answer(200, {}, {"Relay-Task-Id": ID}))
    headers = {"Authorization": "Bearer upstream"}
    relay.submit("ark", "tasks", json={}, headers=headers, key="customer")
    sent = server.received[0].headers
    assert (sent["Authorization"], sent["Relay-Key"]) == ("Bearer upstream", "Bearer trk_acme_0")


def test_a_submission_reaches_the_relay_with_the_callers_body_query_and_options(
    relay: Any, server: ScriptedServer
) -> None:
    server.gives(Answer(200, {}, {"Relay-Task-Id": ID}))
    relay.submit(
        "ark",
        "/v3/tasks",
        body="a=1",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        query="v=%201",
        idempotency_key="order-1",
        callback_url="https://client.example.com/hook",
        metadata={"ключ": 1},
        price={"credits": 7},
        deadline_at=1767225600,
    )
    received = server.received[0]
    assert (received.path, received.body) == ("/v1/submit/ark/v3/tasks?v=%201", b"a=1")
    headers = {name.lower(): value for name, value in received.headers.items()}
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert headers["idempotency-key"] == "order-1"
    assert headers["relay-callback-url"] == "https://client.example.com/hook"
    assert headers["relay-metadata"] == '{"\\u043a\\u043b\\u044e\\u0447":1}'
    assert headers["relay-price"] == '{"credits":7}'
    assert headers["relay-deadline-at"] == "1767225600"


def test_a_given_http_client_sends_the_requests_with_its_headers_and_stays_open(
    server: ScriptedServer,
) -> None:
    from task_relay import TaskRelay

    server.gives(Answer(200, OPEN))
    with httpx.Client(headers={"CF-Access-Client-Id": "id"}) as http_client:
        with TaskRelay(server.url, "trk_acme_0", http_client=http_client) as relay:
            relay.read(ID)
        assert server.received[0].headers["CF-Access-Client-Id"] == "id"
        assert not http_client.is_closed


def test_errors_can_be_sent_to_another_process(relay: Any, server: ScriptedServer) -> None:
    server.gives(problem(404, "unknown_task", X_Request_Id="r1"))
    with pytest.raises(RelayProblem) as raised:
        relay.read(ID)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.request_id) == ("404 unknown_task: D.", "r1")
    timeout = pickle.loads(pickle.dumps(WaitTimeoutError(2, None)))
    assert str(timeout) == "The task has not ended within 2 s."
