import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { seeded } from "../../simulation/random.ts";
import { SECRETS } from "../harness/client.ts";
import { objectFiles, readCopy } from "../harness/stored-record.ts";
import { Workerd } from "../harness/workerd.ts";

const GUESSES = 200;
const Name = z.object({ name: z.string() });

it("200 guessed API keys create only 16 Durable Objects, one per first hex digit of a key's hash, and no tables in them; 200 more create no further ones", async () => {
  await using relay = await Workerd.start({ vars: SECRETS });
  const { client } = relay;
  const files = () => objectFiles(join(relay.storage, "accounts"));
  await client.ask("POST", "/v1/accounts", { id: "acme" });
  const before = new Set(files());
  const random = seeded(1);
  const created: string[][] = [];
  for (let round = 0; round < 2; round++) {
    const keys = Array.from({ length: GUESSES }, (_, index) => guess(random, index));
    expect(new Set(keys.map(digitOf)).size).toBe(16);
    for (const key of keys) {
      const headers = { Authorization: `Bearer ${key}` };
      expect((await client.send("GET", "/v1/accounts/acme", undefined, { headers })).status).toBe(
        401,
      );
    }
    created.push(files().filter((file) => !before.has(file)));
  }
  expect(created.map(({ length }) => length)).toEqual([16, 16]);
  expect(created.flat().flatMap(tablesOf)).toEqual([]);
});

/** Returns a key in a foreign form or, for an even `index`, one that looks like a generated one. */
function guess(random: () => number, index: number): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => Math.floor(random() * 16).toString(16)).join("");
  return index % 2 === 0 ? `trk_acme_${digits(48)}_${digits(43)}` : `sk-live-${digits(32)}`;
}

function digitOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 1);
}

/** Lists the tables in the file of an object. */
function tablesOf(file: string): readonly string[] {
  const query = "SELECT name FROM sqlite_master";
  const rows = readCopy(file, (database) => database.prepare(query).all());
  return (rows ?? ["unreadable"]).map((row) => Name.parse(row).name);
}
