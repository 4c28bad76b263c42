import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import {
  accountStub,
  aCharged,
  aKey,
  anAccount,
  balanceOf,
  entriesOf,
  grant,
  Page,
} from "./accounts.ts";
import { call, invalid, OPERATOR_NAME, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { aFailure, finish } from "./tasks.ts";

useClock();

async function page(account: string, query: string) {
  const response = await call(`/v1/accounts/${account}/entries${query}`);
  expect(response.status).toBe(200);
  return Page.parse(await response.json());
}

/** Grants 1, 2, 3 … credits to a new account. */
async function granted(count: number): Promise<string> {
  const account = await anAccount();
  for (let amount = 1; amount <= count; amount++) await grant(account, amount);
  return account;
}

/** Reads all pages, newest entries first, and calls `between` before each further page. */
async function walk(account: string, limit: number, between = () => Promise.resolve()) {
  const pages: number[][] = [];
  let cursor = "";
  for (;;) {
    const { data, next_cursor } = await page(account, `?limit=${limit}${cursor}`);
    pages.push(data.map(({ amount }) => amount));
    if (next_cursor === null) return pages;
    if (pages.length > 10) throw new Error("the pages do not end");
    cursor = `&cursor=${next_cursor}`;
    await between();
  }
}

it("an account's ledger entries are listed newest first, each with the balance after it, its task, and the name of the key that ordered it", async () => {
  aReceiver();
  const account = await anAccount(10);
  pass(1000);
  const id = await aCharged(account, 4);
  pass(1000);
  await finish(aFailure(id));
  const [{ reference } = { reference: "" }] = await entriesOf(account);
  expect(reference).not.toContain(id);
  const order = { amount: 4, reference, task_id: id };
  const grantOrder = { amount: 10, reference: expect.any(String) };
  const by = { booked_by: OPERATOR_NAME };
  expect(await entriesOf(account)).toEqual([
    { kind: "refund", ...order, balance: 10, created_at: START_S + 2 },
    { kind: "charge", ...order, balance: 6, created_at: START_S + 1, ...by },
    { kind: "grant", ...grantOrder, balance: 10, created_at: START_S, ...by },
  ]);
  expect(await balanceOf(account)).toBe(10);
});

it.each([
  [1, [[7], [6], [5], [4], [3], [2], [1]]],
  [3, [[7, 6, 5], [4, 3, 2], [1]]],
  [7, [[7, 6, 5, 4, 3, 2, 1]]],
])(
  "GET /v1/accounts/{account}/entries lists 7 entries without gaps or repeats in pages of %d",
  async (limit, pages) => {
    expect(await walk(await granted(7), limit)).toEqual(pages);
  },
);

it("while entries are added, GET /v1/accounts/{account}/entries still lists the earlier ones page by page without gaps or repeats", async () => {
  const account = await granted(5);
  const pages = await walk(account, 2, () => grant(account, 100));
  expect(pages.flat()).toEqual([5, 4, 3, 2, 1]);
});

it("GET /v1/accounts/{account}/entries without a limit returns 50 entries", async () => {
  const account = await granted(51);
  const { data, next_cursor } = await page(account, "");
  expect(data).toHaveLength(50);
  const rest = await page(account, `?cursor=${next_cursor}`);
  expect(rest).toMatchObject({ data: [{ amount: 1 }], next_cursor: null });
});

it.each([
  ["limit", ["0", "201", "-1", "1.5", "1e2", "", "ten"]],
  ["cursor", ["0", "", "x", "-5", "9007199254740992", "1%27%20OR%201=1"]],
])(
  "GET /v1/accounts/{account}/entries and /grants reject each of these values of the query parameter %s: %j",
  async (name, values) => {
    const account = await anAccount(1);
    for (const value of values) {
      for (const kind of ["entries", "grants"]) {
        const response = await call(`/v1/accounts/${account}/${kind}?${name}=${value}`);
        expect(await refusal(response)).toEqual(invalid(`/${name}`));
      }
    }
  },
);

it("GET /v1/accounts/{account}/grants finds grants by an SQL index, and reads no other entries such as charges", async () => {
  const account = await anAccount(1);
  const plan = await runInDurableObject(accountStub(account), (_, { storage }) => {
    const query =
      "EXPLAIN QUERY PLAN SELECT * FROM entries WHERE seq < ? AND kind = 'grant' ORDER BY seq DESC LIMIT ?";
    return storage.sql.exec<{ detail: string }>(query, 9, 9).toArray();
  });
  expect(plan[0]?.detail).toMatch(/^SEARCH entries USING INDEX \S+ \(kind=\?\)$/);
});

const OWN_HEADER = "kind,amount,balance,reference,task_id,reason,created_at\r\n";
const HEADER = OWN_HEADER.replace("\r", ",booked_by\r");

function download(account: string, query: string): Promise<Response> {
  return call(`/v1/accounts/${account}/entries?${query}`);
}

/** Reads a body whose media type workerd does not treat as text. */
async function textOf(response: Response): Promise<string> {
  return new TextDecoder().decode(await response.arrayBuffer());
}

/** Fills the ledger of an account with grants of one credit, without the API, which would be slower. */
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

it("GET /v1/accounts/{account}/entries?format=csv has a header line and the quotes of RFC 4180, and is an attachment that no cache may store", async () => {
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
      `adjustment,-8,-3,t,,"two\nlines",${START_S},${OPERATOR_NAME}\r\n`,
      `charge,4,5,${charge?.reference},${id},,${START_S},${OPERATOR_NAME}\r\n`,
      `grant,9,9,"May, ""first""",,,${START_S},${OPERATOR_NAME}\r\n`,
    ].join(""),
  );
  const { headers } = response;
  expect(headers.get("Content-Type")).toBe("text/csv; charset=utf-8");
  expect(headers.get("Content-Disposition")).toBe(`attachment; filename="${account}-entries.csv"`);
  expect(headers.get("X-Download-Options")).toBe("noopen");
  expect(headers.get("Cache-Control")).toBe("no-store");
  expect(headers.has("Next-Cursor")).toBe(false);
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠SUM(A1)"])(
  "the CSV export puts ' in front of the text %j, which spreadsheets read as a formula, but not in front of numbers; JSON lines never get a '",
  async (text) => {
    const account = await anAccount();
    await runInDurableObject(accountStub(account), (object) => {
      object.adjust({ reference: text, amount: -8, reason: text }, text);
    });
    const csv = await textOf(await download(account, "format=csv"));
    const cell = /[\r\n]/.test(text) ? `"'${text}"` : `'${text}`;
    expect(csv).toBe(`${HEADER}adjustment,-8,-8,${cell},,${cell},${START_S},${cell}\r\n`);
    const line: unknown = JSON.parse(await textOf(await download(account, "format=jsonl")));
    expect(line).toMatchObject({ amount: -8, reference: text, reason: text, booked_by: text });
  },
);

