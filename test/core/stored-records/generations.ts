import accounts from "./1-accounts.json" with { type: "json" };
import providers from "./2-providers.json" with { type: "json" };
import index from "./3-index.json" with { type: "json" };
import prices from "./4-prices.json" with { type: "json" };

/**
 * Records as builds have stored them, oldest first: before upstreams, before the index, before submissions, and
 * with submissions, outputs and prices by usage. A file stays as it is once its release is kept in
 * `test/process/upgrade/releases`, because whatever was stored once stays readable. Records with a later shape
 * begin the next file.
 */
export const GENERATIONS = { accounts, providers, index, prices };
