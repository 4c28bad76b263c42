import type { Child } from "hono/jsx";

/** A column of a table of `Row`. */
export interface Column<Row> {
  readonly title: string;
  /** States that the cells of the column are numbers, which are aligned at the right. */
  readonly isNumber?: boolean;
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
          {columns.map(({ title, isNumber }) => (
            <th scope="col" class={isNumber ? "number" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr id={rowId(row)} data-row="">
            {columns.map(({ title, isNumber, cell }) => (
              <td data-label={title} class={isNumber ? "number" : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
