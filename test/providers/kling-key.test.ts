import { decode, verify } from "hono/jwt";
import { describe, expect, it } from "vitest";
import { kling } from "../../src/providers/kling.ts";

const NOW = 1767225600999;
// The clock of these tests is NOW, not that of the machine.
const HS256 = { alg: "HS256", exp: false, nbf: false } as const;

async function tokenFor(key: string): Promise<string> {
  const { Authorization = "" } = await kling.polls.headers(key, NOW);
  return Authorization.replace(/^Bearer /, "");
}

describe("the key of Kling", () => {
  it("signs a token for half an hour where it is an access key and a secret key", async () => {
    const token = await tokenFor("ak-0001:sk-0001");
    expect(await verify(token, "sk-0001", HS256)).toEqual({
      iss: "ak-0001",
      exp: 1767225600 + 1800,
      nbf: 1767225600 - 5,
    });
    expect(decode(token).header).toEqual({ alg: "HS256", typ: "JWT" });
  });

  it("signs with the secret key, which the token does not show", async () => {
    const token = await tokenFor("ak-0001:sk-0001");
    await expect(verify(token, "sk-0002", HS256)).rejects.toThrow();
    expect(JSON.stringify(decode(token))).not.toContain("sk-0001");
  });

  it.each([["key-0001"], ["a:b:c"], [":secret"], ["access:"]])(
    "is sent as it is where it is %j",
    async (key) => {
      expect(await tokenFor(key)).toBe(key);
    },
  );

  it("is sent as a Bearer token of either kind", async () => {
    const classic = await kling.polls.headers("ak-0001:sk-0001", NOW);
    expect(classic["Authorization"]).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    expect(await kling.polls.headers("key-0001", NOW)).toEqual({
      Authorization: "Bearer key-0001",
    });
  });
});
