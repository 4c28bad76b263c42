import { describe, expect, it } from "vitest";
import type { LinkableOutput } from "../../src/core/policy.ts";
import { outputLinksOf } from "../../src/config/linked-outputs.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import { readOutputLink } from "../../src/security/output-link.ts";
import { configuredWith, connections } from "./configuration.ts";
import { DAY, ID, NOW, NOW_S, ORIGIN, VIDEO } from "./builders.ts";

const BUCKET = { OUTPUTS: { put: () => null } };
const PUBLIC_URL = "https://tasks.example.com";
const OUTPUTS_URL = "https://outputs.example.net";
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
  it("the relay's link to an output leads to OUTPUTS_URL, ends like the upstream's own link (.mp4, say), and can be read with the relay's own keys", async () => {
    const { links, outputKeys } = await linksOf({ ...BUCKET, PUBLIC_URL, OUTPUTS_URL });
    expect(links?.lifeMs).toBe(3 * DAY);
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

  it.each([
    ["image/png", "png"],
    ["application/json", "json"],
    ["text/plain", "txt"],
    ["application/octet-stream", "bin"],
  ])(
    "the relay's link to a file of the type %s that is in the bucket already ends with .%s, and needs no link of the upstream",
    async (mediaType, extension) => {
      const { links, outputKeys } = await linksOf({ ...BUCKET, PUBLIC_URL });
      const stated = { taskId: ID, number: 1, expiresAtS: NOW_S, recordedAt: NOW };
      const link = new URL(links?.linkToFile({ ...stated, mediaType }) ?? "");
      const [, , taskId = "", number = "", file = ""] = link.pathname.split("/");
      const read = await readOutputLink({ taskId, number, file }, outputKeys);
      expect(read).toEqual({ ...stated, extension });
    },
  );

  it("the relay's link to an output leads to PUBLIC_URL when OUTPUTS_URL is not set", async () => {
    expect(await linkTo({})).toMatch(new RegExp(`^${PUBLIC_URL}/outputs/${ID}/3/`));
  });

  it("the relay makes no link to an output when neither OUTPUTS_URL nor PUBLIC_URL is set", async () => {
    expect((await linksOf(BUCKET)).links).toBeNull();
  });

  it("without the bucket OUTPUTS, the relay makes links of its own only to outputs at the provider connection's origin that can be read only with the connection's API key", async () => {
    const gateway = { provider: "newapi", key: "key", base_url: "https://gateway.example.net/api" };
    const vars = { ...connections({ gateway }), PUBLIC_URL };
    const { links } = await linksOf(vars);
    const to = (source: string, connection: string | null = "gateway") =>
      links?.linkTo({ ...OUTPUT, source, connection });
    const keyed = "https://gateway.example.net/v1/videos/7/content";
    expect(links?.areKept).toBe(false);
    expect(to(keyed)).toContain(`/outputs/${ID}/3/`);
    expect(to(`${keyed}?signature=1`)).toBeNull();
    expect(to("https://other.example.net/v1/videos/7/content")).toBeNull();
    expect(to("https://gateway.example.net/files/7.mp4")).toBeNull();
    expect(to(keyed, null)).toBeNull();
    expect(to(keyed, "gateway-2")).toBeNull();
  });

  it.each([
    ["even with the bucket OUTPUTS", BUCKET],
    ["without the bucket OUTPUTS", {}],
  ])(
    "when only an event or an unsigned hook has reported an output that can be read only with the connection's API key, the relay makes no link of its own to it, %s",
    async (_, vars) => {
      const gateway = { provider: "newapi", key: "key", base_url: "https://gateway.example.net" };
      const { links } = await linksOf({ ...connections({ gateway }), PUBLIC_URL, ...vars });
      const source = "https://gateway.example.net/v1/videos/7/content";
      const keyed = { ...OUTPUT, source, connection: "gateway" };
      expect(links?.linkTo(keyed)).toContain(`/outputs/${ID}/3/`);
      expect(links?.linkTo({ ...keyed, isUnproven: true })).toBeNull();
    },
  );
});

describe("no link of the relay is made to an output", () => {
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
    ["a text that is no link", "video.mp4"],
  ])(
    "when an upstream's result names, as an output, %s, the relay makes no link of its own to this output, because it must not fetch it",
    async (_, source) => {
      expect(await linkTo({ source }, { OUTPUTS_URL })).toBeNull();
    },
  );

  it("the relay makes no link of its own to an output of the simulated provider sandbox, because there is no file at the output's link", async () => {
    const vars = { SANDBOX: "true" };
    expect(await linkTo({ connection: "sandbox" }, vars)).toBeNull();
    expect(await linkTo({ connection: "ark" }, { ...vars, ARK_API_KEY: "key" })).not.toBeNull();
  });
});

it.each([
  [
    "whose link at the upstream is as long as signed links are",
    { source: VIDEO.padEnd(8_192, "x") },
    {},
  ],
  [
    "on the relay's own machine, where ALLOW_LOCAL_CALLBACKS is set",
    { source: "http://127.0.0.1:9000/a.mp4" },
    { ALLOW_LOCAL_CALLBACKS: "true" },
  ],
  [
    "of a connection that is no longer configured",
    { connection: "ark-2" },
    connections({ "ark-1": { provider: "ark", key: "key" } }),
  ],
])("the relay makes a link of its own to an output %s", async (_, changes, vars) => {
  expect(await linkTo(changes, vars)).toContain(`/outputs/${ID}/3/`);
});
