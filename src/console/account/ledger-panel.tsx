import type { LedgerPage } from "../../api/accounts/entries.ts";
import type { Reader } from "../../core/views/reader.ts";
import type { StoredEntry } from "../../objects/account/entry-table.ts";
import type { StoredKey } from "../../objects/account/key-table.ts";
import { keyName } from "../../security/operator-key-hashes.ts";
import { amountText, countText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Number of ledger entries that one page shows. */
export const ENTRIES = 50;

interface LedgerPanelProps {
  readonly account: string;
  /** One page of entries of the ledger, newest first. */
  readonly page: LedgerPage;
  readonly reader: Reader;
  readonly cursor: number;
  /** The keys of the account, by which entries name them; null when the viewer may not see them. */
  readonly keys: readonly StoredKey[] | null;
}

/**
 * The ledger of an account. Each entry is shown with the balance after it, and with its task or, if it has none, its
 * reference.
 */
export function LedgerPanel({ account, page, reader, cursor, keys }: LedgerPanelProps) {
  const { entries, next } = page;
  const isFirst = cursor === Number.MAX_SAFE_INTEGER;
  const path = `/accounts/${account}`;
  return (
    <Panel title="Ledger" aside="Newest first, with the balance after each entry">
      {entries.length === 0 ? (
        <p class="muted">{isFirst ? "Nothing is booked yet." : "There are no older entries."}</p>
      ) : (
        <Table
          caption="Entries of the ledger"
          columns={columns(reader, keys ?? [])}
          rows={entries}
          rowId={({ seq }) => `entry-${seq}`}
        />
      )}
      <p class="buttons">
        {isFirst ? null : (
          <a class="button" href={path}>
            Newest entries
          </a>
        )}
        {next === null ? null : (
          <a class="button" href={`${path}?cursor=${next}`}>
            Older entries
          </a>
        )}
      </p>
    </Panel>
  );
}

function columns(reader: Reader, keys: readonly StoredKey[]): readonly Column<StoredEntry>[] {
  return [
    { title: "Booked", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "Entry", cell: ({ kind }) => kind },
    { title: "For", cell: (entry) => <Purpose {...entry} /> },
    {
      title: "By key",
      cell: ({ bookedBy }) => <KeyName name={bookedBy} reader={reader} keys={keys} />,
    },
    { title: "Credits", isNumber: true, cell: (entry) => signed(entry) },
    { title: "Balance", isNumber: true, cell: ({ balance }) => amountText(balance) },
  ];
}

function Purpose({ taskId, reason, reference }: StoredEntry) {
  if (taskId !== null) {
    return (
      <a href={`/tasks/${taskId}`}>
        task <code>{taskId.slice(0, 8)}</code>
      </a>
    );
  }
  return (
    <>
      <Hostile text={reference} />
      {reason === null ? null : (
        <p class="muted small">
          <Hostile text={reason} />
        </p>
      )}
    </>
  );
}

interface KeyNameProps {
  readonly name: string | null;
  readonly reader: Reader;
  readonly keys: readonly StoredKey[];
}

/**
 * Name of the key that has ordered an entry: a key of the account as its list of keys shows it, any other by its name,
 * which only the operator sees.
 */
function KeyName({ name, reader, keys }: KeyNameProps) {
  const own = keys.find(({ sha256 }) => keyName(sha256) === name);
  if (own !== undefined) {
    return (
      <>
        <code>{own.prefix}…</code> {own.label === null ? null : <Hostile text={own.label} />}
      </>
    );
  }
  return name === null || reader === "account" ? "" : <Hostile text={name} />;
}

/** Returns an amount of credits as text, with the sign of its effect on the balance: a minus sign e.g. for a charge. */
function signed({ kind, amount }: StoredEntry): string {
  const change = kind === "charge" ? -amount : amount;
  return change > 0 && kind !== "opening" ? `+${countText(change)}` : amountText(change);
}
