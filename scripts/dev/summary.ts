import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { operatorKeyIn } from "../operator-keys.ts";

interface Fault {
  readonly path: string;
  readonly message: string;
}

/** The members of the answer to `GET /healthz` that the summary shows. */
interface Health {
  readonly issues?: readonly Fault[];
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly connections?: Readonly<Record<string, unknown>>;
  readonly pools?: Readonly<Record<string, unknown>>;
  readonly disabled?: readonly { readonly issues: readonly Fault[] }[];
}

const LOOK_EVERY_MS = 200;

/** Waits until the relay answers; false when the process that runs it ends first, or after a minute. */
export async function isAnsweringSoon(child: ChildProcess, origin: string): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += LOOK_EVERY_MS) {
    if (child.exitCode !== null || child.signalCode !== null) return false;
    const response = await fetch(`${origin}/healthz`).catch(() => null);
    if (response !== null) return true;
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

/** Returns lines that say where the relay is, where its operator key lies and what is switched on. */
export async function summaryOf(origin: string): Promise<string> {
  const key = localKey();
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${origin}/healthz`, key === null ? {} : { headers });
  const health: Health = JSON.parse(await response.text());
  return [
    "",
    `Relay: ${origin}`,
    `Console: ${origin}/, where the operator key logs in`,
    keyLine(),
    ...settingLines(health),
    "",
  ].join("\n");
}

/** Returns the line that says where the operator key lies. */
export function keyLine(): string {
  return `Operator key: ${localKey() === null ? "none" : "OPERATOR_KEYS"} in .dev.vars`;
}

function localKey(): string | null {
  const devVars = readFileSync(join(import.meta.dirname, "../../.dev.vars"), "utf8");
  return operatorKeyIn(devVars, "statistics");
}

/** Returns lines that say what is switched on, and what does not work because of faults in the configuration. */
export function settingLines(health: Health): readonly string[] {
  const { issues, disabled = [] } = health;
  if (issues !== undefined) return [`Misconfigured: ${faultsText(issues)}`];
  const on = `Switched on: ${switchedOn(health).join(", ") || "nothing"}`;
  const faults = disabled.flatMap((connection) => connection.issues);
  return faults.length === 0 ? [on] : [on, `Disabled by faults: ${faultsText(faults)}`];
}

function faultsText(faults: readonly Fault[]): string {
  return faults.map(({ path, message }) => `${path} ${message}`).join("; ");
}

function switchedOn({
  configuration = {},
  connections = {},
  pools = {},
}: Health): readonly string[] {
  const settings = Object.entries(configuration).flatMap(([name, value]) => {
    if (value === true) return name;
    // By default links to outputs have the address of the relay.
    if (name === "OUTPUTS_URL" && value === configuration["PUBLIC_URL"]) return [];
    return typeof value === "string" && name.endsWith("_URL") ? `${name}=${value}` : [];
  });
  return [...settings, ...named("connection", connections), ...named("pool", pools)];
}

function named(kind: string, entries: object): readonly string[] {
  return Object.keys(entries).map((name) => `${kind} ${name}`);
}
