import type { Child } from "hono/jsx";

/** A column of a table whose rows have the type `Row`. */
export interface Column<Row> {
  readonly title: string;
  /** True when the cells contain numbers, which are aligned at the right. False when absent. */
  readonly isNumber?: boolean;
  /**
   * True when long texts in the column are cut to one line, and the attribute `title` of a cell has the whole text.
   * False when absent.
   */
  readonly isCut?: boolean;
  /**
   * True when the column is left out of a table of medium width, so that each row fits on one line. False when absent.
   */
  readonly isSpare?: boolean;
  /** CSS class of the column's cells, for styles that only this column has. */
  readonly class?: string;
  readonly cell: (row: Row) => Child;
}

interface TableProps<Row> {
  /** Description of the table for screen readers. */
  readonly caption: string;
  /** CSS class of the table, for styles that only this table has. */
  readonly class?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Returns an id for a row. It must stay the same when the page is refreshed. */
  readonly rowId: (row: Row) => string;
}

/** A table whose rows become cards on a narrow page. The keys `j` and `k` move between its rows. */
export function Table<Row>({ caption, columns, rows, rowId, ...own }: TableProps<Row>) {
  return (
    <table class={`table table-cards ${own.class ?? ""}`.trim()}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" class={classOf(column)}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr id={rowId(row)} data-row="">
            {columns.map((column) => (
              <td data-label={column.title} class={classOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function classOf<Row>({ isNumber, isCut, isSpare, ...own }: Column<Row>): string | undefined {
  const names = [isNumber && "number", isCut && "cut", isSpare && "spare", own.class].filter(
    Boolean,
  );
  return names.length === 0 ? undefined : names.join(" ");
}
