import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf, booksOf } from "../accounts.ts";
import { callWith, refusal } from "../client.ts";
import { useClock } from "../clock.ts";
import { restart } from "../objects.ts";
import { aQueuedRelay, members, sentTo, submitTo } from "../queued-relay.ts";
import { connectionsWith, DECLARATIONS } from "../../providers/declarations.ts";
import { answering, anOutside } from "../outside.ts";
import { aRateLimit } from "../rate-limits.ts";
import { anArk, ARK, ARK_PATH, JOB, MODEL, readSubmitted, sentToArk } from "../submitted.ts";
import { aCompletion, finish, VIDEO } from "../tasks.ts";
import {
  ARK_TOOL,
  ask,
  askAsBefore,
  callTool,
  CONTENT,
  IDEMPOTENCY_KEY,
  OFFERED,
  PRICE,
  textOf,
  ToolResult,
} from "./messages.ts";

useClock();

const Tools = z.object({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      title: z.string().optional(),
      description: z.string(),
      inputSchema: z.looseObject({}),
    }),
  ),
});

async function toolsOf(key?: string) {
  return Tools.parse((await ask("tools/list", {}, { ...(key !== undefined && { key }) })).result)
    .tools;
}

const namesOf = async (key?: string) => (await toolsOf(key)).map(({ name }) => name);

async function aTenant(credits = 100) {
  const account = await anAccount(credits);
  const { key } = await aKey(account);
  return { account, key };
}

it("each entry of OFFERS with a body is an MCP tool, whose description states the price for the account and whose schema refuses unknown members", async () => {
  const { key } = await aTenant();
  const [seedance, tried] = await toolsOf(key);
  expect(seedance).toMatchObject({
    name: ARK_TOOL,
    title: "Seedance",
    description: expect.stringMatching(/^Generates a video\. Price: 60 credits/),
    inputSchema: {
      type: "object",
      required: ["content"],
      additionalProperties: false,
      properties: {
        content: { items: { additionalProperties: false } },
        duration: { type: "integer", minimum: 1, maximum: 10, default: 5 },
      },
    },
  });
  expect(Object.keys(seedance?.inputSchema ?? {})).not.toContain("title");
  expect(tried).toMatchObject({
    name: "try",
    description: expect.stringContaining("Price: none."),
  });
});

it("for an operator key, whose calls cost nothing, the descriptions of MCP tools state no price", async () => {
  const descriptions = (await toolsOf()).map(({ description }) => description);
  expect(descriptions[0]).toMatch(/^Generates a video\. Price: none\./);
  expect(descriptions.join()).not.toContain("credits");
});

it("tools/list shows only the MCP tools that the role of the key may call: with the role read, none that submits or cancels", async () => {
  const account = await anAccount();
  const own = ["read_task", "list_tasks", "cancel_task"];
  const offered = [ARK_TOOL, "try", "sandbox-moderated", "sandbox-slow"];
  expect(await namesOf()).toEqual([...offered, ...own]);
  expect(await namesOf((await aKey(account)).key)).toEqual([...offered, ...own]);
  expect(await namesOf((await aKey(account, "read")).key)).toEqual(["read_task", "list_tasks"]);
});

it("a call of an MCP tool submits the job once, with the model of the tool's entry in OFFERS and the defaults of the tool's schema, and charges the account", async () => {
  const outside = anArk();
  const { account, key } = await aTenant();
  const { result } = await ask(
    "tools/call",
    { name: ARK_TOOL, arguments: { content: CONTENT } },
    { key },
  );
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  const id = z.object({ taskId: z.string() }).parse(result).taskId;
  expect(JSON.parse(sentToArk(outside).body)).toEqual({
    model: MODEL,
    content: CONTENT,
    duration: 5,
    callback_url: expect.stringContaining(`/hooks/ark/${id}/`),
  });
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
  expect(await readSubmitted(id)).toMatchObject({ account, submission: { state: "accepted" } });
});

it("when a call of an MCP tool that accepts any member names another model, the job still gets the tool's own model and price", async () => {
  const outside = anArk();
  const { account, key } = await aTenant(1_000);
  const offer = { connection: "ark", path: ARK_PATH };
  const body = { type: "object", additionalProperties: true };
  const OFFERS = JSON.stringify([
    { ...offer, models: [MODEL], price: { credits: 10 }, body },
    { ...offer, models: ["expensive"], price: { credits: 900 } },
  ]);
  const given = { content: CONTENT, model: "expensive" };
  await callTool(ARK_TOOL, given, { key, bindings: { ...OFFERED, OFFERS } });
  expect(JSON.parse(sentToArk(outside).body)).toMatchObject({ model: MODEL, content: CONTENT });
  expect(await booksOf(account)).toEqual(["grant 1000", "charge 10"]);
});

