import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, it } from "vitest";
import { readTable } from "../../../scripts/setup/wrangler-toml.ts";
import { ROOT } from "../harness/child.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";

const KEY = "ark-test-only-secret-key";
const upstream = await forThisFile(Receiver.start());
const directory = await mkdtemp(join(tmpdir(), "task-relay-providers-check-"));
afterAll(() => rm(directory, { recursive: true }));

/** Runs `npm run providers:check` with these arguments and with these variables in a file of secrets. */
async function check(args: readonly string[], vars: Readonly<Record<string, string>> = {}) {
  const file = join(directory, "vars");
  const lines = Object.entries(vars).map(([name, value]) => `${name}='${value}'\n`);
  await writeFile(file, lines.join(""));
  const command = ["scripts/providers-check.ts", ...args, "--secrets", file];
  const child = spawn(process.execPath, command, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [out, error] = [stdout, stderr].map((written) =>
    written.trimEnd().replaceAll(file, "FILE"),
  );
  return { status: await exit, lines: out?.split("\n").filter(Boolean), error };
}

/** Makes the upstream answer requests for a path, and returns the variables with which it is polled. */
function answering(path: string, body: unknown, status = 200, headers = {}) {
  const answer = { kind: "answer", status, headers, body: JSON.stringify(body) } as const;
  upstream.at(path, answer);
  return varsOf(upstream.origin);
}

function varsOf(origin: string): Readonly<Record<string, string>> {
  const team = { provider: "fal", key: "fal-test-only-key", base_url: origin };
  return {
    ARK_API_KEY: KEY,
    ARK_BASE_URL: origin,
    CONNECTIONS: JSON.stringify({ "fal-team": team, "fal-keyless": { provider: "fal" } }),
    ALLOW_LOCAL_CALLBACKS: "true",
  };
}

const PATH = "/contents/generations/tasks/cgt-1";
const OPEN = "stays open";
const task = (fields: object) => ({ id: "cgt-1", ...fields });
const job = ["ark", "--job", "cgt-1"];
const refusal = `Wrong\u001B[31m signature, api_key=${KEY}, see https://a.example/b?token=x`;

it.each([
  [
    "a success",
    task({
      status: "succeeded",
      updated_at: 1_767_225_720,
      content: { video_url: "https://user:pass@cdn.example/a.mp4?X-Signature=abcdef" },
      resolution: "720p",
      usage: { completion_tokens: 108_900 },
    }),
    200,
    [
      "HTTP status  200",
      "state        succeeded",
      "phase        completed",
      "ended at     2026-01-01T00:02:00.000Z",
      "link         https://cdn.example/a.mp4?…",
      "links        1, which live: 24 hours",
      'metadata     {"resolution":"720p"}',
      'usage        {"completion_tokens":108900}',
      "task         completes, with the whole links",
    ],
    0,
  ],
  [
    "a failure",
    task({ status: "failed", error: { code: "InternalServiceError", message: refusal } }),
    200,
    [
      "HTTP status  200",
      "state        failed",
      "phase        failed",
      "error        Wrong [31m signature, api_key=…, see https://a.example/b",
      "category     provider, worth a retry",
      "task         fails with upstream_error",
    ],
    0,
  ],
  [
    "a running job",
    task({ status: "running" }),
    200,
    [
      "HTTP status  200",
      "state        running",
      "phase        processing",
      `task         ${OPEN}, as processing`,
    ],
    0,
  ],
  [
    "an unknown state",
    task({ status: "dreamt" }),
    200,
    [
      "HTTP status  200",
      "state        dreamt",
      "phase        unclear",
      expect.stringContaining(`task         ${OPEN}: the answer is not understood. Compare the id`),
    ],
    1,
  ],
  [
    "the id of another job",
    { id: "cgt-2", status: "succeeded" },
    200,
    ["HTTP status  200", "phase        unclear", expect.stringContaining(OPEN)],
    1,
  ],
  [
    "HTTP 401",
    {},
    401,
    [
      "HTTP status  401",
      "phase        unauthorized",
      `task         ${OPEN} until its deadline: the provider refuses the key`,
    ],
    3,
  ],
  [
    "HTTP 429",
    {},
    429,
    [
      "HTTP status  429",
      "phase        limited",
      `task         ${OPEN} and is polled again after 7 s: the provider limits the rate`,
    ],
    4,
  ],
  [
    "HTTP 503",
    {},
    503,
    [
      "HTTP status  503",
      "phase        unanswered",
      `task         ${OPEN} and is polled again: the provider has a fault`,
    ],
    4,
  ],
])(
  "npm run providers:check prints what a poll's response (%s) means, without secrets, and exits with 0 only if the response tells the state of the job",
  async (_, body, status, lines, exit) => {
    const vars = answering(PATH, body, status, { "Retry-After": "7" });
    expect(await check(job, vars)).toEqual({ status: exit, lines, error: "" });
    expect(upstream.postsAt(PATH).at(-1)).toMatchObject({
      method: "GET",
      headers: { authorization: `Bearer ${KEY}` },
    });
  },
);

it("when a job's output comes in base64 and the relay does not copy outputs, npm run providers:check prints the error code with which the task would fail", async () => {
  answering("/jobs/job-1", { status: "done", file: "data:image/png;base64,iVBORw0KGgo=" });
  const gpu = {
    provider: "generic",
    base_url: upstream.origin,
    submit: { path: "/jobs", id: "/id" },
    poll: { path: "/jobs/{id}", state: "/status", outputs: ["/file"] },
  };
  const vars = { CONNECTIONS: JSON.stringify({ gpu }), ALLOW_LOCAL_CALLBACKS: "true" };
  const { lines } = await check(["gpu", "--job", "job-1"], vars);
  expect(lines).toContain("task         fails with output_needs_store");
});

it("for a connection to fal in CONNECTIONS, npm run providers:check also sends a second request, for the result, and prints the result's link", async () => {
  const app = "/fal-ai/veo3/requests/req-1";
  answering(app, { video: { url: "https://v3.fal.media/a.mp4" } });
  const vars = answering(`${app}/status`, { status: "COMPLETED" });
  const args = ["fal-team", "--job", "req-1", "--endpoint", "fal-ai/veo3/fast"];
  const { status, lines } = await check(args, vars);
  expect(lines).toContain("link         https://v3.fal.media/a.mp4");
  expect(status).toBe(0);
});

it.each([
  [
    "that the task completes with a link of the relay",
    { PUBLIC_URL: "https://relay.example.com" },
    "completed",
    /^task +completes, with links of the relay where the upstream's own open only with the key$/,
  ],
  [
    "that the relay needs an address for a link of its own",
    {},
    "completed, without output",
    /^task +stays open, and fails .*: its link opens only with the key, .* without PUBLIC_URL or OUTPUTS_URL/,
  ],
])(
  "for a successful job whose only link opens with the gateway's key, npm run providers:check prints %s",
  async (_, address, phase, outcome) => {
    const path = "/v1/videos/video_1";
    const content = `${upstream.origin}${path}/content`;
    answering(path, { id: "video_1", object: "video", status: "completed", url: content });
    upstream.at(`${path}/content`, { kind: "answer", status: 206, body: "f" });
    const gateway = {
      OPENAI_VIDEOS_API_KEY: "test-only-videos-key",
      OPENAI_VIDEOS_BASE_URL: upstream.origin,
    };
    const vars = { ...gateway, ...address, ALLOW_LOCAL_CALLBACKS: "true" };
    const { status, lines } = await check(["openai-videos", "--job", "video_1"], vars);
    expect(lines).toContain(`phase        ${phase}`);
    expect(lines?.at(-1)).toMatch(outcome);
    expect(lines?.includes(`link         ${content}`)).toBe(phase === "completed");
    expect(status).toBe(0);
  },
);

it.each([
  ["no id of a job", ["ark"], {}, 2, /^Usage: npm run providers:check -- ark --job ID /],
  ["no API key", job, { ARK_API_KEY: "" }, 2, /^ark has no key: set ARK_API_KEY in FILE\.$/],
  [
    "newapi without its variables",
    ["newapi", "--job", "x"],
    {},
    2,
    /NEWAPI_API_KEY and NEWAPI_BASE_URL/,
  ],
  [
    "a connection without a key",
    ["fal-keyless", "--job", "x"],
    {},
    2,
    /set it in CONNECTIONS in FILE/,
  ],
  ["an unknown provider", ["sora", "--job", "x"], {}, 2, /^sora is no provider or .*: ark, .*team/],
  ["a path as a job id", ["ark", "--job", "../x"], {}, 2, /^--job must be an id of the upstream/],
  [
    "--endpoint for ark, which has none",
    [...job, "--endpoint", "x"],
    {},
    2,
    /^--endpoint is not used by ark\.$/,
  ],
  [
    "no --endpoint for fal, which needs it",
    ["fal-team", "--job", "x"],
    {},
    2,
    /^--endpoint is required: what the/,
  ],
  [
    "a base URL on a host that is not ark's",
    job,
    { ARK_BASE_URL: "https://a.example" },
    2,
    /^ARK_BASE_URL must stay on/,
  ],
])(
  "npm run providers:check sends no request, and says why, when it is given %s",
  async (_, args, vars, exit, message) => {
    const { status, lines, error } = await check(args, {
      ...varsOf("http://127.0.0.1:1"),
      ...vars,
    });
    expect({ status, lines }).toEqual({ status: exit, lines: [] });
    expect(error).toMatch(message);
    expect(error).not.toContain("test-only");
  },
);

it("npm run providers:check reads variables from the table [vars] in wrangler.toml", () => {
  const vars =
    'A = "https://a.example" # text\nB=3\n# C = "no"\nD = \'{"x": {}}\'\nE = [\n"no",\n]\n';
  const toml = `B = "above"\n[dev]\nF = "no"\n[vars]\n${vars}[[queues]]\nG = "no"\n`;
  expect(readTable(toml, "vars")).toEqual({ A: "https://a.example", B: "3", D: '{"x": {}}' });
});

it.each([
  ["cannot be reached", "cannot be reached, or broke off its answer."],
  ["never answers", "did not answer within 10 s."],
])(
  "npm run providers:check names the fault in one line and exits with status 4 when the provider %s",
  async (what, message) => {
    upstream.at(PATH, { kind: "hang" });
    const origin = what === "never answers" ? upstream.origin : new URL(await closedPort()).origin;
    const { status, error } = await check(job, varsOf(origin));
    expect({ status, error }).toEqual({ status: 4, error: `${origin} ${message}` });
  },
);
