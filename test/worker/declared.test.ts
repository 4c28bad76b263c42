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

it("GET /healthz names a connection that its faulty declaration disables, and where each fault is; calls to the connection get 503", async () => {
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

it("the console names a connection that its faulty declaration disables, and says where in the declaration each fault is", async () => {
  const page = await visit("/providers", await logIn(undefined, DAMAGED), {}, DAMAGED);
  const text = await page.text();
  expect(text).toContain("CONNECTIONS.runpod.poll.path");
  expect(text).toContain("disabled");
});

it("GET /healthz shows that the declared upstream of a connection takes no key", async () => {
  const open = { key: null, auth: null };
  const bindings = { ...env, CONNECTIONS: connectionsWith("runpod", open) };
  const health: unknown = await (await callWith(bindings, "/healthz")).json();
  expect(health).toMatchObject({
    connections: { runpod: { provider: "generic", key: "not_needed" } },
    disabled: [],
  });
});

it("a hook to a connection that its faulty declaration disables gets 503, so that the upstream repeats it, and 404 if its token is wrong", async () => {
  const task = await hooked({ provider: "runpod", bindings: BINDINGS });
  const disabled = { hookUrl: task.hookUrl, bindings: DAMAGED };
  expect(await refusal(await sendHook(disabled, "{}"))).toMatchObject(NOT_CONFIGURED);
  const wrong = { hookUrl: task.hookUrl.slice(0, -4), bindings: DAMAGED };
  expect(await refusal(await sendHook(wrong, "{}"))).toEqual(UNKNOWN_TASK);
});

it("when a declared upstream takes a list with one job, the relay adds the hook URL inside the list and attaches the job that the response names", async () => {
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
  ["has two jobs", [{ taskUUID: UUID }, { taskUUID: UUID }], { status: 400, code: "invalid_json" }],
  ["has none", [], { status: 400, code: "invalid_json" }],
])(
  "a submission to a declared upstream that takes a list of one job is refused when its body %s",
  async (_, call, expected) => {
    const body = JSON.stringify(call);
    const response = await submit({ path: "/v1/submit/runware/v1", body, bindings: RUNWARE });
    expect(await refusal(response)).toMatchObject(expected);
  },
);

it("a submission with a customer's own key is refused when the connection's declared upstream takes no key", async () => {
  const bindings = { ...env, CONNECTIONS: connectionsWith("runpod", { key: null, auth: null }) };
  const headers = { "Relay-Key": "test-only-operator-key" };
  const response = await submit({ path: "/v1/submit/runpod/run", body: "{}", headers, bindings });
  expect(await refusal(response)).toEqual(invalid("/Relay-Key"));
});
