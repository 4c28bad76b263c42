import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";
import { Client, OPERATOR_KEY, SECRETS } from "../harness/client.ts";
import { skipWithout } from "../harness/program.ts";
import { DATA, Image } from "./image.ts";

const UNIT = readFileSync(join(ROOT, "ops/task-relay.service"), "utf8");

it("the image of the relay serves the console with RELAY_SECRET and OPERATOR_KEYS alone, as a user without privileges who writes to the volume alone, ends within 10 s of SIGTERM when a client waits, and keeps its tasks", async ({
  skip,
}) => {
  skipWithout(["buildah"], skip);
  await using image = await Image.build();
  const { User, Env, Entrypoint, Cmd, Volumes } = image.config;
  expect({ User, Volumes }).toEqual({ User: "65532:65532", Volumes: { [DATA]: {} } });
  expect(Env).toContain("RATE_LIMITS=default");
  const [, ofUnit = ""] = /^ExecStart=(.*)$/m.exec(UNIT) ?? [];
  expect([...Entrypoint, ...Cmd].join(" ").replace("*:8787", "${HTTP_ADDRESS}")).toBe(ofUnit);

  await image.start(SECRETS);
  expect(await loggedInAt(image.url)).toContain("Task Relay");
  const client = new Client(image);
  expect(JSON.stringify((await client.ask("GET", "/healthz")).json)).toContain("LIMIT_SUBMITS=60");
  expect((await fetch(`${image.url}/openapi.json`)).headers.get("Content-Type")).toBe(
    "application/json",
  );
  const id = randomUUID();
  expect((await client.ask("POST", "/v1/tasks", { id, model: "m" })).status).toBe(201);

  const owners = readFileSync(`/proc/${image.pid}/status`, "utf8");
  expect(owners).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m);
  const written = execFileSync("find", [image.root, "-xdev", "-uid", "65532"], {
    encoding: "utf8",
  });
  const outside = written.split("\n").filter((path) => !path.includes(DATA) && path !== "");
  expect(outside).toEqual([]);

  const waiting = client.send("GET", `/v1/tasks/${id}?wait=5`);
  // workerd closes a connection on which no request has begun.
  await sleep(1_000);
  image.terminate();
  expect(await image.ended()).toBe(0);
  expect((await waiting).status).toBe(200);
  await image.start(SECRETS);
  expect((await client.read(id)).id).toBe(id);
});

/** Logs in to the console with the operator key. @returns the page that then opens. */
async function loggedInAt(url: string): Promise<string> {
  const form = new URLSearchParams({ key: OPERATOR_KEY });
  const headers = { Accept: "text/html", "Sec-Fetch-Site": "same-origin" };
  const login = await fetch(`${url}/login`, {
    method: "POST",
    body: form,
    headers,
    redirect: "manual",
  });
  expect(login.status).toBe(303);
  const cookie = login.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  const page = await fetch(url, { headers: { Accept: "text/html", Cookie: cookie } });
  expect(page.status).toBe(200);
  return await page.text();
}
