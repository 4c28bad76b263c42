interface NumbersTableProps {
  /** Title of the first column. */
  readonly title: string;
  readonly caption: string;
  readonly titles: readonly string[];
  /** Rows of the table. Each has its name, e.g. an hour or day, followed by its numbers. */
  readonly rows: readonly (readonly string[])[];
}

/** The numbers of a chart as a table, which the viewer can unfold. A wide one is scrolled sideways. */
export function NumbersTable({ caption, title, titles, rows }: NumbersTableProps) {
  return (
    <details class="details">
      <summary>As a table</summary>
      <div class="wide-table" role="region" aria-label={caption} tabindex={0}>
        <table class="table">
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">{title}</th>
              {titles.map((text) => (
                <th scope="col" class="number">
                  {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...numbers]) => (
              <tr>
                <th scope="row">{name}</th>
                {numbers.map((number) => (
                  <td class="number">{number}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
