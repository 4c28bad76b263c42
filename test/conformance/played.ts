import { expect } from "vitest";
import { schemeOf } from "../../scripts/conformance/keys.ts";
import { runConformance } from "../../scripts/conformance/run.ts";
import { listen, PRIVATE_KEY, type Receiver, SECRET } from "./receiver.ts";

/** Returns the names of the cases that were played and of those that went wrong, and the sentences after them. */
async function casesPlayed(url: string, secret = SECRET, timeoutS = 10, hasProgress = false) {
  const lines: string[] = [];
  const scheme = await schemeOf(secret);
  if (scheme === null) throw new Error("no secret");
  const target = { url: new URL(url), scheme, timeoutS, hasProgress };
  const isRight = await runConformance(target, (line) => void lines.push(line));
  const named = (mark: RegExp) => {
    const names = lines.flatMap((line) => mark.exec(line)?.[1] ?? []);
    return [...new Set(names)].join(" ");
  };
  const summary = lines.findIndex((line) => line.endsWith(" answered wrongly"));
  return {
    cases: named(/^(?:WRONG|right) +(\S+)/),
    isRight,
    wrong: named(/^WRONG +(\S+)/),
    sentences: lines.slice(summary + 1),
  };
}

/** Plays all cases against the receiver at a URL. @returns what went wrong. */
export async function played(...its: Parameters<typeof casesPlayed>) {
  const { cases: _, ...outcome } = await casesPlayed(...its);
  return outcome;
}

/**
 * Returns what went wrong with a receiver that has a fault, after the same cases were played against a correct
 * receiver and found nothing.
 */
export async function playedBesideCorrect(
  parts: Partial<Receiver>,
  control: Partial<Receiver> = {},
  hasProgress = false,
) {
  const secret = control.isSigned === undefined ? SECRET : PRIVATE_KEY;
  const correct = await casesPlayed(await listen(control), secret, 10, hasProgress);
  expect(correct).toMatchObject({ isRight: true, wrong: "", sentences: [] });
  const { cases, ...outcome } = await casesPlayed(await listen(parts), secret, 10, hasProgress);
  expect(cases).toBe(correct.cases);
  return outcome;
}
