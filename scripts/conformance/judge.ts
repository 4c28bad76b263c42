import type { Expected, Particular } from "./cases.ts";

/** Behaviour of a receiver after a request, as far as it can be seen from outside. */
export type Observation =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** True when the receiver says in `X-Acted` that it acted; null when it does not say. */
      readonly acted: boolean | null;
    }
  /** Outcome when the receiver has not answered in time. */
  | { readonly kind: "timeout"; readonly afterS: number }
  /** Outcome when the receiver has closed the connection without an answer. */
  | { readonly kind: "closed" }
  /** Outcome when no connection can be made any more, because the receiver has stopped. */
  | { readonly kind: "gone" };

type Expectation = Expected["expected"];
type Answer = Extract<Observation, { kind: "answer" }>;

/** Text of each expectation, for the report. */
export const EXPECTATIONS: Readonly<Record<Expectation, string>> = {
  act: "2xx",
  acknowledge: "2xx again, nothing done",
  accept: "2xx",
  refuse: "4xx",
};

/** Tells whether a receiver answered 2xx. */
export function isAccepted(seen: Observation): seen is Answer {
  return seen.kind === "answer" && seen.status >= 200 && seen.status < 300;
}

/** Tells whether a receiver answered 4xx. */
export function isRefused(seen: Observation): seen is Answer {
  return seen.kind === "answer" && seen.status >= 400 && seen.status < 500;
}

/** Describes what the receiver did, in a few words. */
export function wordsFor(seen: Observation): string {
  if (seen.kind === "timeout") return `no answer within ${seen.afterS} s`;
  if (seen.kind === "closed") return "connection closed without an answer";
  if (seen.kind === "gone") return "no connection";
  const acted = { true: ", acted", false: ", did not act", null: "" }[`${seen.acted}`];
  return `${seen.status}${acted}`;
}

/** Says in one sentence what the receiver got wrong; null when it was right. */
export function faultOf(
  particular: Particular,
  expected: Expectation,
  seen: Observation,
): string | null {
  const { when } = particular;
  switch (seen.kind) {
    case "timeout":
      return `It does not answer within ${seen.afterS} s when ${when}.`;
    case "closed":
      return `It closes the connection without an answer when ${when}.`;
    case "gone":
      return "It takes no connection any more.";
    case "answer":
      return expected === "refuse"
        ? faultOfRefusal(particular, seen)
        : faultOfAcceptance(particular, expected, seen);
  }
}

function faultOfRefusal({ when, reason }: Particular, seen: Answer): string | null {
  const { status, acted } = seen;
  if (isAccepted(seen)) return `It accepts a request although ${when}: ${reason}.`;
  if (!isRefused(seen)) return `It answers ${status} instead of 4xx when ${when}.`;
  return acted === true ? `It acts on a request that it refuses, although ${when}.` : null;
}

function faultOfAcceptance(
  { when, reason }: Particular,
  expected: Exclude<Expectation, "refuse">,
  seen: Answer,
): string | null {
  const { status, acted } = seen;
  if (!isAccepted(seen))
    return `It answers ${status} to a genuine request when ${when}: ${reason}.`;
  if (expected === "acknowledge")
    return acted === true ? `It acts twice on a genuine request, although ${when}.` : null;
  return expected === "act" && acted === false
    ? `It does not act on a genuine request when ${when}: ${reason}.`
    : null;
}
