// Prints what the relay reads in a body that an upstream has sent. Used as `npm run corpus -- FILE`.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isObject, parseJson } from "../src/core/json.ts";
import { failure, type Result, success } from "../src/core/result.ts";
import { GivenBody } from "./corpus/body-file.ts";
import { type CorpusAdapter, corpusAdapter, CORPUS_NAMES } from "./corpus/corpus-adapters.ts";
import { type BodyReading, playBody } from "./corpus/play.ts";
import { printHelp } from "./help.ts";

const USAGE = `Usage: npm run corpus -- FILE
Prints what the relay reads in a body, without a request. FILE is JSON like this:
{"provider": "fal", "transport": "poll", "endpoint": "fal-ai/model", "job": "JOB",
 "first": {"http_status": 200, "body": {"status": "COMPLETED"}},
 "http_status": 200, "headers": {}, "body": {"video": {"url": "https://cdn.example.com/v.mp4"}}}
Only "provider" and "body" are needed ("text" for what is not JSON), and no "provider" for a file of a
corpus. "transport" is poll, hook, or answer (to the call "submitted": {"path": "/v1/…", "body": {}}); "first"
is the first answer of a poll that takes two requests. An upstream that a connection declares has its
"declaration" too. Replace keys and personal details in what you pass on.`;

const EXIT = { understood: 0, notUnderstood: 1, notRead: 2 };

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  if (printHelp(args, USAGE)) return EXIT.understood;
  const [file, ...others] = args;
  if (file === undefined || others.length > 0) {
    console.error(USAGE);
    return EXIT.notRead;
  }
  const read = readGiven(file);
  if (!read.ok) {
    console.error(read.error);
    return EXIT.notRead;
  }
  const { given, adapter } = read.value;
  const reading = await playBody(adapter.provider, adapter.baseUrl, given);
  console.log(`${sentenceOf(reading)}\n\n${JSON.stringify(reading, null, 2)}`);
  const isUnderstood = reading.status !== "open" && reading.status !== "ignored";
  return isUnderstood ? EXIT.understood : EXIT.notUnderstood;
}

interface Given {
  readonly given: Parameters<typeof playBody>[2];
  readonly adapter: CorpusAdapter;
}

/** Reads the file of a user; the error says in one line why it cannot be played. */
function readGiven(file: string): Result<Given, string> {
  const text = contentOf(file);
  if (text === null) return failure(`${file} cannot be read.`);
  const json = parseJson(text);
  const named = /([^/]+)\/corpus\/[^/]+$/.exec(resolve(file))?.[1];
  const parsed = GivenBody.safeParse(isObject(json) ? { provider: named, ...json } : json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return failure(`${file}: ${issue?.path.join(".") || "the file"}: ${issue?.message}`);
  }
  const { provider, declaration } = parsed.data;
  try {
    const adapter = corpusAdapter(provider, declaration);
    if (adapter !== null) return success({ given: parsed.data, adapter });
    return failure(`${provider} is no provider: ${CORPUS_NAMES.join(", ")}.`);
  } catch (error) {
    return failure(`${file}: declaration: ${String(error)}`);
  }
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

function sentenceOf(reading: BodyReading): string {
  const { status, urls = [], error, because } = reading;
  const poll = reading.needs_poll === true ? " A poll must confirm it." : "";
  switch (status) {
    case "queued":
      return "The job waits; the task stays pending.";
    case "processing":
      return "The job runs.";
    case "completed":
      if (urls.length === 0) return "The answer to the call is complete, and is itself the output.";
      return `The job has succeeded, with ${urls.length} output${urls.length === 1 ? "" : "s"}.${poll}`;
    case "no_output":
      return "The job has succeeded, without an output that the relay finds. A task whose polls are answered like this for ten minutes fails.";
    case "failed":
      return `The job has failed: ${error?.category}, ${error?.retryable === true ? "worth a retry" : "not worth a retry"}.${poll}`;
    case "open":
      return `The relay learns nothing about the job and polls again (${because}).`;
    case "started":
      return `The answer to the call starts the job ${reading.starts}.`;
    case "refused":
      return `The answer to the call proves that nothing was started: ${reading.refusal}.`;
    case "ignored":
      return `The relay ignores this hook (${because}).`;
  }
}
