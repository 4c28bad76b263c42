import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { answering, realBody } from "./real-bodies.ts";
import { jsonOf, runOf } from "./recipe-pages.ts";

const WITHIN = { timeout: 30_000 };
const TASKS = "/contents/generations/tasks";
const OUTPUTS_URL = "https://outputs.example.com";
const Key = z.object({ key: z.string() });
const Connections = z.object({ seedance: z.looseObject({ provider: z.literal("ark") }) });
const Queued = z.looseObject({ id: z.string(), submission: z.looseObject({ state: z.string() }) });
const Callback = z.looseObject({ output: z.looseObject({ urls: z.array(z.string()) }) });
const Outputs = z.looseObject({ outputs: z.array(z.looseObject({ kept: z.boolean() })) });

const upstream = await forThisFile(Receiver.start());
const receiver = await forThisFile(Receiver.start());
const { seedance } = Connections.parse(jsonOf("seedance"));
const connection = { ...seedance, key: "ark-key", base_url: upstream.origin };
const relay = await forThisFile(
  startRelay({
    vars: {
      ...LOCAL_VARS,
      OUTPUTS_URL,
      CONNECTIONS: JSON.stringify({ seedance: connection }),
    },
    hasOutputs: true,
  }),
);
const { client } = relay;
await client.ask("POST", "/v1/accounts", { id: "acme" });
await client.ask("POST", "/v1/accounts/acme/grants", { reference: "start", amount: 100 });
const { key } = Key.parse((await client.ask("POST", "/v1/accounts/acme/keys", {})).json);
const env = { OPERATOR_KEY, ACCOUNT_KEY: key };
const places = { relay: relay.url, receiver: receiver.origin, env };

it("with the connection and the offer of docs/recipes/seedance.md an account submits a job by the command of the page, gets 202, one callback with a link of the relay to a kept copy, and pays once", async () => {
  await runOf("seedance", "/v1/offers/", places);
  const { job, body } = realBody("ark", "succeeded-full");
  const video = upstream.at("/video.mp4", { kind: "answer", status: 200, body: "a video" });
  upstream.at(TASKS, answering({ id: job }));
  upstream.at(`${TASKS}/${job}`, answering({ ...body, content: { video_url: video } }));
  receiver.at("/hook", { kind: "answer", status: 204 });

  const submit = () => runOf("seedance", "Prefer: respond-async", places);
  const { id, submission } = Queued.parse(JSON.parse(await submit()));
  expect(submission.state).toBe("queued");
  expect(Queued.parse(JSON.parse(await submit())).id).toBe(id);
  await expect.poll(() => receiver.posts.length, WITHIN).toBe(1);
  const verify = await client.verifier("/v1/accounts/acme");
  const [post] = receiver.postsAt("/hook");
  const { output } = Callback.parse(post && verify(post));
  const [link = ""] = output.urls;
  expect(link.startsWith(`${OUTPUTS_URL}/outputs/${id}/1/`)).toBe(true);

  const isKept = async () => {
    const { json } = await client.ask("GET", `/v1/tasks/${id}`);
    return Outputs.parse(json).outputs.every(({ kept }) => kept);
  };
  await expect.poll(isKept, WITHIN).toBe(true);
  expect(await (await fetch(link.replace(OUTPUTS_URL, relay.url))).text()).toBe("a video");
  expect(upstream.postsAt(TASKS)).toHaveLength(1);
  expect(await runOf("seedance", "/v1/accounts/acme ", places)).toContain('"balance":40');
});

it("the offer of docs/recipes/seedance.md refuses a call without a duration and one that is too long, before anything is sent", async () => {
  await runOf("seedance", "/v1/offers/", places);
  const sent = upstream.postsAt(TASKS).length;
  const call = { model: "doubao-seedance-2-0-260128", content: [], resolution: "720p" };
  for (const body of [call, { ...call, duration: 12 }]) {
    const answer = await client.send("POST", `/v1/submit/seedance${TASKS}`, body, {
      headers: { Authorization: `Bearer ${key}`, "Idempotency-Key": randomUUID() },
    });
    expect(answer.status).toBe(403);
  }
  expect(upstream.postsAt(TASKS)).toHaveLength(sent);
});
