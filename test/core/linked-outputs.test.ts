import { describe, expect, it } from "vitest";
import type { LinkableOutput } from "../../src/core/policy.ts";
import { outputLinksOf, withKeyedLinks } from "../../src/config/linked-outputs.ts";
import type { Observation } from "../../src/providers/observation.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import { readOutputLink } from "../../src/security/output-link.ts";
import { configuredWith, connections } from "./configuration.ts";
import { DAY, ID, NOW, NOW_S, ORIGIN, VIDEO } from "./builders.ts";

const BUCKET = { OUTPUTS: { put: () => null } };
const PUBLIC_URL = "https://tasks.example.com";
const OUTPUTS_URL = "https://outputs.example.net";
const GATEWAY = "https://videos.example.org";
const GATEWAY_KEY = { OPENAI_VIDEOS_API_KEY: "key", OPENAI_VIDEOS_BASE_URL: GATEWAY };
const KEYED = `${GATEWAY}/v1/videos/1/content`;
const OUTPUT: LinkableOutput = {
  taskId: ID,
  number: 3,
  source: VIDEO,
  expiresAtS: NOW_S,
  recordedAt: NOW,
  origin: ORIGIN,
  connection: null,
};

async function linksOf(vars: object) {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  const keyring = await keyringOf(result.value);
  if (keyring === null) throw new Error("no keyring");
  const { outputKeys } = keyring;
  return { links: outputLinksOf(result.value, outputKeys), outputKeys };
}

/** Returns the relay's link to an output where outputs are kept. */
async function linkTo(changes: Partial<LinkableOutput>, vars: object = {}) {
  const { links } = await linksOf({ ...BUCKET, PUBLIC_URL, ...vars });
  return links?.linkTo({ ...OUTPUT, ...changes });
}

describe("the relay's link to an output", () => {
  it("leads to OUTPUTS_URL, has the extension of its source, and opens with the keys of the relay", async () => {
    const { links, outputKeys } = await linksOf({ ...BUCKET, PUBLIC_URL, OUTPUTS_URL });
    expect(links?.lifeMs).toBe(7 * DAY);
    const link = new URL(links?.linkTo(OUTPUT) ?? "");
    expect(link.origin).toBe(OUTPUTS_URL);
    const [, , taskId = "", number = "", file = ""] = link.pathname.split("/");
    expect(await readOutputLink({ taskId, number, file }, outputKeys)).toEqual({
      taskId: ID,
      number: 3,
      expiresAtS: NOW_S,
      recordedAt: NOW,
      extension: "mp4",
    });
  });

  it("leads to PUBLIC_URL where OUTPUTS_URL is not set", async () => {
    expect(await linkTo({})).toMatch(new RegExp(`^${PUBLIC_URL}/outputs/${ID}/3/`));
  });

  it("is not made where neither OUTPUTS_URL nor PUBLIC_URL is set", async () => {
    expect((await linksOf(BUCKET)).links).toBeNull();
    expect((await linksOf(GATEWAY_KEY)).links).toBeNull();
  });

  it("is made for a copy where the bucket OUTPUTS is bound", async () => {
    expect((await linksOf({ ...BUCKET, PUBLIC_URL })).links?.areCopied).toBe(true);
  });
});

describe("without the bucket OUTPUTS", () => {
  it.each([
    ["opens only with the key of its connection", KEYED, "openai-videos", true],
    [
      "is on another host than its connection",
      "https://cdn.example.com/v1/videos/1/content",
      "openai-videos",
      false,
    ],
    ["names an access of its own", `${KEYED}?access=abc`, "openai-videos", false],
    ["is open to everybody", VIDEO, "openai-videos", false],
    ["belongs to no connection", KEYED, null, false],
  ])(
    "the relay makes a link to an output exactly when it opens only with a key: one that %s",
    async (_, source, connection, isLinked) => {
      const { links } = await linksOf({ PUBLIC_URL, ...GATEWAY_KEY });
      expect(links?.areCopied).toBe(false);
      expect(links?.linkTo({ ...OUTPUT, source, connection }) !== null).toBe(isLinked);
    },
  );
});

describe("links that open only with a key", () => {
  const reported: Observation = {
    jobId: "1",
    state: "completed",
    urls: [],
    keyedUrls: [KEYED],
    metadata: {},
    completedAt: null,
    error: null,
  };

  it.each([
    ["become those of a result where the relay has an address", reported, { PUBLIC_URL }, [KEYED]],
    ["are left out where it has none", reported, {}, []],
    ["are left out beside open ones", { ...reported, urls: [VIDEO] }, { PUBLIC_URL }, [VIDEO]],
    [
      "are left out where the URL rules refuse them",
      { ...reported, keyedUrls: ["http://new-api:3000/v1/videos/1/content"] },
      { PUBLIC_URL },
      [],
    ],
  ])("%s", (_, observation, vars, urls) => {
    const result = configuredWith(vars);
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    expect(withKeyedLinks(observation, result.value).urls).toEqual(urls);
  });
});

describe("the source of an output keeps its own link", () => {
  it.each([
    ["a link without encryption", "http://cdn.example.com/video.mp4"],
    ["a link to this machine", "https://127.0.0.1/video.mp4"],
    ["a link to an IP address", "https://8.8.8.8/video.mp4"],
    ["a link to a private name", "https://storage.internal/video.mp4"],
    ["a link to the metadata of a cloud", "https://169.254.169.254/latest/meta-data"],
    ["a link with a password", "https://user:password@cdn.example.com/video.mp4"],
    ["a link to the relay", `${PUBLIC_URL}/v1/tasks/${ID}`],
    ["a link to another port of the relay", "https://tasks.example.com:8443/video.mp4"],
    ["a link to the relay's outputs", `${OUTPUTS_URL}/outputs/${ID}/1/1_1_a.mp4`],
    ["a link that is longer than any that is stored", VIDEO.padEnd(8_193, "x")],
    ["no link", "video.mp4"],
  ])("when it is %s, because the relay must not fetch it", async (_, source) => {
    expect(await linkTo({ source }, { OUTPUTS_URL })).toBeNull();
  });

  it("when the simulated provider has generated it, because nothing is there", async () => {
    const vars = { SANDBOX: "true" };
    expect(await linkTo({ connection: "sandbox" }, vars)).toBeNull();
    expect(await linkTo({ connection: "ark" }, { ...vars, ARK_API_KEY: "key" })).not.toBeNull();
  });
});

it.each([
  ["as long as signed links are", { source: VIDEO.padEnd(8_192, "x") }, {}],
  [
    "on this machine, where local callbacks are allowed",
    { source: "http://127.0.0.1:9000/a.mp4" },
    { ALLOW_LOCAL_CALLBACKS: "true" },
  ],
  [
    "of a connection that is no longer configured",
    { connection: "ark-2" },
    connections({ "ark-1": { provider: "ark", key: "key" } }),
  ],
])("the relay makes a link to an output whose source is %s", async (_, changes, vars) => {
  expect(await linkTo(changes, vars)).toContain(`/outputs/${ID}/3/`);
});
