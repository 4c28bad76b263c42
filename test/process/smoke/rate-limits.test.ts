import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { SECRETS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const relay = await forThisFile(WranglerDev.start({ vars: SECRETS, hasLimits: true }));

/** Creates an account, and returns the header with its API key. */
async function anAccount(): Promise<{ readonly Authorization: string }> {
  const id = randomUUID();
  await relay.client.ask("POST", "/v1/accounts", { id });
  const { json } = await relay.client.ask("POST", `/v1/accounts/${id}/keys`, {});
  return { Authorization: `Bearer ${z.object({ key: z.string() }).parse(json).key}` };
}

it.each([
  ["LIMIT_TESTS", "POST", "/v1/callbacks/test", 10],
  ["LIMIT_BULK", "POST", "/v1/redeliveries", 6],
  ["LIMIT_LISTS", "GET", "/v1/tasks", 60],
  ["LIMIT_REFUSALS", "POST", `/hooks/ark/${randomUUID()}/x`, 60],
])(
  "under wrangler dev, the rate limit %s of the shipped wrangler.toml makes %s %s answer 429 after %i requests in a minute",
  async (_, method, path, limit) => {
    const headers = await anAccount();
    const body = method === "POST" ? {} : undefined;
    const statuses: number[] = [];
    for (let sent = 0; sent <= 2 * limit; sent++) {
      const response = await relay.client.send(method, path, body, { headers });
      await response.text();
      statuses.push(response.status);
    }
    const passed = statuses.filter((status) => status !== 429);
    expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(limit);
    expect(passed.length).toBeLessThanOrEqual(2 * limit);
  },
);
