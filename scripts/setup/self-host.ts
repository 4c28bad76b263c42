import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { writeRelease } from "../self-host/release.ts";
import { type ClusterOptions, type SelfHostOptions, WrongOption } from "./options.ts";

const DIRECTORY = "self-host";
const root = join(import.meta.dirname, "../..");
const target = join(root, DIRECTORY);
const ENVIRONMENT_FILE = "task-relay.env";
const KEY_FILE = "cluster-key";
const HEADER = `# Variables and secrets of the relay, one NAME=value a line; JSON in single quotes. docs/configuration.md
`;

type Settings = Readonly<Record<string, string>>;

/**
 * Writes the directory `self-host`, from which the relay is installed on machines of one's own. Secrets, and lines that were
 * added to the environment file, stay when it is written again; the files of the release are replaced.
 * @throws WrongOption when the cluster needs something that is not given; Refusal when the relay is not built.
 */
export function writeSelfHost({ domain, cluster }: SelfHostOptions): readonly string[] {
  const before = contentOf(join(target, ENVIRONMENT_FILE));
  const settings: Settings = {
    ...generated(parseEnv(before)),
    ...(domain !== undefined && { PUBLIC_URL: `https://${domain}` }),
    ...(cluster !== undefined && storeSettings(cluster, parseEnv(before))),
  };
  writeRelease(join(target, "task-relay"));
  const texts: Readonly<Record<string, string>> = {
    [ENVIRONMENT_FILE]: withSettings(before === "" ? HEADER : before, settings),
    ...(cluster !== undefined && {
      "cluster-bucket": cluster.bucket,
      [KEY_FILE]: contentOf(join(target, KEY_FILE)) || randomBytes(32).toString("hex"),
    }),
  };
  for (const [name, text] of Object.entries(texts)) writeSecret(join(target, name), text);
  const copied = [
    "allow.capnp",
    "task-relay.service",
    ...(cluster === undefined ? [] : ["cluster.conf"]),
  ];
  for (const name of copied) copyFileSync(join(root, "ops", name), join(target, name));
  const written = ["task-relay/", ...Object.keys(texts), ...copied];
  return written.map((name) => `${DIRECTORY}/${name}`);
}

/** Tells whether the directory has the environment file of an earlier run. */
export function isSelfHostWritten(): boolean {
  return existsSync(join(target, ENVIRONMENT_FILE));
}

/** Returns the secrets that the relay needs and the file lacks, and the limits of requests of a new file. */
function generated(present: NodeJS.Dict<string>): Settings {
  const missing = ["RELAY_SECRET", "OPERATOR_KEYS"].filter((name) => (present[name] ?? "") === "");
  const secrets = missing.map((name) => [name, randomBytes(32).toString("base64url")]);
  const limits = Object.keys(present).length === 0 ? { RATE_LIMITS: "default" } : {};
  return { ...Object.fromEntries(secrets), ...limits };
}

/**
 * Returns the settings with which workerd reaches the bucket of a cluster. Its key comes from the options, the environment
 * of this command or the file, because the command line of a process can be read by others.
 * @throws WrongOption when a setting is missing, or has another form than the file can hold.
 */
function storeSettings(cluster: ClusterOptions, present: NodeJS.Dict<string>): Settings {
  const given: NodeJS.Dict<string> = {
    AWS_ENDPOINT_URL: cluster.storeUrl,
    AWS_REGION: cluster.region,
    AWS_ACCESS_KEY_ID: cluster.accessKey,
    AWS_SECRET_ACCESS_KEY: cluster.secretKey,
    CLUSTER_ADDRESS: cluster.address,
  };
  return Object.fromEntries(
    Object.entries(given).map(([name, option]) => {
      const value = option ?? process.env[name] ?? present[name] ?? "";
      if (/^[\w!#$%&()*+,./:;<=>?@[\]^{|}~-]+$/.test(value)) return [name, value];
      const fault = value === "" ? "is missing" : "must not contain blanks, quotes and backslashes";
      throw new WrongOption(`${name} ${fault}: ${SOURCES[name] ?? ""}`);
    }),
  );
}

/** Where each setting of a cluster comes from, for the message that it is missing. */
const SOURCES: Settings = {
  AWS_ENDPOINT_URL: "give --store-url https://s3.example.com",
  AWS_REGION: "give --store-region us-east-1, for many stores auto",
  AWS_ACCESS_KEY_ID: "set it in the environment of this command",
  AWS_SECRET_ACCESS_KEY: "set it in the environment of this command",
  CLUSTER_ADDRESS: "give --address 10.0.0.1:7000, the private port of this machine",
};

/** Sets variables in the text of an environment file. Its other lines stay. */
function withSettings(text: string, settings: Settings): string {
  return Object.entries(settings).reduce((all, [name, value]) => {
    const [line, present] = [`${name}=${value}`, new RegExp(`^${name}=.*$`, "m")];
    return present.test(all) ? all.replace(present, () => line) : `${all}${line}\n`;
  }, text);
}

function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
