import { ALL_STEPS, STEP_BY_STEP } from "../../src/cron/cron-expression.ts";
import { type SetupOptions, WrongOption } from "./options.ts";
import { hasBlock, readKey, setBlockKey, setKey, switchBlocks } from "./wrangler-toml.ts";

const DATABASES = "[[d1_databases]]";
const PRODUCERS = "[[queues.producers]]";
const CONSUMERS = "[[queues.consumers]]";
const BUCKETS = "[[r2_buckets]]";
const LIMITS = "[limits]";
const isIndex = (block: string) => /^binding\s*=\s*"INDEX_DB"/m.test(block);
const isIndexOrShard = (block: string) => /^binding\s*=\s*"INDEX_DB(_\d+)?"/m.test(block);
const isUnplaced = (block: string) => isIndexOrShard(block) && !/^database_id\s*=/m.test(block);
const isIndexProducer = (block: string) => /^binding\s*=\s*"INDEX_QUEUE"/m.test(block);
const isOutputs = (block: string) => /^binding\s*=\s*"OUTPUTS"/m.test(block);
const isIndexConsumer = (block: string) => /^queue\s*=\s*"task-relay-index"/m.test(block);

/**
 * Applies the options of `npm run setup` to the text of `wrangler.toml`, and returns the new text. Applying
 * the same options again changes nothing.
 * @throws WrongOption when the options ask for a queue and there is no index; UnexpectedToml when the text has another form
 * than this code can edit.
 */
export function edit(toml: string, options: SetupOptions): string {
  let text = toml;
  const { domain, outputsDomain, jurisdiction, location, index, queue, isPaid } = options;
  if (domain !== undefined || outputsDomain !== undefined) {
    text = withDomains(text, domain ?? null, outputsDomain ?? null);
  }
  if (jurisdiction !== undefined) text = setKey(text, "vars", "JURISDICTION", named(jurisdiction));
  if (location !== undefined) text = setKey(text, "vars", "LOCATION_HINT", named(location));
  if (isPaid !== undefined) text = withPlan(text, isPaid);
  if (index !== undefined) text = withIndex(text, index);
  if (queue !== undefined) text = withQueue(text, queue);
  return withOutputs(text, options);
}

/**
 * Returns the options of `npm run setup` that a `wrangler.toml` fulfils at present. A domain, a place and a plan that the
 * text does not set are missing.
 */
export function presentOptions(toml: string): SetupOptions {
  const domain = routedHost(toml, "PUBLIC_URL");
  const outputsDomain = routedHost(toml, "OUTPUTS_URL");
  const [jurisdiction, location] = [textOf(toml, "JURISDICTION"), textOf(toml, "LOCATION_HINT")];
  const isLimited = hasBlock(toml, LIMITS, () => true);
  const isFree = textOf(toml, "PLAN") === "free";
  return {
    ...(domain !== null && { domain }),
    ...(outputsDomain !== null && { outputsDomain }),
    ...(jurisdiction !== "" && { jurisdiction }),
    ...(location !== "" && { location }),
    ...((isLimited || isFree) && { isPaid: isLimited }),
    index: hasBlock(toml, DATABASES, isIndex),
    queue: hasBlock(toml, PRODUCERS, isIndexProducer),
    outputs: hasBlock(toml, BUCKETS, isOutputs),
  };
}

/** Returns warnings for the user about the settings in a finished `wrangler.toml`. */
export function warnings(toml: string): readonly string[] {
  return [
    ...domainWarnings(toml),
    ...outputWarnings(toml),
    ...planWarnings(toml),
    ...databaseWarnings(toml),
  ];
}

/** Warns when outputs are kept and a deployment has no address yet with which their links could begin. */
function outputWarnings(toml: string): readonly string[] {
  const hasAddress = ["OUTPUTS_URL", "PUBLIC_URL"].some((name) => textOf(toml, name) !== "");
  if (hasAddress || !hasBlock(toml, BUCKETS, isOutputs)) return [];
  return [
    "Outputs are kept, on this machine at once (npm start). A deployment needs an address for their links: " +
      "npm run deploy:first stores PUBLIC_URL, --domain or --outputs-domain sets one of your own",
  ];
}

/** Warns when outputs are kept by a relay on the Free plan. */
function planWarnings(toml: string): readonly string[] {
  if (textOf(toml, "PLAN") !== "free" || !hasBlock(toml, BUCKETS, isOutputs)) return [];
  return [
    "Outputs are kept on the Free plan: it gives a Worker 10 ms of CPU time, and a copy takes about 2 ms for each MB. " +
      "Whether objects get more there was not tried, so expect that only small outputs are copied",
  ];
}

