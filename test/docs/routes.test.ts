import { expect, it } from "vitest";
import API_PAGE from "../../docs/api.md?raw";
import { ROUTES } from "../../src/api/routes.ts";
import { PERMISSIONS } from "../../src/security/roles.ts";

const rolesIn = (text = "") => (text === "–" ? [] : text.split(", "));

it("docs/api.md lists every route with the access it requires, and no route that does not exist", () => {
  const rows = API_PAGE.matchAll(/^\| (`[A-Z]+ \/\S*`) \| (\w+) \|/gm);
  const listed = [...rows].map(([, route, access]) => `${route} ${access}`);
  const existing = ROUTES.map(({ method, path, access }) => `\`${method} ${path}\` ${access}`);
  expect(listed.toSorted()).toEqual(existing.toSorted());
});

it("docs/api.md lists every access with the roles of operator keys and of account keys that have it", () => {
  const [, ...rows] = API_PAGE.matchAll(/^\| (\w+) \| [^|]+ \| ([\w, –]+) \| ([\w, –]+) \|$/gm);
  const listed = rows.map(([, access, operators, accounts]) => [
    access,
    { operators: rolesIn(operators), accounts: rolesIn(accounts) },
  ]);
  expect(Object.fromEntries(listed)).toEqual(PERMISSIONS);
});
