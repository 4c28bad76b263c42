import * as fc from "fast-check";
import { cursorOf, positionOf } from "../../src/api/search/cursor.ts";
import { invalidRequest } from "../../src/api/http/problem.ts";
import { readQuery } from "../../src/api/http/query.ts";
import { filtersOf, TaskPage } from "../../src/api/search/filters.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import type { Caller } from "../../src/objects/task/caller.ts";
import { ANY_TASK, type Filters } from "../../src/index-db/list.ts";
import { fuzz } from "./fuzz.ts";
import { hostileKey } from "./hostile.ts";
import { parsedBy, requireRefusal } from "./refusal.ts";
import { changedText } from "./text.ts";

const KEYS = await Promise.all([1, 2].map((byte) => hmacKey(new Uint8Array(32).fill(byte))));
const OTHER_KEYS = [await hmacKey(new Uint8Array(32).fill(3))];
/**
 * Filters of lists, each with one filter that differs; a cursor of one list must not be accepted for another.
 */
const LISTS: readonly Filters[] = [
  ANY_TASK,
  { ...ANY_TASK, status: "failed" },
  { ...ANY_TASK, callback: "failed" },
  { ...ANY_TASK, model: "m" },
  { ...ANY_TASK, provider: "m" },
  { ...ANY_TASK, account: "m" },
  { ...ANY_TASK, host: "m" },
  { ...ANY_TASK, category: "unknown" },
  { ...ANY_TASK, submission: "unknown" },
  { ...ANY_TASK, outputs: "lost" },
  { ...ANY_TASK, since: 1_792_497_600_000 },
  { ...ANY_TASK, until: 1_792_497_600_000 },
];
const PLACE = { createdAt: 1_792_497_600_250, id: "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4" };

/** Cursors signed with the newest key, an older one and a foreign one, each with the filters of its list. */
const MADE = await Promise.all(
  LISTS.flatMap((filters) =>
    [KEYS, KEYS.slice(1), OTHER_KEYS].map(async (keys) => ({
      cursor: await cursorOf(PLACE, filters, keys),
      filters,
      isOurs: keys !== OTHER_KEYS,
    })),
  ),
);

/** Compares two cursors; the last of their characters carries only four of its six bits. */
function isSame(a: string, b: string): boolean {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const bits = (text: string) => alphabet.indexOf(text.at(-1) ?? "") >> 2;
  return a.length === b.length && a.slice(0, -1) === b.slice(0, -1) && bits(a) === bits(b);
}

const VALID = {
  status: "completed",
  callback: "failed",
  model: "doubao-seedance-2.0",
  provider: "ark",
  account: "acme",
  host: "client.example.net",
  since: "1792497600",
  until: "1792597600",
  limit: "50",
  cursor: "1792497600250_x",
  dry_run: "true",
};

const parameter = fc
  .oneof(
    ...Object.entries(VALID).map(([name, value]) =>
      fc.record({ name: fc.constant(name), value: changedText(value, 1) }),
    ),
    fc.record({ name: hostileKey, value: changedText("1", 1) }),
  )
  .map(({ name, value }) => [name, value]);
const query = fc
  .array(parameter, { maxLength: 4 })
  .map((pairs) => new URLSearchParams(pairs).toString());

const cursor = fc.oneof(
  ...MADE.map((made) =>
    fc.record({
      made: fc.constant(made),
      cursor: changedText(made.cursor, 2),
      filters: fc.constantFrom(...LISTS.map(() => made.filters), ...LISTS),
    }),
  ),
);

fuzz("GET /v1/tasks accepts only a cursor that the relay made for a list with the same filters", {
  inputs: cursor,
  subject: positionOf,
  defects: {
    "accepts any cursor": async () => PLACE,
    "accepts the cursor of another list": async (given, _filters, keys) => {
      const places = LISTS.map((filters) => positionOf(given, filters, keys));
      return Promise.any(places).catch(() => {
        throw invalidRequest([{ path: "/cursor", message: "is not a cursor of this list" }]);
      });
    },
    "accepts only cursors of the newest key": async (given, filters, keys) =>
      positionOf(given, filters, keys.slice(0, 1)),
    "continues at another place": async (...its) => {
      const place = await positionOf(...its);
      return place && { ...place, createdAt: place.createdAt + 1 };
    },
  },
  check: async ({ made, cursor: given, filters }, subject) => {
    const isOwn = made.isOurs && filters === made.filters && isSame(given, made.cursor);
    const place = await subject(given, filters, KEYS).catch((error: unknown) => {
      requireRefusal(error);
      return null;
    });
    if ((place !== null) !== isOwn)
      throw new Error(isOwn ? "the cursor was refused" : "the cursor was accepted");
    const isSamePlace = place?.createdAt === PLACE.createdAt && place.id === PLACE.id;
    if (place !== null && !isSamePlace) throw new Error("the cursor leads to another place");
    return place !== null;
  },
});

fuzz(
  "a query for a list of tasks is accepted only with valid filters, and lists for an account key only tasks of its account",
  {
    inputs: fc.record({ query, accountId: fc.constantFrom(null, "acme") }),
    subject: readList,
    defects: {
      "lists the tasks of all accounts": (given, caller) => {
        const { limit, filters } = readList(given, caller);
        return { limit, filters: { ...filters, account: null } };
      },
      "ignores unknown parameters": (given, caller) => {
        const known = [...given].filter(([key]) => Object.hasOwn(VALID, key));
        return readList(new URLSearchParams(known), caller);
      },
      "takes any limit": (given, caller) => ({ ...readList(given, caller), limit: 1_000 }),
      "reads an impossible time": (given, caller) => {
        const { limit, filters } = readList(given, caller);
        return { limit, filters: { ...filters, since: 0.5 } };
      },
    },
    check: ({ query: text, accountId }, subject) => {
      const given = new URLSearchParams(text);
      const caller: Caller =
        accountId === null
          ? { kind: "operator", role: "all", key: "test" }
          : { kind: "account", id: accountId, role: "full", key: "test" };
      const parsed = parsedBy(() => subject(given, caller));
      if (!parsed.isAccepted) return false;
      if (isForbidden(given, accountId)) throw new Error("a forbidden query was accepted");
      const { filters, limit } = parsed.value;
      if (accountId !== null && filters.account !== accountId)
        throw new Error("the query shows another account's tasks");
      for (const time of [filters.since, filters.until]) requireTime(time);
      if (!Number.isInteger(limit) || limit < 1 || limit > 200) throw new Error(`limit ${limit}`);
      return true;
    },
  },
);

function readList(given: URLSearchParams, caller: Caller) {
  const { limit, ...page } = readQuery(
    TaskPage,
    new URL(`https://relay.example.com/v1/tasks?${given.toString()}`),
  );
  return { limit, filters: filtersOf(page, caller) };
}

/** Returns whether a parameter is repeated, unknown, or not allowed for an account. */
function isForbidden(given: URLSearchParams, accountId: string | null): boolean {
  const names = [...given.keys()];
  const isTwice = new Set(names).size < names.length;
  const isStrange = names.some((name) => name === "dry_run" || !Object.hasOwn(VALID, name));
  const isWithheld = accountId !== null && (given.has("account") || given.has("provider"));
  return isTwice || isStrange || isWithheld;
}

function requireTime(time: number | null): void {
  const isSound = time === null || (Number.isSafeInteger(time) && time >= 0 && time < 1e14);
  if (!isSound) throw new Error(`the time is ${time}`);
}
