import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount } from "./accounts.ts";
import { callWith, ProblemBody } from "./client.ts";
import { useClock } from "./clock.ts";

useClock();

const token = (role: string) => `tok_of_the_role_${role}`;
const OPERATOR_ROLES = ["read", "metrics", "operate", "all"];
const OPERATOR_KEYS = OPERATOR_ROLES.map((role) => `${role}:${token(role)}`).join(" ");
const BINDINGS = { ...env, OPERATOR_KEYS };

/** The requests that the roles of operator keys and of account keys permit. */
const PERMITTED: Readonly<Record<string, RegExp>> = {
  read: /^GET (?!.*(?:signing-secrets|endpoints|keys|entries|grants|spend|listen))|verify$|^POST \/mcp$/,
  metrics: /^GET \/(?:metrics|v1\/stats(?:\/series)?)$/,
  operate:
    /^GET (?!.*(?:signing-secrets|keys|listen))|^POST \/(?:mcp|v1\/(?:tasks|submit|events|callbacks|redeliveries|reindex|wake))|^(?:PUT|DELETE) \/v1\/(?:submit|hosts|tasks\/\{id\}\/outputs|(?:accounts\/\{account\}\/)?endpoints)/,
  all: /^(?!GET .*listen)/,
  "account read":
    /^GET \/v1\/(?:tasks|submit|accounts\/|offers(?:\/\{name\})?$)(?!.*(?:signing-secrets|endpoints))|verify$|^POST \/mcp$/,
  "account full":
    /^GET \/v1\/(?:tasks|submit|accounts\/|listen|offers(?:\/\{name\})?$)|^(?:PUT|DELETE) \/v1\/(?:submit|tasks\/\{id\}\/outputs|accounts\/\{account\}\/endpoints)|^POST \/(?:mcp|v1\/(?:tasks\/\{id\}\/(?:redeliver|verify|cancel)|submit|redeliveries|callbacks))/,
};
const REQUESTS = ROUTES.filter(({ access }) => access !== "anyone").map(
  ({ method, path }) => `${method} ${path}`,
);

let account = "";
let keys: Readonly<Record<string, string>> = {};

beforeEach(async () => {
  account = await anAccount();
  const operators = OPERATOR_ROLES.map((role) => [role, token(role)]);
  const [{ key: own }, { key: full }] = [await aKey(account, "read"), await aKey(account)];
  keys = { ...Object.fromEntries(operators), "account read": own, "account full": full };
});

/** Sends a request with an invalid body or an unknown id, which is refused whatever the role of the key is. */
async function send(request: string, role: string, query = ""): Promise<Response> {
  const [method = "", path = ""] = request.split(" ");
  const filled = path
    .replace("{account}", role.startsWith("account") ? account : "nobody")
    .replaceAll(/\{\+?\w+\}/g, crypto.randomUUID());
  const body = method === "POST" ? { unknown: true } : undefined;
  return callWith(BINDINGS, `${filled}${query}`, { method, key: keys[role] ?? null, body });
}

/** Names a key with this role for a title. */
function nameOf(role: string): string {
  const own = role.replace("account ", "");
  return `an ${own === role ? "operator" : "account"} key with the role ${own}`;
}

/** Lists the roles that the text of a refusal names, in the order of the text. */
function rolesIn(detail: string): readonly string[] {
  return detail.match(/\b(?:read|metrics|operate|all|full)\b/g) ?? [];
}

it.each(Object.keys(PERMITTED).map((role) => [nameOf(role), role] as const))(
  "%s may send exactly the requests that this test lists for its role; each refusal of another request names the roles that may send it",
  async (_, role) => {
    const refused: string[] = [];
    for (const request of REQUESTS) {
      const response = await send(request, role);
      expect(response.status).not.toBe(401);
      if (response.status !== 403) continue;
      refused.push(request);
      const { code, detail } = ProblemBody.parse(await response.json());
      const holders = Object.keys(PERMITTED).filter((each) => PERMITTED[each]?.test(request));
      const named = holders.map((each) => each.replace("account ", ""));
      expect([request, code, ...rolesIn(detail)]).toEqual([request, "forbidden", ...named]);
    }
    expect(refused).toEqual(REQUESTS.filter((request) => !PERMITTED[role]?.test(request)));
  },
);

it.each([
  ["operator", "read", "may", "POST /v1/redeliveries", "?dry_run=true", 400],
  ["account", "read", "may", "POST /v1/redeliveries", "?dry_run=true", 400],
  ["operator", "metrics", "may not", "POST /v1/redeliveries", "?dry_run=true", 403],
  ["operator", "read", "may not", "POST /v1/redeliveries", "?dry_run=false", 403],
  ["operator", "read", "may not", "POST /v1/redeliveries", "?dry_run=false&dry_run=true", 403],
  ["operator", "read", "may not", "POST /v1/tasks/{id}/redeliver", "?dry_run=true", 403],
])(
  "an %s key with the role %s %s send %s%s, so that with an invalid body the request gets %i",
  async (owner, own, _verb, request, query, status) => {
    const role = owner === "account" ? `account ${own}` : own;
    expect((await send(request, role, query)).status).toBe(status);
  },
);

it("GET /healthz shows the relay's configuration to operator keys of every role, and to no account's key", async () => {
  const shown: string[] = [];
  for (const [role, key] of Object.entries(keys)) {
    const response = await callWith(BINDINGS, "/healthz", { key });
    if ((await response.text()).includes('"configuration"')) shown.push(role);
  }
  expect(shown).toEqual(OPERATOR_ROLES);
});
