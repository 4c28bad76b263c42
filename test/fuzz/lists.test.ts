import { describe } from "vitest";
import { cursorOf, positionOf } from "../../src/api/search/cursor.ts";
import { listQueryOf } from "../../src/api/search/filters.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import type { Caller } from "../../src/task/caller.ts";
import type { Filters } from "../../src/index-db/list.ts";
import type { Choices } from "./choices.ts";
import { announce, fuzz } from "./fuzz.ts";
import { HOSTILE_KEYS } from "./hostile.ts";
import { parsedBy, requireRefusal } from "./refusal.ts";
import { mutatedOften } from "./text.ts";

announce("cursors and queries of lists");

const KEYS = await Promise.all([1, 2].map((byte) => hmacKey(new Uint8Array(32).fill(byte))));
const OTHER_KEYS = [await hmacKey(new Uint8Array(32).fill(3))];
const NONE: Filters = {
  status: null,
  callback: null,
  model: null,
  provider: null,
  account: null,
  host: null,
  since: null,
  until: null,
};
const FAILED: Filters = { ...NONE, callback: "failed", since: 1_792_497_600_000 };
const PLACE = { createdAt: 1_792_497_600_250, id: "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4" };

/** Cursors by newest and older key and by a stranger's, with the list that they were made for. */
const MADE = await Promise.all(
  [NONE, FAILED].flatMap((filters) =>
    [KEYS, KEYS.slice(1), OTHER_KEYS].map(async (keys) => ({
      cursor: await cursorOf(PLACE, filters, keys),
      filters,
      isOurs: keys !== OTHER_KEYS,
    })),
  ),
);

/** The last character of a cursor says four bits of six. */
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

function aQuery(choices: Choices) {
  const query = new URLSearchParams();
  for (let left = choices.below(5); left > 0; left--) {
    const [name, value] = choices.pick(Object.entries(VALID));
    const isStrange = choices.chance(0.1);
    query.append(isStrange ? choices.pick(HOSTILE_KEYS) : name, mutatedOften(value, choices, 1));
  }
  const accountId = choices.pick([null, "acme"]);
  return { query: new URLSearchParams(query.toString()), accountId };
}

const LIMITS = { fallback: 50, max: 200, hasDryRun: false };

describe("a list", () => {
  fuzz({
    promise: "goes on from a cursor of its own alone, and refuses any other",
    cases: 100_000,
    atOnce: 32,
    generate: (choices) => {
      const { cursor, filters, isOurs } = choices.pick(MADE);
      return {
        cursor: mutatedOften(cursor, choices, 2),
        made: cursor,
        isOurs,
        filters: choices.chance(0.1) ? choices.pick(MADE).filters : filters,
        madeFor: filters,
      };
    },
    check: async ({ cursor, made, isOurs, filters, madeFor }) => {
      const isOwn = isOurs && filters === madeFor && isSame(cursor, made);
      const place = await positionOf(cursor, filters, KEYS).catch((error: unknown) => {
        requireRefusal(error);
        return null;
      });
      if ((place !== null) !== isOwn) throw new Error(isOwn ? "was refused" : "was taken");
      const isSamePlace = place?.createdAt === PLACE.createdAt && place.id === PLACE.id;
      if (place !== null && !isSamePlace) throw new Error("goes on elsewhere");
      return place !== null;
    },
  });

  fuzz({
    promise: "takes a query that narrows it soundly and to the caller, or names the parameter",
    cases: 100_000,
    generate: aQuery,
    check: ({ query, accountId }) => {
      const caller: Caller =
        accountId === null ? { kind: "operator" } : { kind: "account", id: accountId };
      const parsed = parsedBy(() => listQueryOf(query, caller, LIMITS));
      if (!parsed.isTaken) return false;
      if (isForbidden(query, accountId)) throw new Error("was taken");
      const { filters, limit } = parsed.value;
      if (accountId !== null && filters.account !== accountId) throw new Error("shows another's");
      for (const time of [filters.since, filters.until]) requireTime(time);
      if (!Number.isInteger(limit) || limit < 1 || limit > 200) throw new Error(`limit ${limit}`);
      return true;
    },
  });
});

/** Twice the same, unknown, or not for an account. */
function isForbidden(query: URLSearchParams, accountId: string | null): boolean {
  const names = [...query.keys()];
  const isTwice = new Set(names).size < names.length;
  const isStrange = names.some((name) => name === "dry_run" || !Object.hasOwn(VALID, name));
  const isWithheld = accountId !== null && (query.has("account") || query.has("provider"));
  return isTwice || isStrange || isWithheld;
}

function requireTime(time: number | null): void {
  const isSound = time === null || (Number.isSafeInteger(time) && time >= 0 && time < 1e14);
  if (!isSound) throw new Error(`the time is ${time}`);
}
