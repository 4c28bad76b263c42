"""`verify` with the conformance vectors of the relay, and with signatures that other libraries make."""

from __future__ import annotations

import base64
import json
import pickle
import time
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from standardwebhooks import Webhook

from task_relay import VerificationError, verify

CONFORMANCE = Path(__file__).parents[2] / "conformance"
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, yes").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret").decode()
TASK: Any = {"id": "0f8fad5b-d9cb-469f-a165-70867728950e", "status": "completed", "output": {"urls": []}}


def signed(body: str, secret: str = SECRET, age_s: int = 0) -> dict[str, str]:
    """Signs a body as the library of Standard Webhooks does."""
    sent_at = int(time.time()) - age_s
    at = datetime.fromtimestamp(sent_at, tz=timezone.utc)
    signature = Webhook(secret).sign("msg_1", at, body)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(sent_at),
        "webhook-signature": signature,
    }


def failure_of(body: Any, headers: Any, keys: Any = SECRET) -> VerificationError:
    with pytest.raises(VerificationError) as raised:
        verify(body, headers, keys)
    assert SECRET not in f"{raised.value} {raised.value!r}"
    return raised.value


def vectors(file: str) -> list[Any]:
    document = json.loads((CONFORMANCE / file).read_text(encoding="utf-8"))
    key = document.get("public_key", document["secret"])
    return [pytest.param(document["now"], key, vector, id=f"{file}-{vector['name']}") for vector in document["vectors"]]


@pytest.mark.parametrize(("now", "key", "vector"), vectors("v1.json") + vectors("v1a.json"))
def test_verify_accepts_and_refuses_what_the_conformance_vectors_say(
    monkeypatch: pytest.MonkeyPatch, now: int, key: str, vector: Any
) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    for request in vector["requests"]:
        body = request["body"].encode()
        if request["expected"] == "refuse":
            with pytest.raises(VerificationError):
                verify(body, request["headers"], key, progress=True)
        else:
            verified = verify(body, request["headers"], key, progress=True)
            assert verified.task == json.loads(body)
            assert verified.webhook_id == request["headers"]["webhook-id"]


def test_a_callback_signed_by_the_library_of_standard_webhooks_is_accepted() -> None:
    body = json.dumps(TASK)
    verified = verify(body, signed(body), [OTHER, SECRET])
    assert (verified.task, verified.webhook_id) == (TASK, "msg_1")
    assert abs(verified.sent_at - time.time()) < 60


def test_a_callback_signed_with_ed25519_is_accepted_with_the_public_key_alone() -> None:
    private = Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    public = "whpk_" + base64.b64encode(raw).decode()
    body = json.dumps(TASK)
    headers = signed(body)
    content = f"msg_1.{headers['webhook-timestamp']}.{body}".encode()
    signature = base64.b64encode(private.sign(content)).decode()
    both = {**headers, "webhook-signature": f"{headers['webhook-signature']} v1a,{signature}"}
    assert verify(body, both, public).task == TASK
    assert verify(body, both, SECRET).task == TASK
    assert failure_of(body, headers, public).failure == "no_matching_signature"
    assert "has no v1a signature" in str(failure_of(body, headers, public))
    cut = {**headers, "webhook-signature": "v1a,AAAA"}
    assert failure_of(body, cut, public).failure == "no_matching_signature"


def test_headers_are_read_in_any_case_and_from_the_object_of_a_server() -> None:
    body = json.dumps(TASK)
    message = Message()
    for name, value in signed(body).items():
        message[name.title()] = value
    assert verify(body.encode(), message, SECRET).task == TASK


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(name: str) -> None:
    headers = signed("{}")
    del headers[name]
    error = failure_of("{}", headers)
    assert (error.failure, error.header) == ("missing_header", name)


@pytest.mark.parametrize("timestamp", ["now", "-1", "1.5", "9" * 13, "١٢٣"])
def test_a_timestamp_that_is_no_number_of_seconds_is_malformed(timestamp: str) -> None:
    error = failure_of("{}", {**signed("{}"), "webhook-timestamp": timestamp})
    assert (error.failure, error.header) == ("malformed_header", "webhook-timestamp")


@pytest.mark.parametrize(("age_s", "failure"), [(400, "too_old"), (-400, "too_new")])
def test_a_timestamp_that_differs_by_more_than_300_s_is_refused_with_its_age(age_s: int, failure: str) -> None:
    error = failure_of("{}", signed("{}", age_s=age_s))
    assert error.failure == failure
    assert error.age_s is not None and abs(error.age_s - age_s) < 60


def test_a_changed_body_and_another_secret_match_no_signature() -> None:
    body = json.dumps(TASK)
    assert failure_of(body + " ", signed(body)).failure == "no_matching_signature"
    assert failure_of(body, signed(body, OTHER)).failure == "no_matching_signature"


def test_a_body_that_a_framework_has_parsed_is_refused() -> None:
    assert failure_of(TASK, signed(json.dumps(TASK))).failure == "body_already_read"


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("no JSON", "not_json"),
        ("[" * 100_000, "not_json"),
        ("[]", "not_a_task"),
        ('{"id": "a", "status": ["completed"]}', "not_a_task"),
        ('{"id": "a", "status": "completed"}', "not_a_task"),
        ('{"id": "a", "status": "processing", "progress": 7}', "not_a_task"),
    ],
)
def test_a_signed_body_that_tells_of_no_ended_task_is_refused(body: str, failure: str) -> None:
    assert failure_of(body, signed(body)).failure == failure


def test_progress_is_accepted_where_it_is_taken() -> None:
    body = '{"id": "a", "status": "processing", "progress": 7}'
    task = verify(body, signed(body), SECRET, progress=True).task
    assert task["status"] == "processing" and task["progress"] == 7


@pytest.mark.parametrize("keys", ["", "whsec_", "whsec_§", "secret", "whpk_AAAA", [], None, [None]])
def test_what_is_no_key_is_refused_and_stands_in_no_message(keys: Any) -> None:
    with pytest.raises(ValueError, match="^A key is a secret") as raised:
        verify("{}", {}, keys)
    assert "secret)" not in str(raised.value)


def test_a_verification_error_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(failure_of("{}", signed("{}", age_s=400))))
    assert error.failure == "too_old"
    assert str(error).startswith("The timestamp is 40")