function domainWarnings(toml: string): readonly string[] {
  const { hostname } = URL.parse(textOf(toml, "PUBLIC_URL")) ?? {};
  if (hostname !== undefined && !hostname.endsWith(".workers.dev")) return [];
  return [
    "No domain is set: the relay will be at https://task-relay.<account>.workers.dev, for trying only. " +
      "For production: npm run setup -- --domain relay.example.com",
  ];
}

/**
 * Warns when `JURISDICTION` or `LOCATION_HINT` sets where the Durable Objects are created, but a database of
 * the index has no `database_id`: wrangler then creates this database at its first deployment, maybe
 * elsewhere, and a database cannot be moved.
 */
function databaseWarnings(toml: string): readonly string[] {
  const jurisdiction = readKey(toml, "JURISDICTION");
  const location = readKey(toml, "LOCATION_HINT");
  if ((jurisdiction ?? location) === null || !hasBlock(toml, DATABASES, isUnplaced)) return [];
  const [name, option] =
    jurisdiction === null ? ["LOCATION_HINT", "location"] : ["JURISDICTION", "jurisdiction"];
  const place = (jurisdiction ?? location ?? "").replaceAll('"', "");
  return [
    `${name} places only objects: the first deployment creates the index near the machine that deploys. ` +
      `Before it: npx wrangler d1 create task-relay-index --${option} ${place}, for each database of the ` +
      "index, and add its database_id to the block in wrangler.toml",
  ];
}

/**
 * Sets the domains of the relay and of its links to outputs; null keeps one. Each is a route to the relay, which
 * `workers.dev` does not reach when it has a domain of its own.
 */
function withDomains(toml: string, domain: string | null, outputsDomain: string | null): string {
  const own = domain ?? routedHost(toml, "PUBLIC_URL");
  const ofOutputs = outputsDomain ?? routedHost(toml, "OUTPUTS_URL");
  const hosts = new Set([own, ofOutputs].filter((host) => host !== null));
  const routes = [...hosts].map((host) => `{ pattern = "${host}", custom_domain = true }`);
  let text = setKey(toml, null, "routes", `[${routes.join(", ")}]`);
  if (domain !== null) {
    text = setKey(text, null, "workers_dev", "false");
    text = setKey(text, "vars", "PUBLIC_URL", `"https://${domain}"`);
  }
  if (outputsDomain === null) return text;
  return setKey(text, "vars", "OUTPUTS_URL", `"https://${outputsDomain}"`);
}

/** Returns the host in a variable with a URL, if a route of the relay names it. Null otherwise. */
function routedHost(toml: string, name: string): string | null {
  const { hostname } = URL.parse(textOf(toml, name)) ?? {};
  const routes = readKey(toml, "routes") ?? "";
  return hostname !== undefined && routes.includes(`"${hostname}"`) ? hostname : null;
}

function textOf(toml: string, name: string): string {
  return (readKey(toml, name) ?? "").replaceAll('"', "");
}

/** Switches the bucket of outputs on or off. It stands in the jurisdiction of the objects. */
function withOutputs(toml: string, { outputs, jurisdiction }: SetupOptions): string {
  if (outputs === undefined && jurisdiction === undefined) return toml;
  const switched = outputs === undefined ? toml : switchBlocks(toml, BUCKETS, outputs, isOutputs);
  const place = readKey(toml, "JURISDICTION");
  return setBlockKey(switched, BUCKETS, isOutputs, "jurisdiction", place);
}

function withPlan(toml: string, isPaid: boolean): string {
  const limited = switchBlocks(toml, LIMITS, isPaid);
  const planned = setKey(limited, "vars", "PLAN", isPaid ? null : '"free"');
  const [from, to] = isPaid ? [STEP_BY_STEP, ALL_STEPS] : [ALL_STEPS, STEP_BY_STEP];
  if (readKey(planned, "crons") !== `["${from}"]`) return planned;
  return setKey(planned, "triggers", "crons", `["${to}"]`);
}

function withIndex(toml: string, isOn: boolean): string {
  if (isOn) return switchBlocks(toml, DATABASES, true, isIndex);
  return withQueue(switchBlocks(toml, DATABASES, false, isIndexOrShard), false);
}

function withQueue(toml: string, isOn: boolean): string {
  if (isOn && !hasBlock(toml, DATABASES, isIndex)) {
    throw new WrongOption("--queue needs the index: add --index on");
  }
  const produced = switchBlocks(toml, PRODUCERS, isOn, isIndexProducer);
  return switchBlocks(produced, CONSUMERS, isOn, isIndexConsumer);
}

function named(value: string): string | null {
  return value === "none" ? null : `"${value}"`;
}
