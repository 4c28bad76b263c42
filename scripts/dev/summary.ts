import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { operatorKeyIn } from "../operator-keys.ts";

interface Health {
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly connections?: Readonly<Record<string, unknown>>;
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
    health.issues === undefined
      ? `Switched on: ${switchedOn(health).join(", ") || "nothing"}`
      : `Misconfigured: ${health.issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
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

function switchedOn({ configuration = {}, connections = {} }: Health): readonly string[] {
  const settings = Object.entries(configuration).flatMap(([name, value]) => {
    if (value === true) return name;
    // By default links to outputs have the address of the relay.
    if (name === "OUTPUTS_URL" && value === configuration["PUBLIC_URL"]) return [];
    return typeof value === "string" && name.endsWith("_URL") ? `${name}=${value}` : [];
  });
  return [...settings, ...Object.keys(connections).map((name) => `connection ${name}`)];
}
