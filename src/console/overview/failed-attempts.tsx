import { countText } from "../parts/format.ts";
import { causeOf } from "../host/host-causes.ts";
import type { Totals } from "./range-totals.ts";
import { Status } from "../parts/chip.tsx";
import { Panel } from "../parts/page-head.tsx";
import { type Column, Table } from "../parts/table.tsx";

interface FailedAttemptsProps {
  readonly attempts: Totals["failedAttempts"];
  /** Name of the time range, e.g. `24 h`. */
  readonly range: string;
}

type Row = Totals["failedAttempts"][number];

/** The number of failed attempts with each outcome in a time range, each outcome with its likely cause. */
export function FailedAttempts({ attempts, range }: FailedAttemptsProps) {
  if (attempts.length === 0) return null;
  return (
    <Panel title="Failed attempts by outcome" aside={`of the tasks of the last ${range}`}>
      <Table
        caption="Failed attempts by outcome"
        columns={COLUMNS}
        rows={attempts}
        rowId={([outcome]) => `outcome-${outcome}`}
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Outcome", cell: ([outcome]) => <Status of={outcome} /> },
  { title: "Attempts", isNumber: true, cell: ([, attempts]) => countText(attempts) },
  { title: "Likely cause", cell: ([outcome]) => causeOf({ outcome, status_code: null }).text },
];
