import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { install } from "../receivers/runtimes.ts";
import { answering, realBody } from "./real-bodies.ts";

/** What the evaluation of parameters needs of n8n: its expressions, and its descriptions of nodes. */
const INSTALL = `npm install --ignore-scripts --no-audit --no-fund n8n-workflow@2.41.0 &&
tar xzf "$(npm pack --silent n8n-nodes-base@2.41.2)" package/dist/types/nodes.json`;
const CALLED_BACK_WITHIN = { timeout: 30_000 };
const WORKFLOW = join(ROOT, "docs/recipes/n8n/workflow.json");
const EVALUATE = join(import.meta.dirname, "n8n/evaluate.mjs");
const TASKS = "/contents/generations/tasks";

const Workflow = z.looseObject({
  connections: z.record(
    z.string(),
    z.object({ main: z.array(z.array(z.object({ node: z.string() }))) }),
  ),
});
const Request = z.looseObject({
  method: z.enum(["GET", "POST"]),
  url: z.string(),
  genericAuthType: z.literal("httpHeaderAuth").optional(),
  headerParameters: z
    .object({ parameters: z.array(z.object({ name: z.string(), value: z.string() })) })
    .optional(),
  jsonBody: z.string().optional(),
});
const Wait = z.looseObject({ resume: z.literal("webhook"), httpMethod: z.string() });
const If = z.looseObject({
  conditions: z.looseObject({
    conditions: z.tuple([z.looseObject({ leftValue: z.string(), rightValue: z.string() })]),
  }),
});
const Evaluated = z.object({ parameters: z.unknown(), issues: z.null() });
type Items = Readonly<Record<string, unknown>>;

const upstream = await forThisFile(Receiver.start());
const n8n = await forThisFile(Receiver.start());
const relay = await forThisFile(
  Workerd.start({
    vars: { ...LOCAL_VARS, ARK_API_KEY: "ark-key", ARK_BASE_URL: upstream.origin },
  }),
);
const workflow = Workflow.parse(JSON.parse(readFileSync(WORKFLOW, "utf8")));
/** What `$execution` means in n8n's expressions. */
const execution = { id: "", resumeUrl: n8n.at("/webhook-waiting", answering({})) };

const directory = mkdtempSync(join(tmpdir(), "task-relay-n8n-"));
let unreachable: string | null = null;
beforeAll(async () => {
  const file = { packages: null, file: "evaluate.mjs", needs: ["npm"], install: INSTALL };
  const runtime = { ...file, heading: "n8n", start: "", maxLines: 0 };
  unreachable = await install(runtime, readFileSync(EVALUATE, "utf8"), directory, process.env);
}, 300_000);
afterAll(() => rmSync(directory, { recursive: true }));

/** Returns the parameters of a node as n8n evaluates them after the nodes with these items, none of which n8n's editor marks. */
function evaluated(node: string, items: Items): unknown {
  const input = JSON.stringify({ workflow, node, items, execution });
  const options = { cwd: directory, input, encoding: "utf8" } as const;
  const printed = execFileSync(process.execPath, ["evaluate.mjs"], options);
  return Evaluated.parse(JSON.parse(printed)).parameters;
}

/** Sends what the parameters of an HTTP Request node state. */
function requested(parameters: unknown): Promise<Response> {
  const { method, url, genericAuthType, headerParameters, jsonBody } = Request.parse(parameters);
  const credential = genericAuthType && { Authorization: `Bearer ${OPERATOR_KEY}` };
  const stated = headerParameters?.parameters.map(({ name, value }) => [name, value]) ?? [];
  return fetch(url.replace("https://relay.example.com", relay.url), {
    method,
    headers: { ...credential, ...Object.fromEntries(stated) },
    ...(jsonBody !== undefined && { body: jsonBody }),
  });
}

/** Returns the node that follows another one. @param output 0, or 1 for what an If node has refused. */
function after(node: string, output = 0): string {
  return workflow.connections[node]?.main[output]?.[0]?.node ?? "";
}

/** Runs the workflow from its start until the task was read, and returns the items of its nodes. */
async function runUntilRead(answer: string): Promise<Items> {
  const { job, body } = realBody("ark", answer);
  upstream.at(TASKS, answering({ id: job }));
  upstream.at(`${TASKS}/${job}`, answering(body));
  execution.id = randomUUID();
  const before = n8n.posts.length;
  const submit = after("Start");
  const submitted = await requested(evaluated(submit, { Start: {} }));
  expect([submitted.status, await submitted.json()]).toEqual([200, { id: job }]);
  const items = { [submit]: { headers: Object.fromEntries(submitted.headers) } };

  const wait = after(submit);
  const { httpMethod } = Wait.parse(evaluated(wait, items));
  await expect.poll(() => n8n.posts.length, CALLED_BACK_WITHIN).toBe(before + 1);
  const resumed = n8n.posts.at(-1);
  expect([resumed?.method, resumed?.path]).toEqual([httpMethod, "/webhook-waiting"]);
  const woken = { ...items, [wait]: { body: JSON.parse(resumed?.body ?? "") } };

  const read = after(wait);
  const task = await requested(evaluated(read, woken));
  return { ...woken, [read]: await task.json() };
}

/** Tells whether the If node lets the items pass. */
function passes(node: string, items: Items): boolean {
  const { conditions } = If.parse(evaluated(node, items));
  const [{ leftValue, rightValue }] = conditions.conditions;
  return leftValue === rightValue;
}

it("n8n evaluates the workflow of docs/recipes/n8n.md without a complaint; its Submit node submits a job, the callback comes at resumeUrl with the method of the Wait node, and Download gets the link of the video", async ({
  skip,
}) => {
  skip(unreachable !== null, unreachable ?? "");
  const items = await runUntilRead("succeeded-full");
  const condition = after("Read the task");
  expect(passes(condition, items)).toBe(true);
  const { url } = Request.parse(evaluated(after(condition), items));
  expect(url).toBe("https://ark-content-generation-cn-beijing.tos-cn-beijing.volces.com/video.mp4");
});

it("when the job of the workflow of docs/recipes/n8n.md fails, its Stop node gives the message of the task", async ({
  skip,
}) => {
  skip(unreachable !== null, unreachable ?? "");
  const items = await runUntilRead("failed-output-policy-neutral");
  const condition = after("Read the task");
  expect(passes(condition, items)).toBe(false);
  const { error } = z
    .looseObject({ error: z.object({ message: z.string() }).loose() })
    .parse(items["Read the task"]);
  expect(evaluated(after(condition, 1), items)).toMatchObject({ errorMessage: error.message });
});
