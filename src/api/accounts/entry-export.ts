import type { StoredEntry } from "../../objects/account/entry-table.ts";
import type { Reader } from "../../core/views/reader.ts";
import { readerOf } from "../../objects/task/caller.ts";
import type { Call } from "../operation.ts";
import { contentToClient } from "../http/client-stream.ts";
import { DOCUMENT_HEADERS } from "../http/security-headers.ts";
import { callLedger } from "./account-client.ts";
import { entryView } from "./entry-view.ts";

/**
 * Number of ledger entries that one call to the account's object returns. A page of the export is read in several such
 * calls.
 */
const BATCH = 1_000;
/**
 * Number of characters after which a page of the export ends, even if it has fewer entries than were asked for. This
 * limits the memory that the page takes.
 */
const MAX_CHARS = 4 * 1024 * 1024;

/**
 * A text format of the ledger export: its media type, its first line, and the function that returns the line of an
 * entry.
 */
interface Format {
  readonly mediaType: string;
  readonly header: (reader: Reader) => string;
  readonly line: (entry: StoredEntry, reader: Reader) => string;
}

/** A page of a ledger that is to be exported, and how it is to be written. */
interface Export {
  readonly format: keyof typeof FORMATS;
  /** True when the exported file begins with a byte order mark. */
  readonly hasByteOrderMark: boolean;
  readonly limit: number;
  readonly cursor: number;
}

/** The parts of an API call that an export of an account's ledger needs. */
type LedgerRequest = Pick<Call<"account", unknown, unknown>, "env" | "params" | "caller">;

const OWN_COLUMNS = ["kind", "amount", "balance", "reference", "task_id", "reason", "created_at"];
/**
 * Columns of the CSV export of a ledger, for an account and for an operator. They are the fields that `entryView`
 * returns.
 */
const COLUMNS = { account: OWN_COLUMNS, operator: [...OWN_COLUMNS, "booked_by"] };

const FORMATS: Readonly<Record<"csv" | "jsonl", Format>> = {
  csv: { mediaType: "text/csv; charset=utf-8", header: csvHeader, line: csvLine },
  jsonl: { mediaType: "application/jsonl", header: () => "", line: jsonLine },
};

/**
 * Character at the start of a file that tells Excel to read the file as UTF-8. Without it, Excel uses the character set
 * of the user's system, in which e.g. Chinese is unreadable. It is written only when the request asks for it, because
 * many programs read it as a part of the first column's name.
 */
const BYTE_ORDER_MARK = "\ufeff";

/**
 * Returns one page of the ledger as text (CSV or JSON Lines), newest entries first. The header `Next-Cursor` has the
 * cursor of the next page, and is missing on the last page. The whole page is read before the response begins, so that
 * a failure during the reading becomes an error response and not an incomplete page.
 */
export async function exportEntries(
  call: LedgerRequest,
  { format: name, hasByteOrderMark, limit, cursor }: Export,
): Promise<Response> {
  const format = FORMATS[name];
  const { text, next } = await pageOf(call, format, cursor, limit);
  const headers = new Headers({
    ...DOCUMENT_HEADERS,
    "Content-Type": format.mediaType,
    "Content-Disposition": `attachment; filename="${call.params.account}-entries.${name}"`,
  });
  if (next !== null) headers.set("Next-Cursor", String(next));
  return new Response(contentToClient(hasByteOrderMark ? BYTE_ORDER_MARK + text : text), {
    headers,
  });
}

async function pageOf(
  { env, params, caller }: LedgerRequest,
  { header, line }: Format,
  start: number,
  limit: number,
): Promise<{ readonly text: string; readonly next: number | null }> {
  const reader = readerOf(caller);
  let [text, before, rows] = [header(reader), start, 0];
  for (;;) {
    const size = Math.min(BATCH, limit - rows);
    const [cursor] = [before];
    // One row more than needed is read, to learn whether another page follows.
    const entries = await callLedger(env, params.account, (object) =>
      object.entries(null, cursor, size + 1),
    );
    const page = entries.slice(0, size);
    text += page.map((entry) => line(entry, reader)).join("");
    rows += page.length;
    before = page.at(-1)?.seq ?? before;
    if (entries.length <= size) return { text, next: null };
    if (rows >= limit || text.length > MAX_CHARS) return { text, next: before };
  }
}

function jsonLine(entry: StoredEntry, reader: Reader): string {
  return `${JSON.stringify(entryView(entry, reader))}\n`;
}

function csvHeader(reader: Reader): string {
  return csvRow(COLUMNS[reader]);
}

function csvLine(entry: StoredEntry, reader: Reader): string {
  const view: Readonly<Record<string, string | number>> = entryView(entry, reader);
  return csvRow(COLUMNS[reader].map((name) => csvValue(view[name] ?? "")));
}

/**
 * Returns a value as the text of a CSV field. A `'` is put before a text that a spreadsheet would take for a formula
 * (https://owasp.org/www-community/attacks/CSV_Injection), because outsiders may have written the reference or the
 * reason of an entry. A number is not changed.
 */
function csvValue(value: string | number): string {
  if (typeof value === "number") return String(value);
  return /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value;
}

/** Formats the fields of one CSV row as RFC 4180 demands. */
function csvRow(fields: readonly string[]): string {
  const quoted = fields.map((field) =>
    /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
  );
  return `${quoted.join(",")}\r\n`;
}
