/**
 * Kind of a reader of a task who has an API key. Only the operator sees the upstream, and the headers and bodies of
 * receivers' answers. Every other caller with a key is an `account`.
 */
export type Reader = "operator" | "account";

/**
 * Kind of any reader of a task. `link` is a reader without a key who has the task's status link (a URL with a
 * token). Such a reader sees only the id, the model, the status, the progress, the times and the result of the task with
 * what the relay has kept of it, the kind of a failure, and the status of the callback.
 */
export type TaskReader = Reader | "link";