it.each([
  ["a member of an object", { input: { prompt: "a fox" } }, "/input/model"],
  ["a member of what is no object", { input: "a fox" }, "/input/model"],
  ["a member with a slash in its name", {}, "/input~1model"],
])(
  "an MCP tool sends the model named in OFFERS where the upstream's declaration in CONNECTIONS expects it: in %s",
  async (_, given, pointer) => {
    const outside = anOutside();
    outside.on("https://api.example.net", answering({ id: "job-1" }));
    const api = {
      provider: "generic",
      base_url: "https://api.example.net",
      key: "test-only-key",
      auth: "Authorization: Bearer {key}",
      submit: { path: "/jobs", id: "/id", model: pointer },
      poll: { path: "/jobs/{id}", id: "/id", state: "/status", outputs: ["/url"] },
      words: { running: "processing", done: "completed", failed: "failed" },
    };
    const body = { type: "object", additionalProperties: true };
    const offer = { connection: "api", path: "/jobs", models: ["small"], tool: "draw", body };
    const OFFERS = JSON.stringify([offer]);
    const bindings = { ...OFFERED, OFFERS, CONNECTIONS: JSON.stringify({ api }) };
    const { key } = await aTenant();
    await callTool("draw", given, { key, bindings });
    const [sent] = outside.sentTo("https://api.example.net");
    const model =
      pointer === "/input/model" ? { input: { model: "small" } } : { "input/model": "small" };
    expect(JSON.parse(sent?.body ?? "")).toMatchObject(model);
  },
);

it("when an upstream takes a list of jobs in one request, its MCP tool submits a list with only the job of the call", async () => {
  const outside = anOutside();
  const taskUUID = crypto.randomUUID();
  outside.on(DECLARATIONS.runware.base_url, answering({ data: [{ taskUUID }] }));
  const body = { type: "object", additionalProperties: true };
  const offer = { connection: "runware", path: "/v1", models: ["civitai:1@2"], tool: "draw", body };
  const CONNECTIONS = connectionsWith("runware", { key: "test-only-runware-key" });
  const bindings = { ...OFFERED, OFFERS: JSON.stringify([offer]), CONNECTIONS };
  const { key } = await aTenant();
  const job = { taskType: "imageInference", taskUUID, positivePrompt: "a fox" };
  const result = await callTool("draw", job, { key, bindings });
  expect(result.isError).not.toBe(true);
  const [sent] = outside.sentTo(DECLARATIONS.runware.base_url);
  expect(JSON.parse(sent?.body ?? "")).toMatchObject([{ ...job, model: "civitai:1@2" }]);
});

it("an operator's call of an MCP tool submits the job without an account, and charges nobody", async () => {
  anArk();
  const { structuredContent } = await callTool(ARK_TOOL, { content: CONTENT }, { hasTasks: false });
  expect(structuredContent).toMatchObject({ task: { model: MODEL } });
  expect(structuredContent).not.toHaveProperty("task.account");
  expect(structuredContent).not.toHaveProperty("task.credits");
});

it.each([
  [
    "the revision 2026-07-28",
    (given: object, key: string) => callTool(ARK_TOOL, given, { key, hasTasks: false }),
  ],
  [
    "an earlier revision",
    async (given: object, key: string) => {
      const params = { name: ARK_TOOL, arguments: given };
      return ToolResult.omit({ resultType: true }).parse(
        (await askAsBefore("tools/call", params, { key })).result,
      );
    },
  ],
])(
  "a tool call by an MCP client of %s that does not support tasks returns the task's id, with which the client can read it, and a status link for anybody",
  async (_, callAs) => {
    anArk();
    const { key } = await aTenant();
    const { structuredContent, content } = await callAs({ content: CONTENT }, key);
    const Started = z.object({ task: z.object({ id: z.string() }), status_url: z.string() });
    const { task, status_url } = Started.parse(structuredContent);
    expect(content[0]?.text).toContain(task.id);
    expect(content[0]?.text).toContain(status_url);
    await finish(aCompletion(task.id));
    const read = await callTool("read_task", { id: task.id }, { key, hasTasks: false });
    expect(read.structuredContent).toMatchObject({
      status: "completed",
      output: { urls: [VIDEO] },
    });
    expect(read.content.map(({ type, uri }) => [type, uri])).toEqual([
      ["text", undefined],
      ["resource_link", VIDEO],
    ]);
    const linked = await callWith(OFFERED, status_url, { key: null });
    expect(await linked.json()).toMatchObject({ id: task.id, status: "completed" });
  },
);

