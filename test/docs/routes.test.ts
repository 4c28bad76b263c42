import { expect, it } from "vitest";
import API_PAGE from "../../docs/api.md?raw";
import WRANGLER_TOML from "../../wrangler.toml?raw";
import { ROUTES } from "../../src/api/routes.ts";
import { RATE_LIMITS } from "../../src/config/rate-limits.ts";
import { PERMISSIONS } from "../../src/security/roles.ts";

const rolesIn = (text = "") => (text === "–" ? [] : text.split(", "));

const rowOf = (route: string) =>
  API_PAGE.split("\n").find((line) => line.startsWith(`| \`${route}\` |`)) ?? "";

it("docs/api.md lists every route with the permission that it requires, and no route that does not exist", () => {
  const rows = API_PAGE.matchAll(/^\| (`[A-Z]+ \/\S*`) \| (\w+) \|/gm);
  const listed = [...rows].map(([, route, access]) => `${route} ${access}`);
  const existing = ROUTES.map(({ method, path, access }) => `\`${method} ${path}\` ${access}`);
  expect(listed.toSorted()).toEqual(existing.toSorted());
});

it("docs/api.md names every query parameter of each route in the row of the route", () => {
  const missing = ROUTES.flatMap(({ method, path, query }) => {
    const route = `${method} ${path}`;
    const row = rowOf(route).replace("the parameters of `GET /v1/tasks`", rowOf("GET /v1/tasks"));
    const names = Object.keys(query?.shape ?? {});
    const isNamed = (name: string) => row.includes(`\`${name}\``) || row.includes(`?${name}=`);
    return names.filter((name) => !isNamed(name)).map((name) => `${route}: ${name}`);
  });
  expect(missing).toEqual([]);
});

it("docs/api.md lists every permission that a route can require, with the roles of operator keys and of account keys that have it", () => {
  const [, ...rows] = API_PAGE.matchAll(/^\| (\w+) \| [^|]+ \| ([\w, –]+) \| ([\w, –]+) \|$/gm);
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
