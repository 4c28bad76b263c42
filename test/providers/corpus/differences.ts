import type { Expectation } from "../../../scripts/corpus/body-file.ts";
import type { BodyReading } from "../../../scripts/corpus/play.ts";
import type { JsonValue } from "../../../src/core/json.ts";
import { ratioIn, resolutionIn } from "../../../src/core/output-metadata/pixels.ts";

const OPEN: readonly BodyReading["status"][] = ["queued", "processing", "open", "no_output"];
const ENDS: readonly BodyReading["status"][] = ["completed", "failed", "no_output"];

/** Vendors' names of metadata that has another name in the relay. */
const NAMES: ReadonlyMap<string, string> = new Map([["fps", "framespersecond"]]);
/** Metadata of a file, which the relay reads in the file itself. */
const OF_THE_FILE: readonly string[] = ["width", "height"];

/** Says in what a reading differs from the expected one, in one line for each difference. */
export function differencesOf(
  expected: Expectation,
  reading: BodyReading,
  baseUrl: string,
): readonly string[] {
  return [
    ...ofCall(expected, reading),
    ...ofStatus(expected, reading),
    ...ofUrls(expected, reading, baseUrl),
    ...ofFiles(expected, reading),
    ...ofMetadata(expected, reading),
    ...ofUsage(expected, reading),
    ...ofError(expected, reading),
  ];
}

/** Says in what the meaning of the answer to a call differs: the job that it starts, or the refusal that it is. */
function ofCall({ starts, refusal }: Expectation, reading: BodyReading): readonly string[] {
  if (starts === reading.starts && refusal === reading.refusal) return [];
  return [`answer: ${JSON.stringify(reading)} in place of ${starts ?? refusal}`];
}

function ofStatus(expected: Expectation, reading: BodyReading): readonly string[] {
  if (expected.status === undefined || isStatusRight(expected, reading)) return [];
  const code = reading.error === undefined ? "" : ` (${reading.error.code})`;
  const kind = expected.inline
    ? " with the output in the answer"
    : expected.text_output
      ? " with text"
      : "";
  return [`status: ${reading.status}${code} in place of ${expected.status}${kind}`];
}

function isStatusRight(expected: Expectation, reading: BodyReading): boolean {
  const { status, error } = reading;
  if (expected.status === "open") return OPEN.includes(status) || reading.needs_poll === true;
  if (expected.status !== "completed" || (expected.urls ?? []).length > 0) {
    return status === expected.status;
  }
  if (status === "completed" && expected.urls === undefined)
    return isStoredRight(expected, reading);
  // A relay without a bucket cannot deliver an output that is no file behind a link, and says so at once.
  if (expected.inline === true) return isFinal(error, "output_needs_store");
  if (expected.text_output === true) return isFinal(error, "output_not_a_file");
  return expected.urls === undefined || status === "no_output";
}

/** What the answer to a call contains is stored, and counts as its output: its files or, without any, its text. */
function isStoredRight({ inline }: Expectation, { urls, files }: BodyReading): boolean {
  const hasFile = files?.some((type) => !type.startsWith("text/"));
  return urls?.length === 0 && hasFile === (inline === true);
}

function isFinal(error: BodyReading["error"], code: string): boolean {
  return error?.code === code && !error.retryable;
}

function ofUrls({ urls = [] }: Expectation, reading: BodyReading, baseUrl: string) {
  const expected = urls.map((url) => url.replace("{base_url}", baseUrl));
  const read = reading.urls ?? [];
  if (expected.length === 0 || JSON.stringify(expected) === JSON.stringify(read)) return [];
  return [`outputs: ${JSON.stringify(read)} in place of ${JSON.stringify(expected)}`];
}

function ofFiles({ files }: Expectation, { files: read = [] }: BodyReading) {
  if (files === undefined || JSON.stringify(files) === JSON.stringify(read)) return [];
  return [`files: ${JSON.stringify(read)} in place of ${JSON.stringify(files)}`];
}

function ofMetadata({ metadata = {} }: Expectation, { status, metadata: read = {} }: BodyReading) {
  if (status !== "completed") return [];
  return Object.entries(metadata).flatMap(([name, value]) => {
    if (OF_THE_FILE.includes(name)) return [];
    const wanted = wantedMetadata(name, value).filter(([own, text]) => spelt(read[own]) !== text);
    return wanted.map(
      ([own, text]) => `metadata: ${own} is ${spelt(read[own])} in place of ${text}`,
    );
  });
}

function spelt(value: JsonValue | undefined): string {
  if (value === undefined) return "missing";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the metadata of the relay that says what a member of the upstream says. */
function wantedMetadata(name: string, value: string | number | boolean) {
  const text = String(value);
  switch (name) {
    // The relay has whole seconds: many upstreams state 5.04 where 5 was asked and made.
    case "duration":
      return [[name, String(Math.round(Number(value)))]] as const;
    case "ratio":
      return [[name, ratioIn(text) ?? text]] as const;
    case "resolution":
      return [[name, resolutionIn(text) ?? text]] as const;
    case "size": {
      const ratio = ratioIn(text);
      return ratio === null ? ([["resolution", text]] as const) : ([["ratio", ratio]] as const);
    }
    default:
      return [[NAMES.get(name) ?? name, text]] as const;
  }
}

function ofUsage({ usage = {} }: Expectation, { status, usage: read = {} }: BodyReading) {
  if (!ENDS.includes(status)) return [];
  const wrong = Object.entries(usage).filter(([name, amount]) => read[name] !== amount);
  return wrong.map(([name, amount]) => `usage: ${name} is ${read[name]} in place of ${amount}`);
}

function ofError({ error: expected = {} }: Expectation, { error }: BodyReading): readonly string[] {
  if (error === undefined) return [];
  const members = ["code", "category", "retryable"] as const;
  const wrong = members.flatMap((name) => {
    const wanted = expected[name];
    if (wanted === undefined || error[name] === wanted) return [];
    return [`error: ${name} is ${error[name]} in place of ${wanted}`];
  });
  const { message_has: has = "", message_lacks: lacks } = expected;
  const isMessageRight =
    error.message.includes(has) && (lacks === undefined || !error.message.includes(lacks));
  const wished = lacks === undefined ? `with ${has}` : `without ${lacks}`;
  return isMessageRight
    ? wrong
    : [...wrong, `message: "${error.message}" in place of one ${wished}`];
}