it.each([
  ["a missing member", {}, "/content is required"],
  ["an empty list", { content: [] }, "/content must have at least 1 items"],
  ["a wrong type", { content: CONTENT, duration: "5" }, "/duration must be a number"],
  ["a number beyond its bound", { content: CONTENT, duration: 11 }, "/duration must be at most 10"],
  ["an unknown member", { content: CONTENT, seed: 1 }, "/seed Unknown field"],
  ["the model", { content: CONTENT, model: "another" }, "/model Unknown field"],
  ["a fault within a list", { content: [{ type: "text" }] }, "/content/0/text is required"],
  [
    "a value that is not listed",
    { content: [{ type: "image", text: "" }] },
    "/content/0/type must be one of text",
  ],
])(
  "a call of an MCP tool with %s gets an error that names the wrong member, and nothing is sent or charged",
  async (_, given, fault) => {
    const outside = anArk();
    const { account, key } = await aTenant();
    const result = await callTool(ARK_TOOL, given, { key });
    expect(result).toMatchObject({ isError: true, structuredContent: { code: "invalid_request" } });
    expect(textOf(result)).toContain(fault);
    expect([outside.sentTo(ARK), await balanceOf(account)]).toEqual([[], 100]);
  },
);

it("a call of an MCP tool gets the error insufficient_credits without enough credits, and the error forbidden with a key of the role read", async () => {
  anArk();
  const { account, key } = await aTenant(PRICE - 1);
  const poor = await callTool(ARK_TOOL, { content: CONTENT }, { key });
  expect(poor).toMatchObject({
    isError: true,
    structuredContent: { code: "insufficient_credits" },
  });
  const reader = await aKey(account, "read");
  const forbidden = await callTool(ARK_TOOL, { content: CONTENT }, { key: reader.key });
  expect(forbidden).toMatchObject({ isError: true, structuredContent: { code: "forbidden" } });
});

it("calls of MCP tools count against the rate limits of the API routes that do the same", async () => {
  anArk();
  const { key } = await aTenant(1_000);
  const bindings = { ...OFFERED, LIMIT_SUBMITS: aRateLimit(1), LIMIT_LISTS: aRateLimit(0) };
  const asking = { key, bindings };
  expect(await callTool(ARK_TOOL, { content: CONTENT }, asking)).not.toHaveProperty("isError");
  for (const [name, given] of [
    [ARK_TOOL, { content: CONTENT }],
    ["list_tasks", {}],
    ["cancel_task", { id: crypto.randomUUID() }],
  ] as const) {
    expect(await callTool(name, given, asking)).toMatchObject({
      isError: true,
      structuredContent: { code: "rate_limited" },
    });
  }
});

