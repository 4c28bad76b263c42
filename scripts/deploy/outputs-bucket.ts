import { type Finding, ok } from "../doctor/finding.ts";
import type { Environment } from "../environments.ts";
import { readBlockKey, readTable } from "../setup/wrangler-toml.ts";
import { refusalOf } from "./failures.ts";
import { Refusal } from "./refusal.ts";
import { type Run, runWrangler } from "./wrangler.ts";

/** The bucket of outputs, as `wrangler.toml` binds it. */
export interface OutputsBucket {
  readonly name: string;
  /** Jurisdiction in which the bucket stores its objects; null for none. */
  readonly jurisdiction: string | null;
  /** Region near which the bucket is created; null for the one near this machine. */
  readonly location: string | null;
}

/** State of the rule of a bucket that aborts uploads which were not finished. */
export type UploadRule =
  | { readonly kind: "set" | "not set" | "no bucket" }
  /** Result when Cloudflare does not tell the rules, e.g. because nobody is logged in. */
  | { readonly kind: "unknown"; readonly run: Run };

/** Regions that R2 knows (https://developers.cloudflare.com/r2/reference/data-location/), by the `LOCATION_HINT`. */
const LOCATIONS: Readonly<Record<string, string>> = {
  wnam: "wnam",
  enam: "enam",
  weur: "weur",
  eeur: "eeur",
  apac: "apac",
  "apac-ne": "apac",
  "apac-se": "apac",
  oc: "oc",
};
/** Beginning of the names of all objects that the relay stores, so that the rule leaves others alone. */
const PREFIX = "outputs/";
const RULE = "task-relay-uploads";
const RULE_DAYS = 1;

/** Returns the bucket of outputs of an environment in the text of `wrangler.toml`; null when none is bound. */
export function outputsBucketOf(toml: string, { wranglerName }: Environment): OutputsBucket | null {
  const scope = wranglerName === "" ? "" : `env.${wranglerName}.`;
  const read = (key: string) =>
    readBlockKey(
      toml,
      `[[${scope}r2_buckets]]`,
      (block) => /^binding\s*=\s*"OUTPUTS"/m.test(block),
      key,
    );
  const name = read("bucket_name");
  if (name === null) return null;
  const hint = readTable(toml, `${scope}vars`)["LOCATION_HINT"] ?? "";
  return { name, jurisdiction: read("jurisdiction"), location: LOCATIONS[hint] ?? null };
}

/**
 * Creates the bucket of outputs where it does not exist, and its rule that aborts uploads after a day: an upload that a
 * crash cuts off would otherwise be stored, and billed, for seven days.
 * @throws Refusal when Cloudflare refuses one of these.
 */
export async function prepareBucket(bucket: OutputsBucket): Promise<Finding> {
  const { name } = bucket;
  let rule = await uploadRuleOf(bucket);
  if (rule.kind === "unknown")
    throw refusalOf(`The rules of the bucket ${name} cannot be read`, rule.run);
  const isNew = rule.kind === "no bucket";
  if (isNew) {
    const run = await runWrangler(["r2", "bucket", "create", name, ...placeOf(bucket)]);
    if (!run.isSuccess) throw refusalOf(`The bucket ${name} was not created`, run);
    rule = { kind: "not set" };
  }
  if (rule.kind === "not set") await addRule(bucket);
  const done = isNew ? "created; it aborts" : "aborts";
  return ok(`outputs: bucket ${name} ${done} unfinished uploads after a day`);
}

/** Reads whether a bucket aborts uploads after a day at the latest. */
export async function uploadRuleOf(bucket: OutputsBucket): Promise<UploadRule> {
  const run = await runWrangler([...lifecycle("list", bucket), ...jurisdictionOf(bucket)]);
  if (/\[code: 10006\]/.test(run.stderr)) return { kind: "no bucket" };
  if (!run.isSuccess) return { kind: "unknown", run };
  return { kind: rulesIn(run.stdout).some(isUploadRule) ? "set" : "not set" };
}

async function addRule(bucket: OutputsBucket): Promise<void> {
  const days = ["--abort-multipart-days", String(RULE_DAYS)];
  const add = [...lifecycle("add", bucket), RULE, PREFIX, ...days, ...jurisdictionOf(bucket)];
  const run = await runWrangler(add);
  if (!run.isSuccess) throw refusalOf(`The rule ${RULE} was not added to ${bucket.name}`, run);
  const after = await uploadRuleOf(bucket);
  if (after.kind === "set") return;
  const cure = `look at its rules: npx wrangler ${lifecycle("list", bucket).join(" ")}`;
  throw new Refusal(`The bucket ${bucket.name} does not abort uploads after a day`, cure);
}

const lifecycle = (command: "list" | "add", { name }: OutputsBucket) => [
  "r2",
  "bucket",
  "lifecycle",
  command,
  name,
];

function jurisdictionOf({ jurisdiction }: OutputsBucket): readonly string[] {
  return jurisdiction === null ? [] : ["--jurisdiction", jurisdiction];
}

/** Returns the options that place a new bucket. A jurisdiction decides more than a region. */
function placeOf(bucket: OutputsBucket): readonly string[] {
  const { jurisdiction, location } = bucket;
  if (jurisdiction !== null) return jurisdictionOf(bucket);
  return location === null ? [] : ["--location", location];
}

/** Returns the rules that `wrangler r2 bucket lifecycle list` prints: a paragraph for each, a line for each field. */
function rulesIn(stdout: string): readonly Readonly<Record<string, string>>[] {
  return stdout.split(/\n\s*\n/).map((paragraph) => {
    const fields = [...paragraph.matchAll(/^(name|enabled|prefix|action):\s+(.*)$/gm)];
    return Object.fromEntries(fields.map(([, field = "", value = ""]) => [field, value.trim()]));
  });
}

function isUploadRule({ enabled, prefix = "", action = "" }: Readonly<Record<string, string>>) {
  const [, days = ""] = /Abort incomplete multipart uploads after ([\d.]+) days/.exec(action) ?? [];
  const isForOutputs = prefix === "(all prefixes)" || PREFIX.startsWith(prefix);
  return enabled === "Yes" && isForOutputs && days !== "" && Number(days) <= RULE_DAYS;
}
