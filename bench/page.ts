import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "./throughput/machine.ts";

/** A page of this folder with the results of a benchmark. */
export interface Page {
  readonly title: string;
  /** Script of package.json that writes the page, e.g. `bench:outage`. */
  readonly command: string;
  /** Machine and time of the run. Null for results that depend on neither. */
  readonly machine: Machine | null;
  /** Says what is measured, and how. */
  readonly about: string;
  /** Texts, tables and sections that follow. */
  readonly parts: readonly string[];
}

/** Returns the text of a page. */
export function textOf({ title, command, machine, about, parts }: Page): string {
  const written = `Written by \`npm run ${command}\`. ${about}`;
  const run = machine === null ? [] : [runOn(machine)];
  return `${[`# ${title}`, written, ...run, ...parts].join("\n\n")}\n`;
}

/** Prints a text with results, and writes it into a file of this folder. */
export function writeResults(file: string, text: string): void {
  console.log(text);
  writeFileSync(join(import.meta.dirname, file), text);
}

function runOn({ startedAt, hardware, versions, load }: Machine): string {
  const loads = load.map((each) => each.toFixed(1)).join(", ");
  return `- Machine: ${hardware}; load averages before the run ${loads}.
- Versions: ${versions}.
- Begun ${startedAt.toISOString()}.`;
}

/** Returns a Markdown table whose columns but the first hold numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
