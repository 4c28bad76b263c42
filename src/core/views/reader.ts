/** Kind of reader with a key. Only the operator sees the upstream and the answers of receivers. */
export type Reader = "operator" | "account";

/** Kind of reader of a task. Whoever has only its status link sees the result, and whether the callback was sent. */
export type TaskReader = Reader | "link";
