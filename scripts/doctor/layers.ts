import type { Answer } from "./relay.ts";

/**
 * A service in front of the relay (e.g. a firewall) that answered a request in its place, and how to let
 * requests pass.
 */
export interface Layer {
  readonly name: string;
  readonly cure: string;
}

const EXEMPT =
  "turn Bot Fight Mode off and skip Browser Integrity Check, bot rules and managed rules for /hooks/ (docs/deploy.md)";
const ROUTE =
  "deploy with this host as custom domain: npm run setup -- --domain <host>, then npx wrangler deploy";
const ADDRESS = "use the host name of the relay, not an IP address or another name, in --url";
const DNS = "check the DNS record of the host: it must be the one that wrangler created";

/**
 * Services of Cloudflare that answer in place of the relay with one of Cloudflare's 1xxx error codes, by this
 * code. The body of such an answer is `error code: 1xxx` or an error page.
 */
const CODES: Readonly<Record<string, Layer>> = {
  1000: { name: "Cloudflare's DNS (prohibited address)", cure: DNS },
  1001: { name: "Cloudflare's DNS (no such host)", cure: DNS },
  1002: { name: "Cloudflare's DNS (restricted address)", cure: DNS },
  1003: { name: "Cloudflare's edge (direct access by IP address)", cure: ADDRESS },
  1004: { name: "Cloudflare's edge (host not configured)", cure: DNS },
  1006: {
    name: "Cloudflare's IP access rules",
    cure: "allow the sender in the zone's access rules",
  },
  1007: {
    name: "Cloudflare's IP access rules",
    cure: "allow the sender in the zone's access rules",
  },
  1008: {
    name: "Cloudflare's IP access rules",
    cure: "allow the sender in the zone's access rules",
  },
  1009: { name: "a country block of the zone", cure: "exempt /hooks/ from the country rule" },
  1010: { name: "Browser Integrity Check", cure: EXEMPT },
  1015: { name: "a rate-limiting rule", cure: "exempt /hooks/ and /v1/events from the rule" },
  1016: { name: "Cloudflare's DNS (origin without an address)", cure: DNS },
  1019: { name: "Cloudflare's loop protection", cure: "do not call the relay from its own Worker" },
  1020: { name: "a WAF custom rule", cure: EXEMPT },
  1027: {
    name: "the Free plan's daily limit of requests",
    cure: "wait until 00:00 UTC, or take the paid plan",
  },
  1033: { name: "Cloudflare Tunnel (no connector)", cure: ROUTE },
  1042: {
    name: "Cloudflare (1042: no Worker is reached under this name)",
    cure: `${ROUTE}; from another Worker of the zone, use a service binding`,
  },
  1101: { name: "the Workers runtime (the Worker threw)", cure: "read the log: npx wrangler tail" },
  1102: {
    name: "the Workers runtime (CPU time exceeded)",
    cure: "raise cpu_ms under [limits], or take the paid plan",
  },
  1103: {
    name: "Cloudflare (a spending limit was reached)",
    cure: "raise or remove the account's spending limit; use alerts instead",
  },
};

/** Returns the service that gave an answer which is not the relay's, and how to let requests pass it. */
export function layerOf(answer: Answer): Layer {
  const { status, headers, text } = answer;
  const location = headers.get("Location") ?? "";
  if (location.includes("cloudflareaccess.com")) {
    return { name: "Cloudflare Access", cure: "add a bypass policy for /hooks/ and /v1/events" };
  }
  if (headers.get("cf-mitigated") === "challenge") {
    return { name: "a challenge of Cloudflare (bots or WAF)", cure: EXEMPT };
  }
  const code = codeIn(text);
  if (code !== null) {
    const cure = `look up error ${code} in Cloudflare's documentation`;
    return CODES[code] ?? { name: `Cloudflare (error code ${code})`, cure };
  }
  return isCloudflare(headers) ? edgeLayer(status, text) : otherLayer(headers, location);
}

function edgeLayer(status: number, text: string): Layer {
  if (/there is nothing here yet/i.test(text)) {
    return { name: "workers.dev (no such Worker)", cure: "deploy: npx wrangler deploy" };
  }
  if (status === 403) return { name: "the WAF (a managed rule)", cure: EXEMPT };
  if (status === 429) {
    return { name: "a rate-limiting rule", cure: "exempt /hooks/ and /v1/events from the rule" };
  }
  if (status >= 520 && status <= 530) {
    return { name: `Cloudflare (${status}: it asked an origin server)`, cure: ROUTE };
  }
  return { name: "Cloudflare or another Worker", cure: ROUTE };
}

function otherLayer(headers: Headers, location: string): Layer {
  const server = headers.get("Server");
  const name = server === null ? "another server" : `another server (${server})`;
  const cure =
    location === ""
      ? "check --url; a proxy in front must pass answers on unchanged, X-Request-Id included"
      : `check --url: it redirects to ${originOf(location)}`;
  return { name, cure };
}

function codeIn(text: string): string | null {
  const match = /error(?: code)?:?\s*(?:<[^>]*>\s*)*(1[01]\d\d)\b/i.exec(text);
  return match?.[1] ?? null;
}

function isCloudflare(headers: Headers): boolean {
  return headers.get("Server") === "cloudflare" || headers.has("CF-RAY");
}

function originOf(location: string): string {
  return URL.parse(location)?.origin ?? "another path";
}
