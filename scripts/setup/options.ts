import { parseArgs } from "node:util";
import { type EnvironmentName, isEnvironmentName } from "../environments.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "../../src/config/placement.ts";

/**
 * Options of `npm run setup`: the changes to `wrangler.toml`. A setting without an option is left
 * unchanged.
 */
export interface SetupOptions {
  /** Environment whose secrets are generated; the other options are settings of production. */
  readonly environment?: EnvironmentName;
  readonly domain?: string;
  /** Jurisdiction in which the Durable Objects store their data; `none` removes the setting. */
  readonly jurisdiction?: string;
  /** Region near which Cloudflare creates the Durable Objects; `none` removes the setting. */
  readonly location?: string;
  readonly index?: boolean;
  readonly queue?: boolean;
  /** True keeps outputs, i.e. the files that tasks generate, in an R2 bucket. */
  readonly outputs?: boolean;
  /** Host name of the relay's links to outputs. */
  readonly outputsDomain?: string;
  /**
   * True when the Cloudflare account has the paid plan; only then may `wrangler.toml` set a limit of CPU
   * time.
   */
  readonly isPaid?: boolean;
  /** File with offers that are stored at the relay with this URL. They go with no other setting. */
  readonly offers?: { readonly file: string; readonly url: URL };
  /** Settings of a relay on machines of one's own. They go with no other setting. */
  readonly selfHost?: SelfHostOptions;
}

/** What is installed on machines of one's own: one relay, or one of a cluster. */
export interface SelfHostOptions {
  /** Host name of the relay; `PUBLIC_URL` begins with `https://`. */
  readonly domain?: string;
  /** Undefined for one machine. */
  readonly cluster?: ClusterOptions;
}

/** The bucket that the machines of a cluster share, and the place of one of them. What is undefined is looked for elsewhere. */
export interface ClusterOptions {
  /** Bucket and prefix, such as `s3://task-relay/cluster`. */
  readonly bucket: string;
  readonly storeUrl: string | undefined;
  readonly region: string | undefined;
  readonly accessKey?: string;
  readonly secretKey?: string;
  /** Address and port at which the other machines reach this one. */
  readonly address: string | undefined;
}

/**
 * Error for a wrong option on the command line or a wrong answer to a question; its message shows the right
 * form.
 */
export class WrongOption extends Error {}

const NONE = "none";

export const USAGE = `Usage: npm run setup -- [options]

  --domain HOST          host name of the relay, such as relay.example.com
  --jurisdiction NAME    place of all objects: ${JURISDICTIONS.join(", ")} or ${NONE}; only before the first task
  --location NAME        region near which objects are created: ${LOCATION_HINTS.join(", ")} or ${NONE}
  --index on|off         lists and statistics, in a D1 database
  --queue, --no-queue    write the index through a queue
  --outputs, --no-outputs
                         keep outputs in an R2 bucket, which this command creates
  --outputs-domain HOST  host name of the links to outputs, such as outputs.example.net
  --plan free|paid       paid limits the CPU time of a request
  --offers FILE --url URL
                         store the offers of a file, a list as OFFERS has it, at the running relay
  --self-host [--domain HOST]
                         write what a machine of your own needs, into the directory self-host
  --self-host --cluster s3://BUCKET/PREFIX --store-url URL --store-region NAME --address HOST:PORT
                         the same for a machine of a cluster; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are
                         taken from the environment, or asked for
  --env preview          only generates the secrets of the preview; its settings stand under [env.preview]

What each does: docs/configuration.md#npm-run-setup`;
const HOST = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** Reads the options of `npm run setup` from the command line. @throws WrongOption */
export function optionsOf(args: readonly string[]): SetupOptions {
  const { "self-host": isSelfHost, ...values } = parsed(args);
  if (isSelfHost === true) return { selfHost: selfHostOf(values) };
  const { env, offers, url, ...settings } = values;
  if (offers !== undefined || url !== undefined) return offersOf(offers, url, env, settings);
  if (env !== undefined && env !== "production") return { environment: previewOf(env, settings) };
  return settingsOf(settings);
}

/** Options of `npm run setup -- --self-host` that describe a machine of a cluster. */
const CLUSTER_OPTIONS = ["cluster", "store-url", "store-region", "address"] as const;

type Values = Omit<ReturnType<typeof parsed>, "self-host">;

function selfHostOf(values: Values): SelfHostOptions {
  const {
    domain,
    cluster,
    address,
    "store-url": storeUrl,
    "store-region": region,
    ...others
  } = values;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new WrongOption(`--self-host does not go with --${other}`);
  const settings = { storeUrl, region, address };
  if (cluster === undefined && Object.values(settings).some((value) => value !== undefined)) {
    throw new WrongOption("--store-url, --store-region and --address go with --cluster");
  }
  return checkedSelfHost({
    ...(domain !== undefined && { domain }),
    ...(cluster !== undefined && { cluster: { bucket: cluster, ...settings } }),
  });
}

