import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { accountStub, aCharged, aKey, anAccount, entriesOf } from "./accounts.ts";
import { call, invalid, post, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";

useClock();

const HEADER = "kind,amount,balance,reference,task_id,reason,created_at\r\n";

function download(account: string, query: string): Promise<Response> {
  return call(`/v1/accounts/${account}/entries?${query}`);
}

/** Reads a body whose media type workerd does not take for text. */
async function textOf(response: Response): Promise<string> {
  return new TextDecoder().decode(await response.arrayBuffer());
}

/** Fills the ledger of an account with grants of one credit, past the API to be quick. */
async function filled(count: number): Promise<string> {
  const account = await anAccount();
  await runInDurableObject(accountStub(account), (object) => {
    for (let i = 1; i <= count; i++) object.grant({ reference: `r${i}`, amount: 1 });
  });
  return account;
}

/** Reads all pages as lines without the CSV header, and counts the pages. */
async function linesOf(account: string, query: string) {
  const lines: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages++) {
    const next: string = cursor === null ? "" : `&cursor=${cursor}`;
    const response = await download(account, `${query}${next}`);
    expect(response.status).toBe(200);
    lines.push(...(await textOf(response)).split("\n").filter((line) => line !== ""));
    cursor = response.headers.get("Next-Cursor");
    if (cursor === null) return { lines, pages };
  }
}

describe("GET /v1/accounts/{account}/entries?format=", () => {
  it("csv has a header line, quotes as RFC 4180 does, and is a private attachment", async () => {
    const account = await anAccount();
    const reference = 'May, "first"';
    await post(`/v1/accounts/${account}/grants`, { reference, amount: 9 });
    const id = await aCharged(account, 4);
    const order = { reference: "t", amount: -8, reason: "two\nlines" };
    await post(`/v1/accounts/${account}/adjustments`, order);
    const [, charge] = await entriesOf(account);
    const response = await download(account, "format=csv");
    expect(await response.text()).toBe(
      [
        HEADER,
        `adjustment,-8,-3,t,,"two\nlines",${START_S}\r\n`,
        `charge,4,5,${charge?.reference},${id},,${START_S}\r\n`,
        `grant,9,9,"May, ""first""",,,${START_S}\r\n`,
      ].join(""),
    );
    const { headers } = response;
    expect(headers.get("Content-Type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("Content-Disposition")).toBe(
      `attachment; filename="${account}-entries.csv"`,
    );
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.has("Next-Cursor")).toBe(false);
  });

  it("jsonl has the entries of the list, one on each line", async () => {
    const account = await filled(3);
    const response = await download(account, "format=jsonl");
    expect(response.headers.get("Content-Type")).toBe("application/jsonl");
    const lines = (await textOf(response)).split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.map((line) => JSON.parse(line))).toEqual(await entriesOf(account));
  });

  it("is an empty page for an account without entries", async () => {
    const account = await anAccount();
    expect(await (await download(account, "format=csv")).text()).toBe(HEADER);
    expect(await textOf(await download(account, "format=jsonl"))).toBe("");
  });

  it("jsonl has 10,000 rows a page at most, without gaps or repeats", async () => {
    const account = await filled(10_001);
    const { lines, pages } = await linesOf(account, "format=jsonl");
    expect(pages).toBe(2);
    const amounts = lines.map((line) => /"reference":"r(\d+)"/.exec(line)?.[1]);
    expect(amounts).toEqual(Array.from({ length: 10_001 }, (_, i) => String(10_001 - i)));
  });

  it.each([
    [1, 3, 3],
    [2, 3, 2],
    [3, 3, 1],
    [1_000, 1_000, 1],
    [999, 1_001, 2],
    [1_000, 1_001, 2],
  ])("jsonl pages by %i rows through %i in %i pages", async (limit, count, pages) => {
    const read = await linesOf(await filled(count), `format=jsonl&limit=${limit}`);
    expect([read.lines.length, read.pages]).toEqual([count, pages]);
    expect(new Set(read.lines).size).toBe(count);
  });

  it("jsonl ends a page early when its rows are long", async () => {
    const account = await anAccount();
    const reason = "€".repeat(500);
    await runInDurableObject(accountStub(account), (object) => {
      for (let i = 0; i < 8_000; i++) object.adjust({ reference: `r${i}`, amount: 1, reason });
    });
    const { lines, pages } = await linesOf(account, "format=jsonl");
    expect([new Set(lines).size, pages]).toEqual([8_000, 2]);
  });

  it.each([
    ["format=xml", "/format"],
    ["format=", "/format"],
    ["format=csv&limit=10001", "/limit"],
    ["format=csv&limit=0", "/limit"],
    ["format=csv&cursor=x", "/cursor"],
  ])("rejects %s", async (query, path) => {
    expect(await refusal(await download(await anAccount(), query))).toEqual(invalid(path));
  });

  it("csv can be read by the account itself and by no other", async () => {
    const account = await anAccount(1);
    const path = `/v1/accounts/${account}/entries?format=csv`;
    const statuses = [];
    for (const owner of [account, await anAccount()]) {
      const { key } = await aKey(owner);
      statuses.push((await call(path, { key })).status);
    }
    expect(statuses).toEqual([200, 404]);
  });
});
