import { Refusal } from "./refusal.ts";
import type { Run } from "./wrangler.ts";

const D1 = "give the API token the permission D1: Edit, or run npm run setup -- --index off";
const R2 =
  "give the API token the permission Workers R2 Storage: Edit, or run npm run setup -- --no-outputs";
const PERMISSIONS =
  "npx wrangler login, or a token from the template Edit Cloudflare Workers with the permission D1: Edit added";

/** Patterns of wrangler's error output, each with the advice to the operator. The first that matches is used. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [
    /\/user\/tokens\/verify|code: (?:9109|6003)\]/,
    "npx wrangler login, or set CLOUDFLARE_API_TOKEN to a valid token",
  ],
  [/\/d1\/.*code: 10000\]|must have a "database_id"/s, D1],
  [/\/r2\/.*code: 10000\]/s, R2],
  [/code: 10000\]/, PERMISSIONS],
  [
    /code: 10042\]/,
    "enable R2 for the account, in the dashboard under R2 object storage, or run npm run setup -- --no-outputs",
  ],
  [
    /register a workers\.dev subdomain/,
    "open the page above, or npm run setup -- --domain relay.example.com",
  ],
  [/code: 100328\]/, "npm run setup -- --plan free, or take the paid plan"],
  [/fetch failed|ENOTFOUND|ECONNREFUSED|EAI_AGAIN/, "check the connection to the internet"],
];

/**
 * Converts a run of wrangler that failed to one line: what was tried, what Cloudflare or wrangler answered,
 * and what to do.
 */
export function refusalOf(tried: string, { stderr, stdout, notes }: Run): Refusal {
  const said = stderr.split("\n").map((line) => line.replace(/^.*\[ERROR\]/, "").trim());
  const error = stderr.split("\n").findIndex((line) => line.includes("[ERROR]"));
  const message = said.slice(Math.max(error, 0)).find((line) => line !== "") ?? stdout.trim();
  const code = said.find((line) => /\[code: \d+\]/.test(line)) ?? "";
  const partly = said.filter((line) => line.startsWith("- ")).join("; ");
  const link = said.find((line) => line.startsWith("https://")) ?? "";
  const details = [message, code === message ? "" : code, partly, link].filter(
    (each) => each !== "",
  );
  const cure = CURES.find(([pattern]) => pattern.test(`${message}\n${code}`))?.[1];
  const log = notes.find(({ log_file_path: path }) => path !== undefined)?.log_file_path;
  return new Refusal(`${tried}: ${details.join(" ")}`, cure ?? `read ${log ?? "wrangler's log"}`);
}

/** Tells whether a run failed because the account has no Worker of this name yet. */
export function isUnknownWorker({ isSuccess, stderr }: Run): boolean {
  return !isSuccess && /Worker "[^"]*"(?: \(env: \S+\))? not found|\[code: 10007\]/.test(stderr);
}
