import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";

const directory = await mkdtemp(join(tmpdir(), "task-relay-corpus-"));
afterAll(() => rm(directory, { recursive: true }));

/** Runs `npm run corpus` with a file of this content. */
async function play(content: unknown) {
  const file = join(directory, "body.json");
  await writeFile(file, JSON.stringify(content));
  return run(file);
}

function run(...args: readonly string[]) {
  const command = ["scripts/corpus.ts", ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [sentence, json = "null"] = stdout.split("\n\n");
  return { status, sentence, reading: stdout === "" ? null : JSON.parse(json), error: stderr };
}

const link = "https://cdn.example.com/v.mp4";

it("for a provider whose poll takes two requests, npm run corpus prints what the relay reads in the two responses, in words and as JSON", async () => {
  const first = { http_status: 200, body: { status: "COMPLETED" } };
  const body = { video: { url: link } };
  const { status, sentence, reading } = await play({
    provider: "fal",
    endpoint: "fal-ai/model",
    first,
    body,
  });
  expect([status, sentence]).toEqual([0, "The job has succeeded, with 1 output."]);
  expect(reading).toEqual({ status: "completed", urls: [link], metadata: {} });
});

it("npm run corpus reads a response by the declaration of its upstream in the same file, and says of a response with 401 that the job stays open", async () => {
  const declaration = {
    provider: "generic",
    base_url: "https://api.example.com",
    key: "a-key",
    auth: "Authorization: Bearer {key}",
    submit: { path: "/run", id: "/id" },
    poll: { path: "/jobs/{id}", state: "/state", outputs: ["/files/*"] },
  };
  const job = { provider: "acme", declaration, body: { state: "done", files: [link] } };
  expect((await play(job)).reading).toMatchObject({ status: "completed", urls: [link] });
  const refused = await play({ ...job, http_status: 401 });
  expect([refused.status, refused.reading]).toEqual([
    1,
    { status: "open", because: "unauthorized" },
  ]);
});

it("for a file in the folder corpus of a provider, npm run corpus takes the provider from the file's path", () => {
  const { reading } = run("src/providers/ark/corpus/queued.json");
  expect(reading).toEqual({ status: "queued" });
});

it("npm run corpus refuses a file without a body, an unknown provider or a missing file with one line", async () => {
  const unknown = await play({ provider: "acme", body: {} });
  expect([unknown.status, unknown.error]).toEqual([
    2,
    expect.stringMatching(/^acme is no provider: .*fal.*\.\n$/),
  ]);
  const empty = await play({ provider: "fal" });
  expect([empty.status, empty.error]).toEqual([
    2,
    expect.stringContaining("must have either body or text"),
  ]);
  expect(run(join(directory, "missing.json"))).toMatchObject({ status: 2 });
});
