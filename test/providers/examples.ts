import type { Exempt } from "../../src/providers/shared/examples/exempt.ts";
import type { Examples, Reports } from "../../src/providers/shared/examples/report-examples.ts";
import type {
  SubmitExample,
  SubmitExamples,
} from "../../src/providers/shared/examples/submit-examples.ts";

/** Examples of every provider that has a folder, and of every declared upstream that has one. */
export const EXAMPLES: readonly Examples[] = Object.values(
  import.meta.glob<Examples>(
    [
      "../../src/providers/*/*.examples.ts",
      "../../src/providers/generic/upstreams/*/*.examples.ts",
    ],
    { eager: true, import: "examples" },
  ),
);

/** Descriptions of the kinds of reports, for titles. */
export const MEANINGS: ReadonlyMap<string, string> = new Map([
  ["success", "a success"],
  ["noOutput", "a success without output"],
  ["moderation", "a failure by moderation"],
  ["failure", "a failure"],
  ["running", "a job in progress"],
  ["unknownState", "an unknown state"],
  ["unreadable", "nothing that the relay can use"],
  ["unclear", "an answer that the relay does not understand"],
  ["unauthorized", "a refusal of the API key"],
  ["limited", "a refusal by a rate limit"],
]);

/** Lists all examples of a provider's reports. */
export function examplesIn<Example extends object>(
  reports: Reports<Example, Example | Exempt> | null,
): readonly Example[] {
  if (reports === null) return [];
  const { others, ...named } = reports;
  return [...Object.values<Example | Exempt>(named).flatMap(presentOnly), ...others];
}

/** Lists all examples of answers to the submissions of a provider. */
export function submitExamplesIn(examples: SubmitExamples): readonly SubmitExample[] {
  const { calls: _calls, otherPaths: _otherPaths, result, others, ...named } = examples;
  return [...Object.values<SubmitExample>(named), ...presentOnly<SubmitExample>(result), ...others];
}

/** Returns an example in a list, which is empty when there is none. */
function presentOnly<Example extends object>(example: Example | Exempt): readonly Example[] {
  return "exempt" in example ? [] : [example];
}
