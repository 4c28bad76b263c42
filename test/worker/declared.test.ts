import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { connectionsWith, DECLARATIONS } from "../providers/declarations.ts";
import { logIn, visit } from "./browser.ts";
import { callWith, invalid, refusal, UNKNOWN_TASK } from "./client.ts";
import { useClock } from "./clock.ts";
import { hooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { named, readSubmitted, submit } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const NOT_CONFIGURED = { status: 503, code: "not_configured" };
const BINDINGS = { ...env, CONNECTIONS: connectionsWith("runpod", { key: "k" }) };
/** The same relay after the declaration of the connection was damaged. */
const DAMAGED = {
  ...env,
  CONNECTIONS: connectionsWith("runpod", { key: "k", poll: { path: 7, outputs: "/output" } }),
};
const RUNWARE = { ...env, CONNECTIONS: connectionsWith("runware", { key: "k" }) };
const RUNWARE_URL = DECLARATIONS.runware.base_url;
const CALL = { taskType: "videoInference", model: "klingai:5@3" };
const UUID = "24cd5dff-cb81-4db5-8506-b72a9425f9d1";

it("when an upstream is described wrongly in CONNECTIONS, GET /healthz names each fault and the disabled connection, and submissions to it get 503", async () => {
  const health: unknown = await (await callWith(DAMAGED, "/healthz")).json();
  expect(health).toMatchObject({
    status: "ok",
    connections: {},
    disabled: [
      {
        name: "runpod",
        provider: "generic",
        issues: [
          { path: "CONNECTIONS.runpod.poll.path" },
          { path: "CONNECTIONS.runpod.poll.state" },
          { path: "CONNECTIONS.runpod.poll.outputs" },
        ],
      },
    ],
  });
  const path = "/v1/submit/runpod/run";
  expect(await refusal(await submit({ path, body: "{}", bindings: DAMAGED }))).toMatchObject(
    NOT_CONFIGURED,
  );
  const body = { model: "m", provider: "runpod" };
  expect(await refusal(await callWith(DAMAGED, "/v1/tasks", { body }))).toMatchObject(
    NOT_CONFIGURED,
  );
});

it("when an upstream is described wrongly in CONNECTIONS, the console says that its connection is disabled and where each fault is", async () => {
  const page = await visit("/providers", await logIn(undefined, DAMAGED), {}, DAMAGED);
  const text = await page.text();
  expect(text).toContain("CONNECTIONS.runpod.poll.path");
  expect(text).toContain("disabled");
});

it("GET /healthz shows that an upstream needs no key when CONNECTIONS describes it as one that takes none", async () => {
  const open = { key: null, auth: null };
  const bindings = { ...env, CONNECTIONS: connectionsWith("runpod", open) };
  const health: unknown = await (await callWith(bindings, "/healthz")).json();
  expect(health).toMatchObject({
    connections: { runpod: { provider: "generic", key: "not_needed" } },
    disabled: [],
  });
});

it("while an upstream is described wrongly in CONNECTIONS, its hooks get 503, so that it repeats them, and hooks with a wrong token get 404", async () => {
  const task = await hooked({ provider: "runpod", bindings: BINDINGS });
  const disabled = { hookUrl: task.hookUrl, bindings: DAMAGED };
  expect(await refusal(await sendHook(disabled, "{}"))).toMatchObject(NOT_CONFIGURED);
  const wrong = { hookUrl: task.hookUrl.slice(0, -4), bindings: DAMAGED };
  expect(await refusal(await sendHook(wrong, "{}"))).toEqual(UNKNOWN_TASK);
});

it("when an upstream described in CONNECTIONS takes a list of one job, the relay adds the hook URL to the job in the list and reads the job's id from the response", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(RUNWARE_URL, answering({ data: [{ taskUUID: UUID }] }));
  const { id, headers } = named();
  const body = `[ ${JSON.stringify({ ...CALL, taskUUID: UUID, seed: 1 })} ]`;
  const response = await submit({
    path: "/v1/submit/runware/v1",
    body,
    headers,
    bindings: RUNWARE,
  });
  expect(response.status).toBe(200);
  const [sent] = outside.sentTo(RUNWARE_URL);
  expect(sent?.body).toBe(body.replace("}", `,"webhookURL":"${sentHook(sent?.body)}"}`));
  expect(await readSubmitted(id, RUNWARE)).toMatchObject({
    model: CALL.model,
    upstream: { id: UUID },
  });
});

function sentHook(body = ""): string {
  return /"webhookURL":"([^"]+\/hooks\/runware\/[^"]+)"/.exec(body)?.[1] ?? "none";
}

it.each([
  ["names no job", [CALL], invalid("/taskUUID")],
  ["names a job by a number", [{ ...CALL, taskUUID: 7 }], invalid("/taskUUID")],
  ["is no list", { ...CALL, taskUUID: UUID }, { status: 400, code: "invalid_json" }],
  [
    "is a list of two jobs",
    [{ taskUUID: UUID }, { taskUUID: UUID }],
    { status: 400, code: "invalid_json" },
  ],
  ["is an empty list", [], { status: 400, code: "invalid_json" }],
])(
  "a submission to an upstream that CONNECTIONS describes as one that takes a list of one job is refused when its body %s",
  async (_, call, expected) => {
    const body = JSON.stringify(call);
    const response = await submit({ path: "/v1/submit/runware/v1", body, bindings: RUNWARE });
    expect(await refusal(response)).toMatchObject(expected);
  },
);

it("a submission with a customer's own key is refused when CONNECTIONS describes the upstream as one that takes no key", async () => {
  const bindings = { ...env, CONNECTIONS: connectionsWith("runpod", { key: null, auth: null }) };
  const headers = { "Relay-Key": "test-only-operator-key" };
  const response = await submit({ path: "/v1/submit/runpod/run", body: "{}", headers, bindings });
  expect(await refusal(response)).toEqual(invalid("/Relay-Key"));
});
