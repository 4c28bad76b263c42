import type { Config } from "../../config/config.ts";
import { newsRulesOf } from "../../config/news-rules.ts";
import type { Connection } from "../../providers/provider.ts";
import type { SubmitTarget } from "../../providers/submit.ts";
import { Problem } from "../http/problem.ts";
import type { ScannedBody } from "./json-body.ts";

/**
 * Returns the JSON Pointers of those members of a call that decide whether the upstream's response contains the output
 * itself instead of a link to it.
 */
export function inlinePointers({ inline }: SubmitTarget): readonly string[] {
  return [...Object.keys(inline?.asked ?? {}), ...Object.keys(inline?.linked ?? {})];
}

/**
 * Tells whether a call asks for a response with the output itself instead of a link to it.
 * @throws Problem `output_needs_store`, which names the member that asks for this, when the relay could not keep such
 * an output.
 */
export function asksForOutput(
  { connection, target }: { readonly connection: Connection; readonly target: SubmitTarget },
  scanned: ScannedBody,
  config: Config,
): boolean {
  const pointer = askingMember(target, scanned);
  if (pointer === null) return false;
  const { polls } = connection.provider;
  const isFoundAgain = polls !== null && polls.body === undefined;
  if (newsRulesOf(config, connection).areInlineOutputsKept === true && isFoundAgain) return true;
  const detail = isFoundAgain
    ? "The answer would have the output itself and no link to it. The relay keeps such outputs only where it has a bucket for them and PUBLIC_URL is set."
    : "The answer would have the output itself and no link to it, and the relay could not ask for it again to keep the output.";
  const message = "asks for the output itself in place of a link, or does not ask for a link";
  throw new Problem("output_needs_store", { detail, issues: [{ path: pointer, message }] });
}

/**
 * Returns the JSON Pointer of the member by which a call asks for a response with the output itself.
 * @returns null when the call asks for a link.
 */
function askingMember({ inline }: SubmitTarget, { members }: ScannedBody): string | null {
  const valueAt = (pointer: string) => {
    const found = members.get(pointer);
    return found?.kind === "scalar" ? found.value : null;
  };
  const asked = Object.entries(inline?.asked ?? {}).find(([pointer, values]) =>
    values.some((value) => value === valueAt(pointer)),
  );
  const unlinked = Object.entries(inline?.linked ?? {}).find(
    ([pointer, value]) => value !== valueAt(pointer),
  );
  return asked?.[0] ?? unlinked?.[0] ?? null;
}
