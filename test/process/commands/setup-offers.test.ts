import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { OPERATOR_KEY, SECRETS } from "../harness/client.ts";
import { ROOT } from "../harness/child.ts";
import { Workerd } from "../harness/workerd.ts";

const OFFERS = [
  { connection: "ark", models: ["doubao-seedance-2-0"], limits: { "/duration": [5] } },
  { connection: "ark", models: ["doubao-*"], price: { credits: 60 }, name: "any" },
];

/** Runs `npm run setup` with offers in a file for the relay with this URL. */
async function moved(url: string, offers: unknown) {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-offers-"));
  const file = join(directory, "offers.json");
  writeFileSync(file, JSON.stringify(offers));
  const args = ["scripts/setup.ts", "--offers", file, "--url", url];
  // The relay runs in a process of its own, which answers meanwhile.
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, OPERATOR_KEY },
    encoding: "utf8",
    timeout: 30_000,
  });
  rmSync(directory, { recursive: true });
  return { status, output: (stdout + stderr).replaceAll(directory, "") };
}

const Listed = z.object({
  data: z.array(
    z.object({ name: z.string(), version: z.int(), offer: z.object({ rank: z.int() }) }),
  ),
});

it("npm run setup -- --offers stores the list of OFFERS at a relay, in ranks that keep its order, and stores nothing twice", async () => {
  await using relay = await Workerd.start({ vars: SECRETS });
  const first = await moved(relay.url, OFFERS);
  expect(first).toEqual({ status: 0, output: "offer offer-1: version 1\noffer any: version 2\n" });
  expect(await moved(relay.url, OFFERS)).toEqual(first);
  const { json } = await relay.client.ask("GET", "/v1/offers");
  expect(Listed.parse(json).data).toEqual([
    { name: "any", version: 2, offer: { rank: 20 } },
    { name: "offer-1", version: 1, offer: { rank: 10 } },
  ]);
});

it("npm run setup -- --offers stores nothing of a faulty list, and says what is to be done while OFFERS is set", async () => {
  await using relay = await Workerd.start({ vars: { ...SECRETS, OFFERS: JSON.stringify(OFFERS) } });
  expect(await moved(relay.url, [{ connection: "ark" }])).toEqual({
    status: 1,
    output:
      "/offers.json must have a list of one or more models at 0.models. Cure: correct the file\n",
  });
  const { status, output } = await moved(relay.url, OFFERS);
  expect([status, output]).toEqual([1, expect.stringContaining("Cure: remove OFFERS, deploy,")]);
});
