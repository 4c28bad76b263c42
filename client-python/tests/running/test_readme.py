"""The examples of the README, with a running relay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from task_relay import TaskRelay

from ..http_servers import CallbackReceiver
from .conftest import KEY, URL

README = Path(__file__).parents[2] / "README.md"


def test_the_blocks_of_the_readme_run_in_order_and_its_receiver_accepts_a_real_callback_and_no_changed_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], receiver: CallbackReceiver
) -> None:
    assert URL is not None and KEY is not None
    with TaskRelay(URL, KEY) as relay:
        secret = relay.request("GET", "/v1/signing-secrets").json()["callbacks"][0]
    monkeypatch.setenv("RELAY_URL", URL)
    monkeypatch.setenv("RELAY_KEY", KEY)
    monkeypatch.setenv("CALLBACK_SECRET", secret)
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        code = block.replace("https://client.example.com/hook", f"{receiver.url}/hook")
        exec(compile(code, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert "will end as the task" in printed
    assert "['https://cdn.example.com/a.mp4']" in printed
    assert "404 There is no task with this id." in printed
    callback = receiver.next()
    assert names["receive"](callback.body, callback.headers) == 204
    assert names["receive"](callback.body + b" ", callback.headers) == 401
