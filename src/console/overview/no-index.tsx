import { Code } from "../parts/code.tsx";
import { Empty } from "../parts/empty.tsx";

const BINDING = '[[d1_databases]]\nbinding = "INDEX_DB"';

/** Notice in place of lists and numbers, for a relay without an index. */
export function NoIndex() {
  return (
    <Empty icon="search" title="No index is bound">
      <p>
        Tasks are registered, sent and read without it, and every task can be opened by its id in
        the field above. Lists, hosts and numbers need a D1 database, which these lines of{" "}
        <code>wrangler.toml</code> bind; the next deployment makes it.
      </p>
      <Code text={BINDING} what="the lines of wrangler.toml" />
    </Empty>
  );
}