it("when the upstream refuses the job of an MCP tool's call, the result has the text of the refusal, and the price is returned", async () => {
  anArk(answering({ error: { message: "the prompt is too long" } }, 400));
  const { account, key } = await aTenant();
  const result = await callTool(ARK_TOOL, { content: CONTENT }, { key });
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/HTTP status 400.*the prompt is too long/);
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`, `refund ${PRICE}`]);
});

it("when it is unknown whether an MCP tool's call started a job, the result has the task and tells the model not to submit again", async () => {
  anArk(answering("", 502));
  const { key } = await aTenant(1_000);
  const { result } = await ask(
    "tools/call",
    { name: ARK_TOOL, arguments: { content: CONTENT } },
    { key },
  );
  expect(result).toMatchObject({
    resultType: "task",
    status: "working",
    statusMessage: expect.stringContaining("do not submit it again"),
  });
  const plain = await callTool(ARK_TOOL, { content: CONTENT }, { key, hasTasks: false });
  expect(textOf(plain)).toMatch(/do not submit again.*read_task/i);
});

it("calls of an MCP tool with the same idempotency key in _meta submit one job; with other arguments, the same key is refused", async () => {
  const outside = anArk();
  const { account, key } = await aTenant(1_000);
  const meta = { [IDEMPOTENCY_KEY]: "order-1" };
  const asking = { key, meta, hasTasks: false };
  const [first, second] = [
    await callTool(ARK_TOOL, { content: CONTENT }, asking),
    await callTool(ARK_TOOL, { content: CONTENT }, asking),
  ];
  expect(second.structuredContent).toMatchObject({ task: { id: taskIdIn(first) } });
  expect([outside.sentTo(ARK).length, await balanceOf(account)]).toEqual([1, 1_000 - PRICE]);
  const other = await callTool(ARK_TOOL, { content: CONTENT, duration: 9 }, asking);
  expect(other.structuredContent).toMatchObject({ code: "idempotency_key_reused" });
});

it("when no place for the job of an MCP tool's call is free, the result has the task that waits for one, also when the call is repeated", async () => {
  const outside = members();
  const tool = { ...JSON.parse(OFFERED.OFFERS)[0], tool: "clip" };
  const limited = await aQueuedRelay({ a: { in_flight: 1 } });
  const [connection] = limited.names;
  const OFFERS = JSON.stringify([{ ...tool, connection }]);
  const bindings = { ...limited.bindings, OFFERS, LIMIT_SUBMITS: aRateLimit(2) };
  expect((await submitTo(limited, connection)).response.status).toBe(200);
  const { account, key } = await aTenant();
  const asking = { key, bindings, meta: { [IDEMPOTENCY_KEY]: "order-1" }, hasTasks: false };
  const waiting = await callTool("clip", { content: CONTENT }, asking);
  expect(textOf(waiting)).toMatch(/^No place .* is free, so the job waits for one\./);
  expect(waiting.structuredContent).toMatchObject({ task: { submission: { state: "queued" } } });
  const repeated = await callTool("clip", { content: CONTENT }, asking);
  expect(textOf(repeated)).toMatch(/^A call with the same key has submitted the job before\./);
  expect(taskIdIn(repeated)).toBe(taskIdIn(waiting));
  expect(sentTo(outside)).toHaveLength(1);
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
});

function taskIdIn({ structuredContent }: z.output<typeof ToolResult>): string {
  return z.object({ task: z.object({ id: z.string() }) }).parse(structuredContent).task.id;
}

it("a call of an MCP tool is refused when its idempotency key is not a text, because it could submit a second job", async () => {
  const outside = anArk();
  const meta = { [IDEMPOTENCY_KEY]: 1 };
  const result = await callTool(ARK_TOOL, { content: CONTENT }, { meta });
  expect(result).toMatchObject({ isError: true, structuredContent: { code: "invalid_request" } });
  expect(textOf(result)).toContain("/task-relay~1idempotency-key must be a string");
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("the MCP tools read_task and cancel_task answer unknown_task for a task of another account, and name the argument that is missing", async () => {
  anArk();
  const owner = await aTenant();
  const id = taskIdIn(
    await callTool(ARK_TOOL, { content: CONTENT }, { key: owner.key, hasTasks: false }),
  );
  const { key } = await aTenant();
  for (const name of ["read_task", "cancel_task"]) {
    const hidden = await callTool(name, { id }, { key });
    expect(hidden).toMatchObject({ isError: true, structuredContent: { code: "unknown_task" } });
    expect(textOf(await callTool(name, {}, { key }))).toContain("/id is required");
  }
  expect(await readSubmitted(id)).toMatchObject({ status: "pending" });
});

it("the MCP tool cancel_task cancels a task just as POST /v1/tasks/{id}/cancel does", async () => {
  const outside = anArk(({ method }) =>
    method === "DELETE" ? Response.json({}) : Response.json({ id: JOB, status: "queued" }),
  );
  const { account, key } = await aTenant();
  const id = taskIdIn(await callTool(ARK_TOOL, { content: CONTENT }, { key, hasTasks: false }));
  await restart(id, OFFERED);
  const canceled = await callTool("cancel_task", { id }, { key });
  expect(canceled.structuredContent).toMatchObject({ id, account, cancel: { reason: "order" } });
  expect(outside.sentTo(ARK).map(({ method }) => method)).toContain("DELETE");
});

it("without an index, the MCP tool list_tasks is refused just as GET /v1/tasks is", async () => {
  const result = await callTool("list_tasks", { status: "completed", limit: 5 });
  expect(result).toMatchObject({ isError: true, structuredContent: { code: "index_disabled" } });
});

it("an MCP request with a key that may not read gets 403, one with an unknown key gets 401, and no tool is called", async () => {
  const outside = anArk();
  const bindings = { ...OFFERED, OPERATOR_KEYS: "metrics:test-only-metrics-key" };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: ARK_TOOL } };
  const asMetrics = await callWith(bindings, "/mcp", { body, key: "test-only-metrics-key" });
  expect(await refusal(asMetrics)).toEqual({ status: 403, code: "forbidden" });
  for (const key of [null, "unknown"]) {
    const unknown = await callWith(bindings, "/mcp", { body, key });
    expect(unknown.headers.get("WWW-Authenticate")).toContain("Bearer");
    expect(await refusal(unknown)).toEqual({ status: 401, code: "unauthenticated" });
  }
  expect(outside.sentTo(ARK)).toEqual([]);
});