it("the CSV export leaves a text unchanged when = + - @ are not its first character, and when it begins with '", async () => {
  const account = await anAccount();
  const order = { reference: "a=b+c-d@e", amount: 1, reason: "'=1" };
  await post(`/v1/accounts/${account}/adjustments`, order);
  const csv = await textOf(await download(account, "format=csv"));
  expect(csv).toContain(`adjustment,1,1,a=b+c-d@e,,'=1,${START_S},`);
});

it("GET /v1/accounts/{account}/entries?format=jsonl has the same entries as the list, one per line", async () => {
  const account = await filled(3);
  const response = await download(account, "format=jsonl");
  expect(response.headers.get("Content-Type")).toBe("application/jsonl");
  const lines = (await textOf(response)).split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => JSON.parse(line))).toEqual(await entriesOf(account));
});

it("GET /v1/accounts/{account}/entries?format=csv begins with a byte order mark if the query has bom=true, and otherwise does not", async () => {
  const account = await anAccount();
  const start = async (query: string) =>
    [...new Uint8Array(await (await download(account, query)).arrayBuffer())].slice(0, 4);
  const kind = Array.from("kind", (letter) => letter.charCodeAt(0));
  expect(await start("format=csv&bom=true")).toEqual([0xef, 0xbb, 0xbf, kind[0]]);
  expect(await start("format=csv&bom=false")).toEqual(kind);
  expect(await start("format=csv")).toEqual(kind);
});

it("for an account without entries, GET /v1/accounts/{account}/entries is just the header line as csv, and empty as jsonl", async () => {
  const account = await anAccount();
  expect(await (await download(account, "format=csv")).text()).toBe(HEADER);
  expect(await textOf(await download(account, "format=jsonl"))).toBe("");
});

it("an account's key reads the account's ledger as JSON and as CSV, without the name of the operator key that booked an entry", async () => {
  const account = await anAccount(9);
  await aCharged(account, 4);
  const { key } = await aKey(account);
  const read = async (query: string) =>
    textOf(await call(`/v1/accounts/${account}/entries${query}`, { key }));
  expect(Page.parse(JSON.parse(await read("")))).toMatchObject({
    data: [{ amount: 4 }, { amount: 9 }],
  });
  expect(await read("?format=csv")).toContain(OWN_HEADER);
  for (const query of ["", "?format=csv", "?format=jsonl"]) {
    expect(await read(query)).not.toContain(OPERATOR_NAME);
  }
});

it("GET /v1/accounts/{account}/entries?format=jsonl has at most 10,000 rows a page, without gaps or repeats", async () => {
  const account = await filled(10_001);
  const { lines, pages } = await linesOf(account, "format=jsonl");
  expect(pages).toBe(2);
  const amounts = lines.map((line) => /"reference":"r(\d+)"/.exec(line)?.[1]);
  expect(amounts).toEqual(Array.from({ length: 10_001 }, (_, i) => String(10_001 - i)));
});

it.each([
  [2, 3, 2],
  [3, 3, 1],
  [1_000, 1_001, 2],
])(
  "GET /v1/accounts/{account}/entries?format=jsonl with limit %i returns %i entries in %i pages",
  async (limit, count, pages) => {
    const read = await linesOf(await filled(count), `format=jsonl&limit=${limit}`);
    expect([read.lines.length, read.pages]).toEqual([count, pages]);
    expect(new Set(read.lines).size).toBe(count);
  },
);

it("GET /v1/accounts/{account}/entries?format=jsonl ends a page early when its entries are long", async () => {
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
  ["bom=true", "/bom"],
  ["format=jsonl&bom=true", "/bom"],
  ["format=csv&bom=1", "/bom"],
  ["format=csv&limit=10001", "/limit"],
  ["format=csv&limit=0", "/limit"],
  ["format=csv&cursor=x", "/cursor"],
])("GET /v1/accounts/{account}/entries rejects the query ?%s", async (query, path) => {
  expect(await refusal(await download(await anAccount(), query))).toEqual(invalid(path));
});
