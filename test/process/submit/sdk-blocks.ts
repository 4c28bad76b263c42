import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";

const PAGE = readFileSync(join(ROOT, "docs/sdks.md"), "utf8");

/** Rows of the page's table of SDKs. */
const ROWS = Array.from(
  PAGE.matchAll(/^\| (`[^`]+` \(\w+\)) \| ([\d.]+) \| (\d+) \|/gm),
  ([, sdk = "", version = "", repetitions = ""]) => ({ sdk, repetitions, version }),
);

/** A language of the page, and the command that runs a program given as its last argument. */
interface Language {
  readonly mark: string;
  readonly registry: string;
  readonly command: readonly [string, ...string[]];
  /** Pattern of the line that names the package of a block. */
  readonly importing: RegExp;
}

/** Environment variable with the only port to which {@link GUARD} lets a program connect. */
const GUARDED_PORT = "GUARDED_PORT";
/** Module that runs before a block, and makes every connection fail that does not lead to the relay. */
const GUARD = `
import { Socket } from "node:net";
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [{ host, port }] = Array.isArray(args[0]) ? args[0] : args;
  if (String(port) !== process.env.${GUARDED_PORT}) throw new Error("the SDK calls " + host + ":" + port);
  return connect.apply(this, args);
};
`;

const JAVASCRIPT: Language = {
  mark: "js",
  registry: "npm",
  command: [
    process.execPath,
    `--import=data:text/javascript,${encodeURIComponent(GUARD)}`,
    "--input-type=module",
    "-e",
  ],
  importing: /^import .+ from "(.+)";$/m,
};
/** Runs only where `SDK_PYTHON` names a Python that has the packages of the page. */
const PYTHON: Language = {
  mark: "python",
  registry: "PyPI",
  command: [process.env["SDK_PYTHON"] ?? "", "-c"],
  importing: /^(?:from|import) (?!os$|time$)([\w.]+)/m,
};
export const HAS_PYTHON = process.env["SDK_PYTHON"] !== undefined;

/** The owner of the key that the upstream gets. */
export type KeyOwner = "connection" | "customer";

/** A block of code of the page, which submits one job with an SDK, waits for it and prints the link to its output. */
export interface SdkBlock {
  /** Name of the package and its registry, as in the page's table. */
  readonly sdk: string;
  readonly connection: string;
  /** Number of times that the SDK repeats a call whose connection broke, as the page states it. */
  readonly repetitions: number;
  readonly language: Language;
  /** The block behind the lines that all blocks share, by the owner of the key. */
  readonly programs: Readonly<Record<KeyOwner, string>>;
}

/** Values that a run puts in place of those of the page. */
export interface Values {
  readonly relay: string;
  readonly callbackUrl: string;
  readonly idempotencyKey: string;
  readonly prompt: string;
  readonly env: Readonly<Record<string, string>>;
}

/** SDKs that do not send headers of the client's with the calls that read a job, so that they wait with the relay's key alone. */
const WAITS_WITH_RELAY_KEY_ALONE: readonly string[] = ["`fal_client` (PyPI)"];

/** Returns the owners of the keys with which an SDK waits for its job. */
export function ownersOf({ sdk }: SdkBlock): readonly KeyOwner[] {
  return WAITS_WITH_RELAY_KEY_ALONE.includes(sdk) ? ["connection"] : ["connection", "customer"];
}

/** Returns the blocks of the page that submit a job and wait for the answer of the upstream, in order. */
export function sdkBlocks(): readonly SdkBlock[] {
  return allBlocks().filter((block) => !isOfCall(block));
}

/** Returns the blocks of the page that make a call without waiting for the answer of the upstream. */
export function callBlocks(): readonly SdkBlock[] {
  return allBlocks().filter(isOfCall);
}

function isOfCall({ programs }: SdkBlock): boolean {
  return programs.connection.includes("respond-async");
}

function allBlocks(): readonly SdkBlock[] {
  return [JAVASCRIPT, ...(HAS_PYTHON ? [PYTHON] : [])].flatMap((language) => {
    const fenced = PAGE.matchAll(new RegExp(`^\`\`\`${language.mark}\\n([^]*?)^\`\`\`$`, "gm"));
    const [relays, customers, ...blocks] = Array.from(fenced, ([, code = ""]) => code);
    if (relays === undefined || customers === undefined) throw new Error("the page has no lines");
    return blocks.flatMap(variantsOf).map((code): SdkBlock => {
      const [, packageName = ""] = language.importing.exec(code) ?? [];
      const [, connection = ""] = /\/v1\/submit\/([\w-]+)/.exec(code) ?? [];
      const sdk = `\`${packageName}\` (${language.registry})`;
      const programs = { connection: relays + code, customer: customers + code };
      return { sdk, connection, repetitions: repetitionsOf(sdk), language, programs };
    });
  });
}

/** Runs a block in a process of its own. @returns what it prints, and its exit status. */
export function runBlock(
  { language, programs }: SdkBlock,
  owner: KeyOwner,
  { relay, callbackUrl, idempotencyKey, prompt, env }: Values,
): Promise<{ readonly output: string; readonly isDone: boolean }> {
  const program = programs[owner]
    .replaceAll("https://relay.example.com", relay)
    .replaceAll("https://client.example.com/hook", callbackUrl)
    .replaceAll("order-1042", idempotencyKey)
    .replaceAll("a fox", prompt);
  const [file, ...args] = language.command;
  const guarded = { [GUARDED_PORT]: new URL(relay).port };
  const options = { cwd: ROOT, env: { PATH: process.env["PATH"], ...guarded, ...env } };
  return new Promise((resolve) => {
    execFile(file, [...args, program], options, (error, stdout, stderr) =>
      resolve({ output: stdout + stderr, isDone: error === null }),
    );
  });
}

/** Returns a block, and the one for the other kind of gateways where it is for new-api. */
function variantsOf(code: string): readonly string[] {
  const other = code.replaceAll("/submit/newapi/", "/submit/openai-videos/");
  return other === code ? [code] : [code, other];
}

/** Returns the number of repetitions in the page's table. */
function repetitionsOf(sdk: string): number {
  const repetitions = ROWS.find((row) => row.sdk === sdk)?.repetitions;
  return z.coerce.number().parse(repetitions);
}

/** Returns the versions of the npm packages with which the page says that it was run, by name. */
export function npmVersions(): Readonly<Record<string, string>> {
  const rows = ROWS.filter(({ sdk }) => sdk.endsWith(" (npm)"));
  return Object.fromEntries(rows.map(({ sdk, version }) => [sdk.split("`")[1], version]));
}
