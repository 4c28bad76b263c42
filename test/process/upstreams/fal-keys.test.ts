import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { FalKey } from "./fal-key.ts";

const USER = "process-test-fal-user";
/** Time in milliseconds after a fetch of the key set before an unknown key makes the relay fetch it again. */
const REFRESH_PAUSE_MS = 30_000;
const JOB = "764cabcf-b745-4b3e-ae38-1200304cf45b";
const VIDEO = "https://v3.fal.media/files/a/b.mp4";
const BODY = JSON.stringify({ request_id: JOB, status: "OK", payload: { video: { url: VIDEO } } });
const CONNECTIONS = ["valid", "rotated", "down", "hanging"] as const;
const ACCEPTED = { status: 200, text: "ok", task: "completed" };
const REFUSED = { status: 401, task: "pending" };

/** Serves the key set of each connection under its name. */
const server = await forThisFile(Receiver.start());
const connections = CONNECTIONS.map((name) => {
  return [name, { provider: "fal", jwks_url: server.at(`/${name}`), user_id: USER }];
});
const vars = { ...LOCAL_VARS, CONNECTIONS: JSON.stringify(Object.fromEntries(connections)) };
const { client } = await forThisFile(Workerd.start({ vars }));

function publish(name: string, ...keys: readonly object[]): void {
  server.at(`/${name}`, { kind: "answer", status: 200, body: JSON.stringify({ keys }) });
}

const fetches = (name: string) => server.postsAt(`/${name}`).length;

/** Registers a task and sends the hook that completes it. */
async function hook(connection: (typeof CONNECTIONS)[number], key: FalKey) {
  const { id, hook_url } = await client.register({ provider: connection });
  const headers = key.sign(JOB, USER, BODY);
  const response = await fetch(hook_url, { method: "POST", headers, body: BODY });
  const text = await response.text();
  const retryAfter = response.headers.get("Retry-After");
  return { status: response.status, text, retryAfter, task: (await client.read(id)).status };
}

it.concurrent("the relay fetches fal's public keys once for several hooks with valid signatures, even if some of the keys are unusable", async () => {
  const [key, other] = [new FalKey(), new FalKey()];
  const rsa = { kty: "RSA", n: "AQAB", e: "AQAB" };
  const unusable = { kty: "OKP", crv: "Ed25519", x: "_".repeat(43) };
  publish("valid", rsa, unusable, other.jwk, key.jwk);
  for (const signer of [key, other]) expect(await hook("valid", signer)).toMatchObject(ACCEPTED);
  expect(fetches("valid")).toBe(1);
});

it.concurrent("the relay fetches fal's public keys again for a hook signed with an unknown key, but not within 30 s of the last fetch", async () => {
  const [before, after, unknown] = [new FalKey(), new FalKey(), new FalKey()];
  publish("rotated", before.jwk);
  expect(await hook("rotated", before)).toMatchObject(ACCEPTED);
  publish("rotated", after.jwk);
  expect(await hook("rotated", unknown)).toMatchObject(REFUSED);
  expect(fetches("rotated")).toBe(1);
  await sleep(REFRESH_PAUSE_MS);
  expect(await hook("rotated", after)).toMatchObject(ACCEPTED);
  expect(fetches("rotated")).toBe(2);
  expect(await hook("rotated", before)).toMatchObject(REFUSED);
});

const answer = (status: number, body: string, headers = {}): Behaviour => {
  return { kind: "answer", status, body, headers };
};

it.each([
  ["is answered with 500", answer(500, "")],
  ["is answered with 404 and an empty key set", answer(404, '{"keys":[]}')],
  ["is redirected", answer(302, "", { Location: "/elsewhere" })],
  ["is answered with 200 and no JSON", answer(200, "<html>")],
  ["is answered with JSON of another shape", answer(200, '{"key":1}')],
] as const)(
  "a hook of fal is answered with 503 and Retry-After when the request for fal's public keys %s",
  async (_, behaviour) => {
    server.at("/down", behaviour);
    expect(await hook("down", new FalKey())).toMatchObject({
      status: 503,
      retryAfter: expect.stringMatching(/^[1-9]\d*$/),
      task: "pending",
    });
    expect(fetches("elsewhere")).toBe(0);
  },
);

it("while the server of fal's public keys hangs, a hook of fal gets 503 if the relay has fetched no key before, and is accepted if the relay has fetched the hook's key before", async () => {
  const key = new FalKey();
  server.at("/hanging", { kind: "hang" });
  expect(await hook("hanging", key)).toMatchObject({ status: 503, task: "pending" });
  publish("hanging", key.jwk);
  expect(await hook("hanging", key)).toMatchObject(ACCEPTED);
  server.at("/hanging", { kind: "hang" });
  expect(await hook("hanging", key)).toMatchObject(ACCEPTED);
});
