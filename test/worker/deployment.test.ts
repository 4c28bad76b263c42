import { env } from "cloudflare:workers";
import { expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { nameVersion } from "../../src/lib/log.ts";
import { IP_REFUSAL } from "../../src/security/url-rules.ts";
import { call, callWith, invalid, refusal } from "./client.ts";
import { START, useClock } from "./clock.ts";
import { restart, rowsOf, stored, waitsOfADay, wake } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, finish, read, register, report } from "./tasks.ts";

useClock();

const PUBLIC = { ...env, PUBLIC_URL: "https://public.example.org/" };

it("the type URL in error responses and the URL in the User-Agent of callbacks begin with PUBLIC_URL", async () => {
  expect(await (await callWith(PUBLIC, "/nowhere")).json()).toMatchObject({
    type: "https://public.example.org/docs/errors#not_found",
  });
  const received = aReceiver();
  const id = await register();
  await restart(id, PUBLIC);
  await finish(aCompletion(id));
  expect(received[0]?.headers["user-agent"]).toBe("TaskRelay/1 (+https://public.example.org)");
});

it.each([
  ["refuses", "https://public.example.org/x"],
  ["refuses", "https://PUBLIC.example.org.:8443/"],
  ["accepts", "https://client.example.net/"],
  ["accepts", "https://relay.example.com/"],
])(
  "with PUBLIC_URL https://public.example.org, POST /v1/tasks %s the callback_url %s, whatever host the request was sent to",
  async (verb, callback_url) => {
    for (const host of ["public.example.org", "client.example.net", "relay.example.com"]) {
      const body = { model: "m", callback_url };
      const response = await callWith(PUBLIC, `https://${host}/v1/tasks`, { body });
      if (verb === "accepts") expect(response.status).toBe(201);
      else expect(await refusal(response)).toEqual(invalid("/callback_url"));
    }
  },
);

it("ALLOW_LOCAL_CALLBACKS permits callback URLs with http: and loopback hosts, but in no private network, and logs one warning", async () => {
  const lines: unknown[] = [];
  for (const method of ["log", "warn"] as const) {
    vi.spyOn(console, method).mockImplementation((line) => void lines.push(line));
  }
  const bindings = { ...env, ALLOW_LOCAL_CALLBACKS: "true" };
  for (const [callback_url, expected] of [
    ["http://localhost:9000/a", 201],
    ["http://127.0.0.1:9000/a", 201],
    ["https://[::1]/", 201],
    ["http://10.0.0.1/", 400],
  ] as const) {
    const body = { model: "m", callback_url };
    expect((await callWith(bindings, "/v1/tasks", { body })).status).toBe(expected);
  }
  expect(lines.filter((line) => String(line).includes("ALLOW_LOCAL_CALLBACKS"))).toHaveLength(1);
});

it("when the binding VERSION exists, each log line has the id of the deployed version in its field version", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  const own = env.VERSION?.id ?? null;
  expect(own).not.toBeNull();
  onTestFinished(() => nameVersion(own));
  for (const version of [own, null]) {
    // Every isolate does so at its start.
    if (version === null) nameVersion(version);
    await call("/v1/tasks", { body: {} });
    const line = z.looseObject({ event: z.string() }).parse(JSON.parse(String(log.mock.lastCall)));
    expect(line).toMatchObject({ event: "request.refused" });
    expect(line["version"]).toBe(version ?? undefined);
  }
});

it("ALLOW_IP_CALLBACKS permits a callback_url with a public IP address; without it, registrations get 400 and no callback goes to such an address", async () => {
  const received = aReceiver();
  const body = { model: "m", callback_url: "https://8.8.8.8/hook" };
  const bindings = { ...env, ALLOW_IP_CALLBACKS: "true" };
  const refused = await callWith(env, "/v1/tasks", { body });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { issues: [{ path: "/callback_url", message: IP_REFUSAL }] },
  ]);
  const id = crypto.randomUUID();
  expect((await callWith(bindings, "/v1/tasks", { body: { id, ...body } })).status).toBe(201);
  await finish(aCompletion(id));
  expect(await read(id)).toMatchObject({ callback: { attempts: [{ outcome: "blocked" }] } });
  await restart(id, bindings);
  await wake(id, 180_000);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  expect(received).toMatchObject([{ url: body.callback_url }]);
});

it.each(["http://localhost:3000/callbacks", "http://127.0.0.1:3000/", "https://[::1]/"])(
  "when the callback_url %s is refused, the refusal names ALLOW_LOCAL_CALLBACKS, which would permit it",
  async (url) => {
    const body = { model: "m", callback_url: url };
    const refused = await callWith(env, "/v1/tasks", { body });
    expect(await refused.json()).toMatchObject({
      issues: [{ message: expect.stringContaining("ALLOW_LOCAL_CALLBACKS=true") }],
    });
    const bindings = { ...env, ALLOW_LOCAL_CALLBACKS: "true" };
    expect((await callWith(bindings, "/v1/tasks", { body })).status).toBe(201);
  },
);

it("CALLBACK_SCHEDULE_S sets the number of attempts and the wait before each, also before the first", async () => {
  const received = aReceiver(status(500));
  const id = await register();
  await restart(id, { ...env, CALLBACK_SCHEDULE_S: "60,7" });
  await report(aCompletion(id));
  expect(await stored(id)).toMatchObject({ alarm: START + 60_000 });
  expect(await read(id)).toMatchObject({ callback: { status: "sending", attempts: [] } });
  await wake(id, 60_000);
  expect(await stored(id)).toMatchObject({ alarm: START + 67_000 });
  await wake(id, 7000);
  expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
  expect(received).toHaveLength(2);
});

const PAUSED = { ...env, PAUSED: "true" };

it("while PAUSED is set, the relay sends no callback and wakes a task at most 90 times a day; when PAUSED is removed, it sends the callback", async () => {
  const received = aReceiver();
  const id = await register();
  await restart(id, PAUSED);
  expect((await report(aCompletion(id))).status).toBe(202);
  const { record } = await stored(id);
  const rows = await rowsOf(id);
  const waitsMs = await waitsOfADay(id);
  expect(waitsMs[0]).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(30 * 60_000);
  expect(waitsMs.length).toBeLessThanOrEqual(90);
  expect(rows()).toBe(waitsMs.length);
  expect((await stored(id)).record).toEqual(record);
  expect(received).toEqual([]);
  await restart(id);
  await wake(id);
  expect(received).toHaveLength(1);
  const callback = { status: "delivered", attempts: [{ number: 1 }] };
  expect(await read(id)).toMatchObject({ callback });
});
