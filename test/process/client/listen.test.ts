import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { Child } from "../harness/child.ts";
import { completedEvent, LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { Workerd } from "../harness/workerd.ts";

const vars = { ...LOCAL_VARS, LISTEN: "true", CALLBACK_SCHEDULE_S: "0", CALLBACK_TIMEOUT_S: "1" };
const [relay, receiver] = await Promise.all([
  forThisFile(startRelay({ vars })),
  forThisFile(Receiver.start()),
]);
const { client } = relay;
const OK = receiver.at("/ok", { kind: "answer", status: 201, body: "thank you" });
const Key = z.object({ key: z.string() });

/** Creates an account, and returns its id and an API key. */
async function anAccount() {
  const id = randomUUID();
  await client.ask("POST", "/v1/accounts", { id });
  const { json } = await client.ask("POST", `/v1/accounts/${id}/keys`, { label: "listener" });
  return { id, key: Key.parse(json).key };
}

/** Runs the listener until the returned object is disposed of. */
function listening(to: string, key: string, url = relay.url, flags: readonly string[] = []) {
  const args = [...flags, "client/src/listen/main.ts", "listen", "--to", to, "--relay", url];
  const child = new Child(process.execPath, args, { ...process.env, TASK_RELAY_KEY: key });
  return Object.assign(child, { [Symbol.asyncDispose]: () => child.kill9() });
}

/** Reports the end of a task of the account, and returns its attempts when they are over. */
async function attemptsOf(account: string) {
  const event = { ...completedEvent(randomUUID(), "listen:"), account };
  await client.ask("POST", "/v1/events", event);
  return { id: event.id, attempts: (await client.settled(event.id)).callback?.attempts };
}

it("npm run listen passes a callback's signed headers and body on to a local receiver, whose answer becomes the attempt's outcome, and prints one line", async () => {
  const account = await anAccount();
  await using listener = listening(OK, account.key);
  await listener.printed(
    `Connected to ${relay.url} as account ${account.id}; callbacks of its tasks with the callback_url "listen:" are passed on to ${OK}`,
  );
  const { id, attempts } = await attemptsOf(account.id);
  expect(attempts).toMatchObject([
    { outcome: "delivered", status_code: 201, response_excerpt: "thank you" },
  ]);
  const posts = receiver.postsAt("/ok").filter(({ headers }) => headers["x-task-id"] === id);
  const verify = await client.verifier(`/v1/accounts/${account.id}`);
  expect(posts.map(verify)).toMatchObject([{ id, status: "completed" }]);

  const request = `/v1/tasks/${id}/attempts/1/request`;
  const Sent = z.object({ headers: z.record(z.string(), z.string()), body: z.string() });
  const sent = Sent.parse((await client.ask("GET", request)).json);
  const own = Object.keys(sent.headers).map((name) => name.toLowerCase());
  const {
    host: _host,
    connection: _connection,
    "content-length": length,
    ...rest
  } = posts[0]?.headers ?? {};
  expect(Object.keys(rest).toSorted()).toEqual(own.toSorted());
  expect([posts[0]?.body, length]).toEqual([sent.body, String(Buffer.byteLength(sent.body))]);

  await listener.printed(`${relay.url}/tasks/${id}`);
  expect(listener.output).toMatch(
    new RegExp(`task.completed ${id} attempt 1 · 201 in \\d+ ms · verified · http`),
  );
  listener.signal("SIGTERM");
  await listener.ended();
  expect(listener.exitCode).toBe(0);
});

it('a callback with the callback_url "listen:" has the outcome unreachable while npm run listen does not run, and otherwise the outcome that the local receiver causes', async () => {
  const { id, key } = await anAccount();
  const outcomeTo = async (to: string | null) => {
    if (to === null) return (await attemptsOf(id)).attempts;
    await using listener = listening(to, key);
    await listener.printed("Connected");
    return (await attemptsOf(id)).attempts;
  };
  const hang = receiver.at("/hang", { kind: "hang" });
  const redirect = { kind: "answer", status: 302, headers: { Location: OK } } as const;
  expect(await outcomeTo(null)).toMatchObject([{ outcome: "unreachable", cause: "no_listener" }]);
  expect(await outcomeTo(await closedPort())).toMatchObject([
    { outcome: "unreachable", cause: "refused" },
  ]);
  expect(await outcomeTo(hang)).toMatchObject([{ outcome: "timeout" }]);
  const endless = receiver.at("/endless", { kind: "hang_after_headers", status: 202 });
  expect(await outcomeTo(endless)).toMatchObject([{ outcome: "delivered", status_code: 202 }]);
  expect(await outcomeTo(receiver.at("/moved", redirect))).toMatchObject([
    { outcome: "redirected", status_code: 302 },
  ]);
});

it("after the relay has restarted, npm run listen connects again, says so, and receives further callbacks", async () => {
  await using own = await Workerd.start({ vars });
  await own.client.ask("POST", "/v1/accounts", { id: "acme" });
  const { json } = await own.client.ask("POST", "/v1/accounts/acme/keys", {});
  await using listener = listening(OK, Key.parse(json).key, own.url);
  await listener.printed("Connected");
  await own.restart();
  await listener.printed("Connected", 2);
  expect(listener.output).toMatch(/Not connected: .+\. Trying again in \d+ ms\./);
  const event = { ...completedEvent(randomUUID(), "listen:"), account: "acme" };
  await own.client.ask("POST", "/v1/events", event);
  const { callback } = await own.client.settled(event.id);
  expect(callback?.attempts).toMatchObject([{ outcome: "delivered", status_code: 201 }]);
});

it.each([
  ["an unknown key", "not-a-key-of-any-account", [], /401 unauthenticated: The key is unknown or/],
  ["an operator key", OPERATOR_KEY, [], /403 forbidden: .+ key of the account with the role full/],
  ["no key", "", [], /^TASK_RELAY_KEY must be the API key of an account\.$/m],
  ["Node without WebSocket", "k", ["--no-experimental-websocket"], /needs Node 22 or later/],
] as const)(
  "npm run listen with %s says what is wrong, does not claim that it passes callbacks on, and ends with the exit code 1",
  async (_, key, flags, message) => {
    await using listener = listening(OK, key, relay.url, flags);
    await listener.ended();
    expect(listener.output).toMatch(message);
    expect(listener.output).not.toContain("passed on");
    expect(listener.exitCode).toBe(1);
  },
);

it("when its key is revoked, npm run listen prints the reason and ends with the exit code 1", async () => {
  const { id, key } = await anAccount();
  await using listener = listening(OK, key);
  await listener.printed("Connected");
  const Keys = z.object({ data: z.array(z.object({ id: z.string() })) });
  const { data } = Keys.parse((await client.ask("GET", `/v1/accounts/${id}/keys`)).json);
  for (const each of data) await client.ask("DELETE", `/v1/accounts/${id}/keys/${each.id}`);
  await listener.ended();
  expect(listener.output).toContain("The relay takes no listener: The key was revoked");
  expect(listener.exitCode).toBe(1);
});
