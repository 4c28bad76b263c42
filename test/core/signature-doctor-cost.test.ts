import { expect, it, vi } from "vitest";
import { examine } from "../../src/security/doctor/examine.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import { ID, NOW } from "./builders.ts";

const key = await hmacKey(new Uint8Array(32).fill(7));

it("when a received callback is examined whose body is far longer than the one that was sent, each signature is verified only once with each secret", async () => {
  const verify = vi.spyOn(crypto.subtle, "verify");
  const signatures = [1, 2, 3].map((n) => `v1,${Buffer.alloc(32, n).toString("base64")}`);
  const headers = {
    "webhook-id": "msg_other",
    "webhook-timestamp": `${NOW}`,
    "webhook-signature": `${signatures.join(" ")} v1%2cAAAA`,
  };
  const sent = {
    taskId: ID,
    body: "{}",
    attempts: [{ number: 1, startedAt: NOW }],
    signers: [{ name: { scheme: "v1", age: "current" }, key }] as const,
    others: [],
    sign: () => Promise.resolve("v1,AAAA"),
  };
  await examine({ headers, body: "[1]".repeat(70_000) }, sent, NOW);
  const long = verify.mock.calls.filter(([, , , content]) => content.byteLength > 200_000);
  vi.restoreAllMocks();
  expect(long).toHaveLength(signatures.length);
});
