import { expect, it } from "vitest";
import ACCOUNTS_DOC from "../../docs/accounts.md?raw";
import API_PAGE from "../../docs/api.md?raw";
import WRANGLER_TOML from "../../wrangler.toml?raw";
import { ROUTES } from "../../src/api/routes.ts";
import { DEFAULT_RATE_LIMITS, RATE_LIMITS } from "../../src/config/rate-limits.ts";
import { PERMISSIONS } from "../../src/security/roles.ts";

const rolesIn = (text = "") => (text === "–" ? [] : text.split(", "));

it("docs/api.md lists each permission that a route can require, with the roles of operator keys and of account keys that have it", () => {
  const [, section = ""] = API_PAGE.split("\n## Who may call\n");
  const [text = ""] = section.split("\n## ");
  const [, ...rows] = text.matchAll(/^\| (\w+) \| [^|]+ \| ([\w, –]+) \| ([\w, –]+) \|$/gm);
  const listed = rows.map(([, access, operators, accounts]) => [
    access,
    { operators: rolesIn(operators), accounts: rolesIn(accounts) },
  ]);
  expect(Object.fromEntries(listed)).toEqual(PERMISSIONS);
});

it("docs/api.md lists every rate limit with its number in wrangler.toml and the routes that it counts", () => {
  const table = API_PAGE.matchAll(/^\| `(LIMIT_\w+)` \| (\d+) \| \w+ \| (.+) \|$/gm);
  const listed = [...table].map(([, name, limit, counted = ""]) => [
    name,
    { limit, routes: [...counted.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, route]) => route) },
  ]);
  const bound =
    /^\[\[ratelimits\]\]\nname = "(\w+)"\nnamespace_id = "\d+"\nsimple = \{ limit = (\d+), period = 60 \}$/gm;
  const configured = [...WRANGLER_TOML.matchAll(bound)].map(([, name, limit]) => [
    name,
    {
      limit,
      routes: ROUTES.filter(({ rateLimit }) => rateLimit === name).map(
        ({ method, path }) => `${method} ${path}`,
      ),
    },
  ]);
  expect(listed.map(([name]) => name)).toEqual(RATE_LIMITS);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(configured));
});

it("docs/accounts.md and the console state the limit of an account's submissions that wrangler.toml has", () => {
  const [, limit] =
    /"LIMIT_SUBMITS"\nnamespace_id = "\d+"\nsimple = \{ limit = (\d+),/.exec(WRANGLER_TOML) ?? [];
  const [, documented] = /at most (\d+) jobs a minute, unless/.exec(ACCOUNTS_DOC) ?? [];
  expect([documented, String(DEFAULT_RATE_LIMITS.LIMIT_SUBMITS)]).toEqual([limit, limit]);
});
