import { type CalledUrlsConfig, sourceUrlRulesOf } from "../config/callback-url-rules.ts";
import { readUpTo } from "../lib/stream.ts";
import { type Observation, phaseIn } from "../providers/observation.ts";
import type { FinalReading } from "./named-task.ts";
import { openSource } from "./open-source.ts";

/**
 * The answer at a content path: `opens` where there is a file, `closed` where there is none, `limited` or `unanswered`
 * where neither is known.
 */
export type ContentAnswer = "opens" | "closed" | "limited" | "unanswered";

/** First bytes of a text in which a server says something, in place of a file: HTML, JSON, or a blank before these. */
const TEXT_STARTS = new Set(Array.from("<{[ \t\r\n", (char) => char.charCodeAt(0)));
const TEXT_TYPES = /^(?:text\/html|application\/(?:[\w.+-]+\+)?json)\b/i;

/**
 * Returns what a poll says after the content path of the job was asked, where that depends on it: the report says
 * success, and names this path or has no other output. Where a file opens there, it is an output that opens only with
 * the key; where none does, the success is one without output, and a later poll asks again. Null when the request to
 * the content path got no answer.
 * @param isInput tells whether a link is one that the job got as input.
 */
export async function withContent(
  reading: FinalReading,
  isInput: (link: string) => boolean,
  askContent: (url: string) => Promise<ContentAnswer>,
): Promise<FinalReading | null> {
  if (reading.kind !== "observed") return reading;
  const { observation } = reading;
  const url = contentToAsk(observation, isInput);
  if (url === null) return reading;
  switch (await askContent(url)) {
    case "opens":
      return { kind: "observed", observation: proven(observation, url) };
    case "closed": {
      const nothing = { urls: [], keyedUrls: [], contentUrl: null };
      return { kind: "observed", observation: { ...observation, ...nothing } };
    }
    case "limited":
      return { kind: "limited" };
    case "unanswered":
      return null;
  }
}

/**
 * Returns the link of the content path, where it decides whether a job that has succeeded has an output. Null where it
 * does not.
 */
function contentToAsk(observation: Observation, isInput: (link: string) => boolean): string | null {
  const { urls, inlineOutputs = [], isText = false, contentUrl = null } = observation;
  if (contentUrl === null || phaseIn(observation) !== "completed") return null;
  const hasOther = isText || inlineOutputs.length > 0 || urls.some((link) => !isInput(link));
  return urls.includes(contentUrl) || !hasOther ? contentUrl : null;
}

/** Returns a report with a link that was found to open. */
function proven(observation: Observation, url: string): Observation {
  const { urls, keyedUrls = [] } = observation;
  const isNamed = urls.includes(url);
  return {
    ...observation,
    urls: isNamed ? urls : [url],
    keyedUrls: isNamed ? keyedUrls : [url],
    contentUrl: null,
  };
}

/**
 * Asks whether a link leads to a file: requests only the first byte, and follows redirects as for any output. A page of
 * HTML or an object of JSON is an answer of a server and no file. It never throws.
 * @param keyHeaders headers that authenticate the relay, for the origin of the link alone.
 */
export async function askForFile(
  url: string,
  keyHeaders: Readonly<Record<string, string>>,
  config: CalledUrlsConfig,
  signal: AbortSignal,
): Promise<ContentAnswer> {
  const source = { url, keyHeaders, pointer: null, rules: sourceUrlRulesOf(config, "") };
  const opened = await openSource(source, { Range: "bytes=0-0" }, signal);
  switch (opened.kind) {
    case "opened":
      return contentAnswer(opened.response);
    case "refused":
      return refusal(opened);
    case "not_ready":
    case "blocked":
      return "closed";
    case "unreachable":
      return "unanswered";
  }
}

/**
 * Returns the answer that a response at a content path is: a file, unless the response is empty or a text in which a
 * server says something.
 */
export async function contentAnswer({
  body,
  headers,
  ok,
  status,
}: Response): Promise<ContentAnswer> {
  if (!ok) return refusal({ status });
  const { bytes, isBroken } = await readUpTo(body, 1);
  const [first] = bytes;
  if (first === undefined) return isBroken ? "unanswered" : "closed";
  const isText = TEXT_TYPES.test(headers.get("Content-Type") ?? "") && TEXT_STARTS.has(first);
  return isText ? "closed" : "opens";
}

function refusal({ status }: { readonly status: number }): ContentAnswer {
  return status === 429 ? "limited" : "closed";
}
