import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** Functions of src/api/http/client-stream.ts, whose bodies end when their client does not read. */
const ENDED = /^(?:contentToClient|eventsToClient)\(/;
/** Answers that are short, or that the platform sends without anything that the relay holds, with the reason for each. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ['src/api/hooks/receive-hook.ts: "ok"', "two bytes"],
  ["src/api/hooks/receive-hook.ts: handshake", "a text of the request, of MAX_BODY_KB at most"],
  ["src/api/mcp/mcp-route.ts: sent", "one of the functions"],
  ["src/api/mcp/mcp-route.ts: Response.json", "the error of a message that was not read"],
  ["src/api/offers/try-offer.ts: Response.json", "the body of a call that is tried and not sent"],
  ["src/api/offers/try-offer.ts: data", "the body of a call that is tried and not sent"],
  [
    "src/api/submit/submit-offer.ts: JSON.stringify(target?.isListOfOne === true ? [job] : job)",
    "the body of a call",
  ],
  ["src/api/submit/submit-route.ts: body", "a stream of submit-job.ts where it is long"],
  ["src/api/tasks/read-answer.ts: body", "the body of a response that is checked here"],
  ["src/api/outputs/stream-source.ts: body", "a stream of client-stream.ts"],
  ["src/api/outputs/serve-copy.ts: body", "the platform pipes the bucket to the client"],
  ["src/api/outputs/serve-answer.ts: copy.body", "the platform pipes the bucket to the client"],
  ["src/api/mcp/offer-tool.ts: body", "the answer to a tool, which is read at once"],
  ["src/console/submit/submit-page.tsx: body", "the answer to a form, which is read at once"],
  ["src/console/http/forms.ts: page.body", "the body of a page, of html-answer.ts"],
]);

/** Returns the first argument of each `new Response(…)` in a file that is not null, and `Response.json`. */
function bodiesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const made = [...text.matchAll(/new Response\(\s*/g)].map(({ 0: { length }, index }) => {
    return firstArgument(text.slice(index + length));
  });
  const json = text.includes("Response.json(") ? ["Response.json"] : [];
  return [...made.filter((body) => body !== "null" && body !== ""), ...json];
}

/** Returns the text of a list of arguments up to the end of the first. */
function firstArgument(text: string): string {
  let depth = 0;
  for (const [at, character] of Array.from(text).entries()) {
    if (depth === 0 && (character === "," || character === ")")) return text.slice(0, at).trim();
    if ("([{".includes(character)) depth++;
    if (")]}".includes(character)) depth--;
  }
  return text;
}

it("each response body made in src/api or src/console ends when its client does not read it, or is in this test's list with the reason why it need not", () => {
  const files = globSync("src/{api,console}/**/*.{ts,tsx}", { cwd: ROOT });
  const other = files
    .flatMap((file) => bodiesIn(file).map((body) => ({ file, body })))
    .filter(({ body }) => !ENDED.test(body))
    .map(({ file, body }) => `${file}: ${body}`);
  expect(new Set(other)).toEqual(new Set(OTHERS.keys()));
});
