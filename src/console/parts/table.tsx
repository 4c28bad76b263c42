import type { Child } from "hono/jsx";

/** A column of a table of `Row`. */
export interface Column<Row> {
  readonly title: string;
  /** States that the cells of the column are numbers, which are aligned at the right. */
  readonly isNumber?: boolean;
  /** States that the texts of the column may be long and are cut to one line; their `title` has the whole text. */
  readonly isCut?: boolean;
  /** States that a table of medium width leaves the column out, to keep each row on one line. */
  readonly isSpare?: boolean;
  readonly cell: (row: Row) => Child;
}

interface TableProps<Row> {
  /** Description of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Returns an id of the row that stays the same when the page is refreshed. */
  readonly rowId: (row: Row) => string;
}

/** A table whose rows become cards on a narrow page; `j` and `k` move between its rows. */
export function Table<Row>({ caption, columns, rows, rowId }: TableProps<Row>) {
  return (
    <table class="table table-cards">
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

function classOf<Row>({ isNumber, isCut, isSpare }: Column<Row>): string | undefined {
  const names = [isNumber && "number", isCut && "cut", isSpare && "spare"].filter(Boolean);
  return names.length === 0 ? undefined : names.join(" ");
}
