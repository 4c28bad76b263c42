import type { Post } from "../harness/receiver.ts";
import { type Ledger, ledgerFaults } from "./accounts.ts";
import { type Evidence, faultsOf } from "./task-faults.ts";

/** Everything that a round has recorded, from which its faults are found. */
export interface Recording {
  readonly evidence: readonly Evidence[];
  readonly ledgers: readonly Ledger[];
  /** Tasks whose failure was announced before their refund was stored. */
  readonly tooEarly: readonly string[];
  /** Posts with a valid signature and correct headers. */
  readonly genuine: ReadonlySet<Post>;
  /** Paths of posts that belong to no task. */
  readonly strangePaths: readonly string[];
  readonly log: string;
}

/** Pattern of log lines about failures that no crash explains. */
const TROUBLE = /^.*(?:alarm\.failed|loop\.failed|internal.error).*$/gim;

/** Lists what in a recording contradicts the promises. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledgers, tooEarly, genuine, strangePaths, log } = recording;
  const histories = evidence.map(({ history }) => history);
  return [
    ...evidence.flatMap((each) => faultsOf(each, genuine)),
    ...ledgers.flatMap((ledger) => ledgerFaults(ledger, histories)),
    ...tooEarly,
    ...strangePaths.map((path) => `a POST to ${path}`),
    ...(log.match(TROUBLE) ?? []),
  ];
}
