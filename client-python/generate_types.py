"""Writes src/task_relay/schema.py from openapi.json; with `--check` only says whether it would change.

The generator gets the part of openapi.json that the methods of the client take and return, under the names that the
client in TypeScript has for it. The options of the generator are in pyproject.toml.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RETURNED = (
    "Task",
    "RegisteredTask",
    "TaskStatus",
    "CompletedCallback",
    "FailedCallback",
    "ProgressCallback",
    "Problem",
)
BODIES = {
    "Registration": "/v1/tasks",
    "UpstreamJob": "/v1/tasks/{id}/upstream",
    "TaskEvent": "/v1/events",
    "RedeliveryOrder": "/v1/tasks/{id}/redeliver",
}
PREFIX = "#/components/schemas/"


def reduced(document: Any) -> Any:
    """Returns the part of a description of the API that has types for the client."""
    schemas = dict(document["components"]["schemas"])
    problem = schemas["Problem"]["properties"]
    schemas["ProblemCode"], problem["code"] = problem["code"], {"$ref": f"{PREFIX}ProblemCode"}
    issues = problem["issues"]
    schemas["Issue"], issues["items"] = issues["items"], {"$ref": f"{PREFIX}Issue"}
    for name, path in BODIES.items():
        operation = document["paths"][path]["post"]
        schemas[name] = operation["requestBody"]["content"]["application/json"]["schema"]
    listing = document["paths"]["/v1/tasks"]["get"]
    schemas["TaskFilter"] = filter_in(listing["parameters"])
    answer = listing["responses"]["200"]["content"]["application/json"]["schema"]
    # The other form answers `?count=true`, which the filter cannot contain.
    schemas["TaskPage"] = answer["anyOf"][0]
    names = with_references([*RETURNED, *BODIES, "TaskFilter", "TaskPage"], schemas)
    kept = {name: schema for name, schema in schemas.items() if name in names}
    return {
        "openapi": document["openapi"],
        "info": document["info"],
        "paths": {},
        "components": {"schemas": kept},
    }


def filter_in(parameters: Any) -> Any:
    """Returns the parameters of a query, without `count`, as one object."""
    members = {
        each["name"]: {**each["schema"], "description": each["description"]}
        for each in parameters
        if each["in"] == "query" and each["name"] != "count"
    }
    return {"type": "object", "properties": members}


def with_references(names: list[str], schemas: Any) -> set[str]:
    """Returns the names with those of all schemas that theirs refer to."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names.extend(references_in(schemas[name]))
    return found


def references_in(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for each in schema for name in references_in(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"].removeprefix(PREFIX)] if "$ref" in schema else []
    return own + references_in(list(schema.values()))


if __name__ == "__main__":
    openapi = json.loads((HERE.parent / "openapi.json").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "datamodel_code_generator", *sys.argv[1:]]
    done = subprocess.run(command, cwd=HERE, input=json.dumps(reduced(openapi)), text=True)
    sys.exit(done.returncode)
