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
  --env preview          only generates the secrets of the preview; its settings stand under [env.preview]

What each does: docs/configuration.md#npm-run-setup`;
const HOST = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** Reads the options of `npm run setup` from the command line. @throws WrongOption */
export function optionsOf(args: readonly string[]): SetupOptions {
  const { env, offers, url, ...settings } = parsed(args);
  if (offers !== undefined || url !== undefined) return offersOf(offers, url, env, settings);
  if (env !== undefined && env !== "production") return { environment: previewOf(env, settings) };
  return settingsOf(settings);
}

function settingsOf(settings: Omit<ReturnType<typeof parsed>, "env" | "offers" | "url">) {
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
    const switches = { queue: isSwitch, outputs: isSwitch };
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
