"""What a caller does wrong is said at once, without a secret, and without a request."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from .conftest import Connect

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "relay.example.com",
        "localhost:8787",
        "ftp://relay.example.com",
        "https://",
        "https://operator:secret@relay.example.com",
        "https://relay.example.com?key=secret",
        None,
    ],
)
def test_a_url_that_is_no_origin_is_refused_and_stands_in_no_message(connect: Connect, url: Any) -> None:
    with pytest.raises(ValueError, match="^url ") as raised:
        connect(url, "trk_acme_0")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("key", ["", "  ", None, "trk_secret\r\nX: y", "trk_secret ключ"])
def test_a_key_that_a_header_cannot_contain_is_refused_and_stands_in_no_message(connect: Connect, key: Any) -> None:
    with pytest.raises(ValueError, match="^key ") as raised:
        connect("https://relay.example.com", key)
    assert "secret" not in str(raised.value)


def test_a_key_from_a_file_may_end_with_a_newline_and_a_url_with_a_slash(connect: Connect) -> None:
    with connect("https://relay.example.com/", "trk_acme_0\n") as client:
        assert client.url == "https://relay.example.com"
        assert "trk" not in repr(client)


@pytest.fixture
def relay(connect: Connect) -> Any:
    # Nothing listens there: a request would be tried for 30 seconds.
    return connect("http://127.0.0.1:9", "trk_acme_0")


@pytest.mark.parametrize("path", ["../tasks", "a/../../b", "tasks?x=1", "tasks#x", "a b", "..%2f/../x"])
def test_a_path_that_leads_elsewhere_is_refused(relay: Any, path: str) -> None:
    with pytest.raises(ValueError, match="path is not plain"):
        relay.submit("ark", path, json={})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"callbackUrl": "https://c.example.com"}, TypeError, "callbackUrl"),
        ({"callback_url": "https://c.example.com/ключ"}, ValueError, "^callback_url "),
        ({"callback_url": "https://c.example.com\r\nX: y"}, ValueError, "^callback_url "),
        ({"idempotency_key": "a\nb"}, ValueError, "^idempotency_key "),
        ({"json": {}, "body": b""}, TypeError, "json and body"),
        ({"json": float("nan")}, ValueError, "not JSON compliant"),
        ({"json": {1, 2}}, TypeError, "not JSON serializable"),
        ({"key": "own"}, ValueError, "^key "),
    ],
)
def test_a_wrong_option_of_submit_is_named(
    relay: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        relay.submit("ark", "tasks", **options)


def test_an_empty_id_and_the_url_of_another_host_are_refused(relay: Any) -> None:
    with pytest.raises(ValueError, match="id is empty"):
        relay.read("")
    with pytest.raises(ValueError, match="path does not begin with a slash"):
        relay.request("GET", "https://evil.example.com/")


def test_a_relay_that_cannot_be_reached_is_tried_for_retry_for_s(connect: Connect) -> None:
    with connect("http://127.0.0.1:9", "trk_acme_0", retry_for_s=1) as client:
        started_at = time.monotonic()
        with pytest.raises(httpx.ConnectError):
            client.read(ID)
        assert time.monotonic() - started_at < 20
