import { decode, verify } from "hono/jwt";
import { expect, it } from "vitest";
import { kling } from "../../src/providers/kling/kling.ts";
import { minimax } from "../../src/providers/minimax/minimax.ts";
import { progressIn } from "../../src/providers/observation.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { runway } from "../../src/providers/runway/runway.ts";
import { NOW, NOW_S } from "./hook.ts";
import { anAnswer } from "./answer.ts";

const ours = "0f8fad5b-d9cb-469f-a165-70867728950e";
// The tokens are verified at NOW, not at the time of the test.
const HS256 = { alg: "HS256", exp: false, nbf: false } as const;

it.each([
  ["classic", { task_id: "1", task_status: "submitted", task_info: { external_task_id: ours } }],
  ["2026", { id: "1", status: "submitted", external_id: ours }],
])(
  "the task id that a client gave Kling at submission is read from a hook of Kling's %s API",
  (_, body) => {
    expect(kling.hooks.read(body)?.taskId).toBe(ours);
  },
);

it.each(["videos/text2video", "videos/avatar/image2video", "images/editing/expand"])(
  "the submit path %s of the classic Kling API is accepted as the endpoint of a job",
  (endpoint) => {
    expect(kling.polls.endpoint?.pattern.test(endpoint)).toBe(true);
  },
);

it("a poll of a job of the classic Kling API requests the path that consists of the endpoint of the submit call and the job id, both URL-encoded", () => {
  const job = { id: "a/b", endpoint: "videos/image2video?x" };
  expect(kling.polls.path(job)).toBe("/v1/videos/image2video%3Fx/a%2Fb");
});

it("a poll of Kling with a classic key sends a JSON Web Token for 30 minutes, signed with the secret part of the key", async () => {
  const token = await tokenFor("ak-0001:sk-0001");
  const claims = { iss: "ak-0001", exp: NOW_S + 1800, nbf: NOW_S - 5 };
  expect(await verify(token, "sk-0001", HS256)).toEqual(claims);
  expect(decode(token)).toEqual({ header: { alg: "HS256", typ: "JWT" }, payload: claims });
  await expect(verify(token, "sk-0002", HS256)).rejects.toThrow();
});

it.each(["key-0001", "a:b:c", ":secret", "access:"])(
  "a poll of Kling sends the API key %j unchanged, because this key does not have the form access:secret",
  async (key) => {
    expect(await tokenFor(key)).toBe(key);
  },
);

it("a poll of MiniMax replaces half a surrogate pair in a file id by U+FFFD in the URL that retrieves the file", () => {
  const body = { status: "Success", file_id: "\ud800" };
  const reading = minimax.polls.read(anAnswer({ status: 200, body }));
  expect(reading).toMatchObject({ path: "/v1/files/retrieve?file_id=%EF%BF%BD" });
});

it.each<[string, object, number | undefined]>([
  ["runway", { progress: 0.29 }, 29],
  ["runway", { progress: 0 }, 0],
  ["runway", { progress: 1.2 }, 100],
  ["runway", { progress: -0.1 }, 0],
  ["runway", { progress: "soon" }, undefined],
  ["runway", {}, undefined],
  ["xai", { progress: 40 }, 40],
  ["xai", {}, undefined],
  ["replicate", { logs: "Seed: 1\n 76%|███ | 38/50 [00:33<00:10]" }, 76],
  ["replicate", { logs: "0%| | 0/9\r10%|█ | 1/9\r22%|██ | 2/9\nSaving" }, 22],
  ["replicate", { logs: "999%| | 9/9" }, 100],
  ["replicate", { logs: "Loaded 50% of the model" }, undefined],
  ["replicate", { logs: null }, undefined],
  ["newapi", { progress: "50%" }, 50],
  ["newapi", { progress: "soon" }, undefined],
  ["openai-videos", { progress: 42 }, 42],
])(
  "from an answer of %s with the fields %j, the relay reads this progress of the job in percent (undefined if unknown): %j",
  (name, fields, progress) => {
    const body = { id: "1", status: "processing", ...fields };
    const reading = PROVIDERS.get(name)?.polls.read(
      anAnswer({ status: 200, body }),
      { id: "1", endpoint: null },
      "",
    );
    expect(reading?.kind === "observed" && progressIn(reading.observation).progress).toBe(progress);
  },
);

it.each([
  ["with quotes", { challenge: 'a "quoted" ü' }, '{"challenge":"a \\"quoted\\" ü"}'],
  ["beside a task id", { challenge: "abc", task_id: "1" }, '{"challenge":"abc"}'],
  ["of 512 characters", { challenge: "x".repeat(512) }, `{"challenge":"${"x".repeat(512)}"}`],
])(
  "a hook of MiniMax that asks for the echo of a challenge %s is answered with JSON that contains the challenge alone",
  (_, body, answer) => {
    expect(minimax.hooks?.preflight?.(body)).toBe(answer);
  },
);

it.each([
  [{ challenge: "x".repeat(513) }],
  [{ task_id: "1", status: "processing" }],
  [{ challenge: 7 }],
  [{ challenge: "" }],
  [{ challenge: { a: 1 } }],
  [["challenge"]],
  ["challenge"],
  [null],
  [undefined],
])(
  "a hook of MiniMax with the body %j is answered with no challenge, because the body has none that is a text of 1 to 512 characters",
  (body) => {
    expect(minimax.hooks?.preflight?.(body)).toBeNull();
  },
);

it("polls send the API key as a bearer token, except polls of bfl, fal, gemini, higgsfield and vidu; polls of Runway also send the version of its API", async () => {
  const [name, key] = ["Authorization", "key-0001"];
  const requests = [...PROVIDERS.values()].map(
    async (provider) => [provider.name, await provider.polls.headers(key, 0)] as const,
  );
  const bearers = [...PROVIDERS.keys()].map((provider) => [provider, { [name]: `Bearer ${key}` }]);
  expect(Object.fromEntries(await Promise.all(requests))).toEqual({
    ...Object.fromEntries(bearers),
    bfl: { "x-key": key },
    fal: { [name]: `Key ${key}` },
    higgsfield: { [name]: `Key ${key}` },
    gemini: { "x-goog-api-key": key },
    vidu: { [name]: `Token ${key}` },
    runway: { [name]: `Bearer ${key}`, "X-Runway-Version": "2024-11-06" },
  });
});

it("Runway is polled at most every 5 s and sends no hooks", () => {
  expect(runway).toMatchObject({ hooks: null, polls: { gapMs: 5000 } });
});

/** Requests the headers of Kling, and returns the token in them. */
async function tokenFor(key: string): Promise<string> {
  const { Authorization = "", ...more } = await kling.polls.headers(key, NOW + 999);
  expect(more).toEqual({});
  return /^Bearer (.+)$/.exec(Authorization)?.[1] ?? "";
}
