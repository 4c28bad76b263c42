import { describe, expect, it } from "vitest";
import { bytesOf, toBase64Url } from "../../src/security/encoding.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import {
  extensionOf,
  type LinkedOutput,
  outputLink,
  type OutputSegments,
  readOutputLink,
} from "../../src/security/output-link.ts";
import { ID, NOW, NOW_S, ORIGIN } from "./builders.ts";

const OLD = "test-only-older-relay-secret-0123456789";
const NEW = "test-only-newer-relay-secret-0123456789";
const OUTPUT: LinkedOutput = {
  taskId: ID,
  number: 2,
  expiresAtS: NOW_S + 604_800,
  recordedAt: NOW,
  extension: "mp4",
};

/** Returns the keyring of a relay with these relay secrets, newest first. */
async function keyringWith(...relaySecrets: readonly string[]) {
  const derived = { signingSecrets: null, eventsSecrets: null, signingKeys: null };
  const keyring = await keyringOf({ relaySecrets, ...derived });
  if (keyring === null) throw new Error("no keyring");
  return keyring;
}

function segmentsOf(link: string): OutputSegments {
  const [, , taskId = "", number = "", file = ""] = new URL(link).pathname.split("/");
  return { taskId, number, file };
}

const { outputKeys: old, statusKeys } = await keyringWith(OLD);
const link = outputLink(OUTPUT, ORIGIN, old);
const segments = segmentsOf(link);

describe("the relay's link to an output", () => {
  it("the relay's link to an output has the task's id, the number of the output, a token with its times, and the extension", () => {
    expect(link).toMatch(
      new RegExp(`^${ORIGIN}/outputs/${ID}/2/${NOW_S + 604_800}_${NOW}_[\\w-]{43}\\.mp4$`),
    );
    expect(link).not.toContain("?");
  });

  it("the relay's link to an output opens the output that it was made for, and says until when the link works", async () => {
    expect(await readOutputLink(segments, old)).toEqual(OUTPUT);
  });

  it("the token in a link to an output is an HMAC-SHA-256 over all parts of the link, under a key that HKDF derives for this use alone", async () => {
    const [, token = ""] = /_([\w-]{43})\.mp4$/.exec(link) ?? [];
    const key = await hmacKey(new Uint8Array(await derivedBits("outputs")));
    const content = bytesOf(`${ID}\n2\n${NOW_S + 604_800}_${NOW}\nmp4`);
    expect(token).toBe(toBase64Url(await crypto.subtle.sign("HMAC", key, content)));
    const [status] = statusKeys;
    if (status === undefined) throw new Error("no key");
    expect(token).not.toBe(toBase64Url(await crypto.subtle.sign("HMAC", status, content)));
  });

  it.each([
    ["task id", { ...segments, taskId: "1f8fad5b-d9cb-469f-a165-70867728950e" }],
    ["output number", { ...segments, number: "1" }],
    ["expiry", { ...segments, file: segments.file.replace(/^\d+/, String(NOW_S + 604_801)) }],
    [
      "creation time of the task's record",
      { ...segments, file: segments.file.replace(`_${NOW}_`, `_${NOW + 1}_`) },
    ],
    ["extension", { ...segments, file: segments.file.replace(/mp4$/, "webm") }],
  ])(
    "the relay's link to an output is not accepted when its %s was replaced by that of another link",
    async (_, changed) => {
      expect(await readOutputLink(changed, old)).toBeNull();
    },
  );

  it.each([
    ["no extension", { ...segments, file: segments.file.replace(".mp4", "") }],
    ["the extension in capitals", { ...segments, file: segments.file.replace("mp4", "MP4") }],
    ["a number with a leading zero", { ...segments, number: "02" }],
    ["no number", { ...segments, number: "" }],
    ["no token", { ...segments, file: ".mp4" }],
    ["a longer token", { ...segments, file: segments.file.replace(".mp4", "A.mp4") }],
    ["neither task id, number nor file name", { taskId: "", number: "", file: "" }],
  ])("the relay's link to an output is not accepted with %s", async (_, changed) => {
    expect(await readOutputLink(changed, old)).toBeNull();
  });

  it("the relay's link to an output is not accepted after any change of one character of its token", async () => {
    const changes = Array.from(segments.file, (char, place) => {
      const other = char === "A" ? "B" : "A";
      return `${segments.file.slice(0, place)}${other}${segments.file.slice(place + 1)}`;
    });
    const read = changes.map((file) => readOutputLink({ ...segments, file }, old));
    expect(new Set(await Promise.all(read))).toEqual(new Set([null]));
  });

  it("the relay's link to an output is made with the newest relay secret and accepted under every one that the relay still has", async () => {
    const { outputKeys: both } = await keyringWith(NEW, OLD);
    const { outputKeys: newest } = await keyringWith(NEW);
    expect(await readOutputLink(segments, both)).toEqual(OUTPUT);
    expect(await readOutputLink(segments, newest)).toBeNull();
    expect(outputLink(OUTPUT, ORIGIN, both)).toBe(outputLink(OUTPUT, ORIGIN, newest));
  });
});

it.each([
  ["https://cdn.example.com/a/video.mp4?sig=a.png", "mp4"],
  ["https://cdn.example.com/video.MP4", "mp4"],
  ["https://cdn.example.com/a.b/model.glb#x.mp4", "glb"],
  ["https://cdn.example.com/page.html", "bin"],
  ["https://cdn.example.com/run.exe", "bin"],
  ["https://gateway.example.com/v1/videos/7/content", "bin"],
  ["https://cdn.example.com/video.mp4/", "mp4"],
  ["https://cdn.example.com/image.png/download", "png"],
  ["https://cdn.example.com/image.JPEG!w200?sig=a.b", "jpeg"],
  ["https://comfy.example.com/view?filename=ComfyUI_00001_.png&subfolder=&type=output", "png"],
  ["https://cdn.example.com/f/7?path=a%2Fb%2Fvideo.webm", "webm"],
  [
    "https://cdn.example.com/7?response-content-disposition=attachment%3B%20filename%3D%22a.wav%22",
    "wav",
  ],
  ["https://cdn.example.com/7?response-content-type=image%2Fwebp", "webp"],
  ["https://cdn.example.com/7?format=GLB", "glb"],
  ["https://cdn.example.com/7?name=run.exe&format=exe", "bin"],
  ["https://cdn.example.com", "bin"],
  ["no URL.mp4", "bin"],
])(
  "the relay's link to an output that the upstream provides at %s has the extension %s",
  (source, extension) => {
    expect(extensionOf(source)).toBe(extension);
  },
);

/** Derives 32 bytes from the older relay secret for a use, by RFC 5869 as the documentation states it. */
async function derivedBits(label: string): Promise<ArrayBuffer> {
  const bytes = new TextEncoder().encode(OLD);
  const secret = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode(`task-relay/v1/${label}`);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveBits(parameters, secret, 256);
}