/** Checks the options of a relay on machines of one's own. @throws WrongOption that names the option. */
export function checkedSelfHost({ domain, cluster }: SelfHostOptions): SelfHostOptions {
  const host = hostOf("--domain", domain, "relay.example.com");
  if (cluster !== undefined) checkCluster(cluster);
  return {
    ...(host !== undefined && { domain: host }),
    ...(cluster !== undefined && { cluster }),
  };
}

function checkCluster({ bucket, storeUrl, region, address }: ClusterOptions): void {
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/[\w-]+(?:\/[\w-]+)*$/.test(bucket)) {
    throw new WrongOption("--cluster must be s3://BUCKET/PREFIX, such as s3://task-relay/cluster");
  }
  const url = storeUrl === undefined ? null : URL.parse(storeUrl);
  if (storeUrl !== undefined && (url === null || !/^https?:$/.test(url.protocol))) {
    throw new WrongOption(
      "--store-url must be the URL of the store, such as https://s3.example.com",
    );
  }
  if (region !== undefined && !/^[\w-]+$/.test(region)) {
    throw new WrongOption("--store-region must be the region of the bucket, such as us-east-1");
  }
  if (address !== undefined && !/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i.test(address)) {
    throw new WrongOption(
      "--address must be the private address and port of this machine, such as 10.0.0.1:7000",
    );
  }
}

function settingsOf(settings: Omit<Values, "env" | "offers" | "url">) {
  const misplaced = CLUSTER_OPTIONS.find((name) => settings[name] !== undefined);
  if (misplaced !== undefined) throw new WrongOption(`--${misplaced} goes with --self-host`);
  const { domain, jurisdiction, location, index, queue, outputs, plan } = settings;
  const outputsDomain = settings["outputs-domain"];
  return checked({
    ...(domain !== undefined && { domain }),
    ...(jurisdiction !== undefined && { jurisdiction }),
    ...(location !== undefined && { location }),
    ...(index !== undefined && { index: oneOf("--index", index, ["on", "off"]) === "on" }),
    ...(queue !== undefined && { queue }),
    ...(outputs !== undefined && { outputs }),
    ...(outputsDomain !== undefined && { outputsDomain }),
    ...(plan !== undefined && { isPaid: oneOf("--plan", plan, ["free", "paid"]) === "paid" }),
  });
}

/**
 * Checks the options of the setup.
 * @returns the options, with the domains in lower case.
 * @throws WrongOption
 */
export function checked(options: SetupOptions): SetupOptions {
  const { jurisdiction, location } = options;
  const domain = hostOf("--domain", options.domain, "relay.example.com");
  const outputsDomain = hostOf("--outputs-domain", options.outputsDomain, "outputs.example.net");
  if (jurisdiction !== undefined) oneOf("--jurisdiction", jurisdiction, [...JURISDICTIONS, NONE]);
  if (location !== undefined) oneOf("--location", location, [...LOCATION_HINTS, NONE]);
  return {
    ...options,
    ...(domain !== undefined && { domain }),
    ...(outputsDomain !== undefined && { outputsDomain }),
  };
}

/** Returns a host name in lower case. @throws WrongOption when it cannot be a custom domain of a Worker. */
function hostOf(option: string, name: string | undefined, example: string): string | undefined {
  const host = name?.toLowerCase();
  if (host === undefined || (HOST.test(host) && !host.endsWith(".workers.dev"))) return host;
  throw new WrongOption(`${option} must be a host name of your own, such as ${example}`);
}

function offersOf(
  file = "",
  address = "",
  environment = "production",
  settings: object,
): SetupOptions {
  const url = URL.parse(address);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  if (file === "" || !isHttp || Object.keys(settings).length > 0) {
    throw new WrongOption(
      "--offers FILE goes with --url https://relay.example.com, and --env alone",
    );
  }
  return { offers: { file, url }, environment: named(environment) };
}

function named(name: string): EnvironmentName {
  if (isEnvironmentName(name)) return name;
  throw new WrongOption("--env must be production or preview");
}

function previewOf(text: string, settings: object): EnvironmentName {
  const name = named(text);
  if (Object.keys(settings).length === 0) return name;
  throw new WrongOption("--env preview goes with no other option: edit [env.preview] by hand");
}

function parsed(args: readonly string[]) {
  try {
    const text = { type: "string" } as const;
    const places = { jurisdiction: text, location: text };
    const domains = { domain: text, "outputs-domain": text };
    const isSwitch = { type: "boolean" } as const;
    const switches = { queue: isSwitch, outputs: isSwitch, "self-host": isSwitch };
    const machines = { cluster: text, "store-url": text, "store-region": text, address: text };
    const { values } = parseArgs({
      args: [...args],
      options: {
        env: text,
        offers: text,
        url: text,
        ...domains,
        ...places,
        index: text,
        plan: text,
        ...switches,
        ...machines,
      },
      allowNegative: true,
    });
    return values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown option";
    throw new WrongOption(`${reason}. Options: npm run setup -- --help`);
  }
}

function oneOf(name: string, value: string, words: readonly string[]): string {
  if (words.includes(value)) return value;
  throw new WrongOption(`${name} must be one of ${words.join(", ")}`);
}
