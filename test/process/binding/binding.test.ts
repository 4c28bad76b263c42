import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { DocumentedWorker } from "../harness/documented-worker.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const receiver = await forThisFile(Receiver.start());
const vars = { ...LOCAL_VARS, PUBLIC_URL: "https://relay.example.com", ARK_API_KEY: "test-key" };

/** Worker that calls the method of `Relay` named by the path, with the arguments in the body. */
const CALLS_RELAY = `export default {
  async fetch(request, { RELAY }) {
    const method = new URL(request.url).pathname.slice(1);
    return Response.json(await RELAY[method](...(await request.json())));
  },
};`;

it("a Worker that is bound to the entrypoint Relay registers, attaches, cancels, reports, reads, redelivers and erases without a key", async () => {
  await using relay = await Workerd.start({ vars, boundScript: CALLS_RELAY });
  const call = async (method: string, ...args: unknown[]): Promise<unknown> => {
    const init = { method: "POST", body: JSON.stringify(args) };
    return (await fetch(`${relay.boundUrl}/${method}`, init)).json();
  };
  const [canceled, id] = [crypto.randomUUID(), crypto.randomUUID()];
  const callback_url = receiver.at("/bound", { kind: "answer", status: 204 });
  const task = { model: "seedance", callback_url };

  expect(await call("register", { ...task, id: canceled, provider: "ark" })).toMatchObject({
    ok: true,
    isNew: true,
    task: { hook_url: expect.stringContaining(`https://relay.example.com/hooks/ark/${canceled}/`) },
  });
  const job = { provider: "ark", id: "cgt-1" };
  expect(await call("attach", canceled, job)).toMatchObject({ ok: true, task: { id: canceled } });
  const failed = { ok: true, task: { status: "failed", cancel: { state: "not_sent" } } };
  expect(await call("cancel", canceled, { force: true })).toMatchObject(failed);

  await call("register", { ...task, id });
  const event = { id, status: "completed", output: { urls: ["https://cdn.example.com/1.mp4"] } };
  expect(await call("report", event)).toMatchObject({ ok: true, isNew: true });
  await relay.client.settled(id);
  expect(await call("redeliver", id)).toMatchObject({ ok: true, isNew: true });
  await relay.client.settled(id);
  const delivered = { id, callback: { status: "delivered", attempts: [{}, {}] } };
  expect(await call("read", id, { wait: 1 })).toMatchObject({ ok: true, task: delivered });
  expect(await call("erase", id)).toEqual({ ok: true });
  const problem = { status: 404, code: "unknown_task" };
  expect(await call("read", id)).toMatchObject({ ok: false, problem });
});

it("the Worker in docs/binding.md type-checks, and submits a job once, however often it gets the same order", async () => {
  await using worker = await DocumentedWorker.create("binding.md");
  expect(await worker.typeErrors()).toBe("");
  const answer = { kind: "answer", status: 200, body: '{"id":"cgt-1"}' } as const;
  receiver.at("/contents/generations/tasks", answer);
  const ark = { ...vars, ARK_BASE_URL: receiver.origin };
  await using relay = await Workerd.start({ vars: ark, boundScript: worker.script });
  const callback_url = receiver.at("/documented", { kind: "answer", status: 204 });
  const order = { order: crypto.randomUUID(), prompt: "a fox", callback_url };
  const send = () => fetch(relay.boundUrl, { method: "POST", body: JSON.stringify(order) });
  const [first, again] = [await send(), await send()];
  expect([first.status, await first.text(), await again.text()]).toEqual([
    200,
    answer.body,
    answer.body,
  ]);
  const [post, ...others] = receiver.postsAt("/contents/generations/tasks");
  expect([post?.headers["authorization"], others]).toEqual(["Bearer test-key", []]);
  const id = first.headers.get("Relay-Task-Id") ?? "";
  expect(JSON.parse(post?.body ?? "")).toMatchObject({
    content: [{ type: "text", text: "a fox" }],
    callback_url: expect.stringContaining(`https://relay.example.com/hooks/ark/${id}/`),
  });
  const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
  expect(json).toMatchObject({ id, callback: { url: callback_url }, upstream: { id: "cgt-1" } });
});
