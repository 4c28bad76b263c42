import type { RequestBodyOption } from "openapi-fetch";
import type { components, operations } from "./schema.d.ts";

type Schemas = components["schemas"];
/** Body of a request of an operation, as the client may send it. */
type BodyOf<Id extends keyof operations> = NonNullable<RequestBodyOption<operations[Id]>["body"]>;

/** A task as it is read: open, completed or failed. */
export type Task = Schemas["Task"];
export type OpenTask = Schemas["OpenTask"];
/** A task that has ended, in the form in which the relay returns it. */
export type EndedTask = Schemas["CompletedTask"] | Schemas["FailedTask"];
/** The answer to a registration: the task, with the hook URL for the upstream. */
export type RegisteredTask = Schemas["RegisteredTask"];
/** A task as its status link (`status_url`) shows it. */
export type TaskStatus = Schemas["TaskStatus"];
export type ListedTask = Schemas["ListedTask"];
/** A task that has ended, in the form of the body of its callback. */
export type FinishedTask = Schemas["CompletedCallback"] | Schemas["FailedCallback"];
/** A running task, in the form of the body of a progress callback. */
export type RunningTask = Schemas["ProgressCallback"];

export type Registration = BodyOf<"registerTask">;
export type UpstreamJob = BodyOf<"attachUpstream">;
export type TaskEvent = BodyOf<"reportEvent">;
export type RedeliveryOrder = BodyOf<"redeliverTask">;
export type TaskFilter = Omit<NonNullable<operations["listTasks"]["parameters"]["query"]>, "count">;
