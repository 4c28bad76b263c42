import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { shellBlocks } from "../readme/shell-blocks.ts";

const run = promisify(execFile);
const PAGE = "docs/new-api.md";
const Created = z.looseObject({ id: z.string() });

/** What a run puts in place of the relay, the receiver and the variables of the page. */
interface Places {
  readonly relay: string;
  readonly callbackUrl: string;
  readonly env: Readonly<Record<string, string>>;
  /** Directory with the files that commands send. */
  readonly cwd?: string;
}

/** Returns the JSON of the page whose text contains `part`. */
export function exampleOfPage(part: string): string {
  const found = jsonOfPage().find((code) => code.includes(part));
  if (found === undefined) throw new Error(`${PAGE} has no JSON with ${part}`);
  return found;
}

function jsonOfPage(): readonly string[] {
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  return Array.from(page.matchAll(/^```json\n([^]*?)^```$/gm), ([, code = ""]) => code);
}

/** Returns a value of `OFFERS` with all offers that the page shows. */
export function offersOfPage(): string {
  const lists = jsonOfPage().filter((code) => code.startsWith("["));
  if (lists.length !== 2) throw new Error(`${PAGE} does not show two lists of offers`);
  return JSON.stringify(lists.flatMap((code) => z.array(z.unknown()).parse(JSON.parse(code))));
}

/**
 * Runs the command of the page whose text contains all `parts`.
 * @returns the id of the task, from the headers or else from the body, and the body of the answer.
 */
export async function runOfPage(
  { relay, callbackUrl, env, cwd }: Places,
  ...parts: readonly string[]
): Promise<{ readonly taskId: string; readonly body: unknown; readonly output: string }> {
  const block = shellBlocks(PAGE).find(({ code }) => parts.every((part) => code.includes(part)));
  if (block === undefined) throw new Error(`${PAGE} has no command with ${parts.join(" and ")}`);
  const code = block.code
    .replaceAll("https://relay.example.com", relay)
    .replaceAll("https://client.example.com/hook", callbackUrl);
  const { stdout: output } = await run("bash", ["-c", code], {
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const body: unknown = JSON.parse(output.slice(Math.max(0, output.indexOf("\r\n\r\n"))));
  const stated = /^relay-task-id: (.+)$/im.exec(output)?.[1]?.trim();
  return { taskId: stated ?? Created.safeParse(body).data?.id ?? "", body, output };
}
