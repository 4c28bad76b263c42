"""The two clients, and the client in TypeScript, have the same names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import task_relay
from task_relay import AsyncTaskRelay, TaskRelay

TYPESCRIPT = Path(__file__).parents[2] / "client" / "src"


def methods_of(client: type) -> dict[str, tuple[list[str], str | None]]:
    members = inspect.getmembers(client, inspect.isfunction)
    return {
        name: (list(inspect.signature(method).parameters), method.__doc__)
        for name, method in members
        if not name.startswith("_")
    }


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


def test_both_clients_have_the_same_methods_with_the_same_parameters_and_documentation() -> None:
    asynchronous = methods_of(AsyncTaskRelay)
    asynchronous["close"] = asynchronous.pop("aclose")
    assert asynchronous == methods_of(TaskRelay)


def test_the_clients_have_the_methods_of_the_client_in_typescript() -> None:
    source = (TYPESCRIPT / "relay.ts").read_text(encoding="utf-8")
    methods = re.findall(r"^  (?:async \*?)(\w+)\(", source, re.MULTILINE)
    # `call` is a member there, and `request` is what the member `api` is for.
    expected = {snake(name) for name in methods} | {"call", "request", "close"}
    assert set(methods_of(TaskRelay)) == expected


def test_the_package_exports_the_names_of_the_package_in_typescript() -> None:
    source = (TYPESCRIPT / "index.ts").read_text(encoding="utf-8")
    values = re.findall(r"^export \{ (\w+) \}", source, re.MULTILINE)
    assert set(values) <= set(task_relay.__all__)
    types = (TYPESCRIPT / "types.ts").read_text(encoding="utf-8")
    names = set(re.findall(r"^export type (\w+)", types, re.MULTILINE))
    assert names <= set(task_relay.__all__)
