import { createPublicKey, verify as verifyEd25519 } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { verify as verifyByClient } from "../../client/src/verify.ts";
import { vectorFiles } from "../../scripts/conformance/vectors.ts";
import { bytesOf } from "../../src/security/encoding.ts";
import { hmacSecret } from "../../src/security/hmac.ts";
import { verify } from "../../src/security/signature.ts";

const DIRECTORY = join(import.meta.dirname, "../../conformance");
const Vectors = z.object({
  secret: z.string(),
  now: z.int(),
  tolerance_s: z.literal(300),
  public_key: z.string().optional(),
  jwk: z.object({ kty: z.string(), crv: z.string(), x: z.string() }).optional(),
  vectors: z.array(
    z.object({
      name: z.string(),
      requests: z.array(
        z.object({
          expected: z.enum(["act", "acknowledge", "accept", "refuse"]),
          headers: z.record(z.string(), z.string()),
          body: z.string(),
        }),
      ),
    }),
  ),
});
type Sent = z.infer<typeof Vectors>["vectors"][number]["requests"][number];

const symmetric = vectorsIn("v1.json");
const asymmetric = vectorsIn("v1a.json");
const hmac = await hmacSecret(symmetric.secret);
const publicKey = createPublicKey({ key: asymmetric.jwk ?? {}, format: "jwk" });

beforeEach(() => void vi.useFakeTimers({ now: symmetric.now * 1000, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

it("the files with test requests in the folder conformance are identical to those that `npm run docs` generates", async () => {
  for (const [name, text] of await vectorFiles()) expect(textOf(name)).toBe(text);
});

it.each<[string, z.infer<typeof Vectors>, (request: Sent) => Promise<unknown>]>([
  [
    "the package standardwebhooks",
    symmetric,
    async ({ body, headers }) => new Standard(symmetric.secret).verify(body, headers),
  ],
  [
    "the package svix",
    symmetric,
    async ({ body, headers }) => new Svix(symmetric.secret).verify(body, headers),
  ],
  [
    "the relay",
    symmetric,
    async ({ body, headers }) => {
      const readBody = async () => bytesOf(body);
      if (!(await verify(new Headers(headers), readBody, [hmac], Date.now()))) throw new Error();
    },
  ],
  ["the Ed25519 of Node.js", asymmetric, verifyAsymmetric],
  [
    "the package task-relay-client",
    symmetric,
    async (request) => verifyByClient(request, symmetric.secret, { progress: true }),
  ],
  [
    "the package task-relay-client with a public key",
    asymmetric,
    async (request) => verifyByClient(request, asymmetric.public_key ?? "", { progress: true }),
  ],
])(
  "as a verifier of signatures, %s accepts exactly those test requests in the folder conformance whose signature and timestamp are valid",
  async (_, file, verified) => {
    for (const { name, requests } of file.vectors) {
      for (const request of requests) {
        const isAccepted = await verified(request).then(
          () => true,
          () => false,
        );
        expect([name, isAccepted]).toEqual([name, request.expected !== "refuse"]);
      }
    }
  },
);

/** Verifies a `v1a` signature as conformance/README.md describes it, without code of the relay. */
async function verifyAsymmetric({ headers, body }: Sent): Promise<void> {
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!(Math.abs(Number(timestamp) - Date.now() / 1000) <= 300)) throw new Error();
  const content = Buffer.from(`${headers["webhook-id"]}.${timestamp}.${body}`);
  const signatures = (headers["webhook-signature"] ?? "").split(" ").map((each) => each.split(","));
  const isValid = signatures.some(
    ([version, text = ""]) =>
      version === "v1a" && verifyEd25519(null, content, publicKey, Buffer.from(text, "base64")),
  );
  if (!isValid) throw new Error();
}

function textOf(name: string): string {
  return readFileSync(join(DIRECTORY, name), "utf8");
}

function vectorsIn(name: string) {
  return Vectors.parse(JSON.parse(textOf(name)));
}
