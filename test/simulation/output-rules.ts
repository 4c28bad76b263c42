import type { TerminalTask } from "../../src/core/record/task.ts";
import { OUTPUT_LINKS, relayLink, SECOND } from "../core/builders.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";

/** Returns the links in a stored callback body; undefined when it has none. */
function linksOf({ body }: TerminalTask): readonly string[] | undefined {
  const { output }: { output?: { urls: readonly string[] } } = JSON.parse(body);
  return output?.urls;
}

/** Returns the links to the outputs of a task as its result has reported them; undefined when it has none. */
export function reportedLinks(task: TerminalTask): readonly string[] | undefined {
  const sources = new Map(task.outputs?.list.map(({ number, source }) => [number, source]));
  return linksOf(task)?.map((link, index) => sources.get(index + 1) ?? link);
}

/** Checks that the end of a task decides all links to its outputs, by the configuration at this moment. */
export function linksFault({
  after,
  now,
  setting,
}: Pick<Change<null, TerminalTask>, "after" | "now" | "setting">): string | null {
  const expiresAtS = Math.floor((now + OUTPUT_LINKS.lifeMs) / SECOND);
  const sources = reportedLinks(after);
  const own = sources?.map((_, index) => relayLink(index + 1, expiresAtS));
  const { areOutputsKept } = setting;
  return firstViolation({
    "links to outputs are those of the relay exactly where it keeps outputs": isEqual(
      linksOf(after),
      areOutputsKept ? own : sources,
    ),
    "links of the relay have an end":
      after.outputs === null || after.outputs.expiresAt === expiresAtS * SECOND,
    "only links of the relay are stored as outputs":
      (after.outputs !== null) === (areOutputsKept && sources !== undefined),
  });
}
