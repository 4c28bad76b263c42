import { LOSS_REASONS } from "../../core/record/outputs.ts";
import { Problem } from "../http/problem.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";

/**
 * Reasons why an output is gone:
 * - `expired`: its link has expired, and its copy is deleted.
 * - `deleted`: the operator has deleted it.
 * - `missing`: the relay's copy is not in the bucket any more.
 * - all others: the relay has no copy for this reason (core/record/outputs.ts), and the upstream's own link is dead.
 */
export const GONE_REASONS = ["expired", "deleted", "missing", ...LOSS_REASONS] as const;
export type GoneReason = (typeof GONE_REASONS)[number];

const GONE_TEXTS: Readonly<Record<GoneReason, string>> = {
  expired: "The link to this output has expired",
  deleted: "The operator has deleted this output",
  missing: "The copy of this output is not in the bucket any more",
  too_large: "The output was too large to be copied",
  empty: "The upstream sent an output without bytes",
  refused: "The upstream refused to send this output",
  unreachable: "The upstream did not send this output",
  blocked: "The upstream's link leads to a URL from which the relay must not fetch",
  not_stored: "The relay could not store this output",
};

/** Returns the problem `output_gone`. */
export function outputGone(reason: GoneReason): Problem {
  const detail = `${GONE_TEXTS[reason]}.`;
  return new Problem("output_gone", { detail, members: { reason } });
}

/**
 * Returns the problem for a link that opens nothing. The answer is the same for a link that the relay has not made, for a
 * task that was erased, and for an output of an earlier task under the same id.
 */
export function unknownOutput(): Problem {
  return new Problem("not_found", { detail: "There is no output with this link." });
}

/** Returns a problem that pages of all sites can read. */
export function readable({ code, details }: Problem): Problem {
  return new Problem(code, { ...details, headers: { ...details.headers, ...OUTPUT_HEADERS } });
}
