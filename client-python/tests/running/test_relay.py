"""Both clients with a running relay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest

from task_relay import AsyncTaskRelay, RelayProblem, WaitTimeoutError, verify

from ..http_servers import CallbackReceiver
from .conftest import KEY, URL

OUTPUT = {"urls": ["https://cdn.example.com/a.mp4"]}


def until(is_true: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)


class Waiting:
    """A wait for a task in a thread of its own."""

    def __init__(self, relay: Any, id: str) -> None:
        self.states: list[str] = []
        self.ended: Any = None
        self._has_begun = Event()
        self._thread = Thread(target=self._wait, args=(relay, id), daemon=True)
        self._thread.start()
        assert self._has_begun.wait(timeout=30)

    def _wait(self, relay: Any, id: str) -> None:
        self.ended = relay.wait_for(id, timeout_s=120, on_change=self._changed)

    def _changed(self, task: Any) -> None:
        self.states.append(task["status"])
        self._has_begun.set()

    def result(self) -> Any:
        self._thread.join(timeout=120)
        return self.ended


def test_wait_for_shows_each_open_state_and_returns_the_end_that_is_reported(relay: Any) -> None:
    task = relay.register({"model": "m"})
    waiting = Waiting(relay, task["id"])
    relay.report({"id": task["id"], "status": "processing"})
    until(lambda: waiting.states == ["pending", "processing"])
    assert relay.report({"id": task["id"], "status": "completed", "output": OUTPUT})["status"] == "completed"
    ended = waiting.result()
    assert ended["output"]["urls"] == OUTPUT["urls"]
    assert relay.read(task["id"])["output"] == ended["output"]


def test_wait_for_returns_a_failed_task_as_a_result(relay: Any) -> None:
    id = relay.register({"model": "m"})["id"]
    error = {"code": "nsfw", "message": "The input was refused."}
    relay.report({"id": id, "status": "failed", "error": error})
    assert relay.wait_for(id)["error"] == error


def test_wait_for_goes_on_when_the_relay_is_killed_and_started_again(relay: Any, restart: Callable[[], None]) -> None:
    id = relay.register({"model": "m"})["id"]
    waiting = Waiting(relay, id)
    restart()
    relay.report({"id": id, "status": "completed", "output": OUTPUT})
    assert waiting.result()["status"] == "completed"
    assert waiting.states == ["pending"]


def test_wait_for_raises_a_timeout_error_with_the_open_task_after_timeout_s(relay: Any) -> None:
    id = relay.register({"model": "m"})["id"]
    started_at = time.monotonic()
    with pytest.raises(WaitTimeoutError, match="not ended within 0.5 s") as raised:
        relay.wait_for(id, timeout_s=0.5)
    assert raised.value.task is not None and raised.value.task["status"] == "pending"
    assert time.monotonic() - started_at >= 0.5


def test_a_cancelled_wait_of_asyncio_ends_at_once() -> None:
    async def main() -> None:
        async with AsyncTaskRelay(URL or "", KEY or "") as relay:
            task = await relay.register({"model": "m"})
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(relay.wait_for(task["id"]), timeout=0.5)

    asyncio.run(main())


def test_a_job_submitted_to_the_sandbox_ends_and_its_callback_is_verified_with_the_secret_and_the_public_key(
    relay: Any, receiver: CallbackReceiver
) -> None:
    submission = relay.submit(
        "sandbox",
        "jobs",
        json={"model": "sandbox/ok"},
        callback_url=f"{receiver.url}/hook",
        metadata={"name": "Žofie\x7f"},
    )
    assert submission.response.json() == {"id": "sandbox/ok", "status": "queued"}
    assert submission.status_url is not None
    assert relay.wait_for(submission.task_id)["status"] == "completed"
    callback = receiver.next()
    secrets = relay.request("GET", "/v1/signing-secrets").json()
    for key in [*secrets["callbacks"], *secrets["public_keys"]]:
        verified = verify(callback.body, callback.headers, key)
        assert verified.task["id"] == submission.task_id
        assert verified.webhook_id == callback.headers["webhook-id"]
    assert relay.read(submission.task_id)["metadata"] == {"name": "Žofie\x7f"}


def test_a_job_that_is_submitted_twice_under_one_key_is_one_task(relay: Any) -> None:
    key = str(uuid4())
    ids = [
        relay.submit("sandbox", "jobs", json={"model": "sandbox/slow"}, idempotency_key=key).task_id for _ in range(2)
    ]
    assert ids[0] == ids[1]


def test_call_reads_a_submitted_job_in_the_form_of_the_upstream(relay: Any) -> None:
    response = relay.call("sandbox", "jobs/unknown", method="GET")
    assert response.status_code == 404


def test_submit_to_an_unknown_connection_raises_a_problem(relay: Any) -> None:
    with pytest.raises(RelayProblem) as raised:
        relay.submit("nowhere", "jobs", json={})
    assert raised.value.code is not None


def test_a_redelivered_callback_has_the_id_of_the_first(relay: Any, receiver: CallbackReceiver) -> None:
    id = relay.register({"model": "m", "callback_url": f"{receiver.url}/hook"})["id"]
    relay.report({"id": id, "status": "completed", "output": OUTPUT})
    first = receiver.next()
    until(lambda: relay.read(id)["callback"]["status"] == "delivered")
    relay.redeliver(id, {"attempts": 1})
    assert receiver.next().headers["webhook-id"] == first.headers["webhook-id"]


def test_list_reads_page_after_page_newest_first(relay: Any) -> None:
    model = f"model-{uuid4()}"
    ids = [relay.register({"model": model})["id"] for _ in range(3)]
    until(lambda: len(list(relay.list({"model": model}))) == 3)
    listed = relay.list({"model": model, "limit": 1})
    assert {task["id"] for task in listed} == set(ids)


def test_a_repeated_cancellation_returns_the_canceled_task_and_a_repeated_erasure_false(
    relay: Any,
) -> None:
    id = relay.register({"model": "m"})["id"]
    for _ in range(2):
        assert relay.cancel(id)["error"]["code"] == "canceled"
    assert [relay.erase(id), relay.erase(id)] == [True, False]


def test_cancel_of_a_completed_task_raises_task_settled(relay: Any) -> None:
    id = relay.register({"model": "m"})["id"]
    relay.report({"id": id, "status": "completed", "output": OUTPUT})
    with pytest.raises(RelayProblem) as raised:
        relay.cancel(id, force=True)
    assert raised.value.code == "task_settled"


def test_delete_outputs_may_be_repeated_and_is_refused_for_an_unknown_task(relay: Any) -> None:
    id = relay.register({"model": "m"})["id"]
    relay.report({"id": id, "status": "completed", "output": OUTPUT})
    relay.delete_outputs(id)
    relay.delete_outputs(id)
    with pytest.raises(RelayProblem) as raised:
        relay.delete_outputs(str(uuid4()))
    assert raised.value.code == "unknown_task"


def test_attach_names_the_job_of_a_task(relay: Any) -> None:
    id = relay.register({"model": "sandbox/slow", "provider": "sandbox"})["id"]
    task = relay.attach(id, {"provider": "sandbox", "id": "sandbox/slow"})
    assert task["upstream"]["id"] == "sandbox/slow"


def test_a_problem_has_the_members_of_the_answer_and_the_id_of_the_request(relay: Any) -> None:
    with pytest.raises(RelayProblem) as raised:
        relay.read(str(uuid4()))
    problem = raised.value
    assert (problem.status, problem.code) == (404, "unknown_task")
    assert problem.type is not None and problem.type.endswith("#unknown_task")
    assert problem.title != ""
    assert problem.request_id is not None
    assert str(problem) == f"404 unknown_task: {problem.detail}"


def test_a_problem_names_each_invalid_field(relay: Any) -> None:
    with pytest.raises(RelayProblem, match="/model") as raised:
        relay.register({"model": 7})
    assert [issue["path"] for issue in raised.value.issues] == ["/model"]


def test_a_wrong_key_is_refused_and_stands_in_no_text_of_the_error(connect: Any) -> None:
    with connect(URL, "trk_acme_wrong") as client:
        with pytest.raises(RelayProblem) as raised:
            client.read(str(uuid4()))
        assert raised.value.code == "unauthenticated"
        assert "trk_acme" not in f"{raised.value!r} {raised.value} {client!r}"
