/** Kind of reader of a task. Only the operator sees the upstream and the answers of receivers. */
export type Reader = "operator" | "account";
