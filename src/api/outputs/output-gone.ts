import { LOSS_REASONS } from "../../core/record/outputs.ts";
import { Problem } from "../http/problem.ts";

/**
 * Reasons why a link to an output is refused for ever: it has expired, the output was deleted, or the relay has no copy
 * and the upstream's own link has expired. `LOSS_REASONS` (core/record/outputs.ts) are the reasons why the relay has no
 * copy of an output.
 */
export const GONE_REASONS = ["link_expired", "deleted", "source_expired", ...LOSS_REASONS] as const;
export type GoneReason = (typeof GONE_REASONS)[number];

const DETAILS: Readonly<Record<GoneReason, string>> = {
  link_expired: "The link has expired, and the copy of the output is deleted.",
  deleted: "The output was deleted.",
  source_expired: "The relay has no copy of the output, and the link of the upstream has expired.",
  too_large: "The output is larger than the relay keeps, and the link of the upstream has expired.",
  empty: "The upstream sent an empty file.",
  refused: "The upstream does not give the output any more.",
  unreachable: "The upstream did not send the output while its link lived.",
  blocked: "The link of the upstream leads to where the relay must not fetch.",
  not_stored: "The relay could not store the output, and the link of the upstream has expired.",
};

/** Returns the problem `output_gone` for a link to an output that the relay can no longer deliver. */
export function outputGone(reason: GoneReason): Problem {
  return new Problem("output_gone", { detail: DETAILS[reason], reason, members: { reason } });
}
