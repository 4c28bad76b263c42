import * as z from "zod";
import type { Bug } from "../bug-list.ts";

/** An order to a tester: test files, and the bug to plant before they run; null for none. */
export interface Order {
  readonly bug: Bug | null;
  readonly tests: readonly string[];
}

/** What test files have shown. */
export type Finding = z.infer<typeof Finding>;
export const Finding = z.object({
  /** Title of the first test that has failed; null when none has. */
  failed: z.string().nullable(),
  /** Number of tests that have passed. */
  passed: z.number(),
  /** Errors besides failed tests, e.g. of a file that does not load. */
  errors: z.array(z.string()),
});
