import * as z from "zod/mini";
import { NoQuery } from "../../../src/api/operation.ts";
import { TaskFinishEvent } from "../../../src/api/tasks/event-schema.ts";
import { Attachment, Registration } from "../../../src/api/tasks/task-schemas.ts";
import { LinkQuery, ReadQuery } from "../../../src/api/tasks/read-task.ts";
import { CallbackBody, StoredRecord } from "../../../src/core/record/record-schema.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

// In the relay, zod interprets a schema for which no code can be generated. Here it throws, and nothing starts.
const BODIES = [TaskFinishEvent, Registration, Attachment];
for (const schema of [StoredRecord, CallbackBody, ...BODIES, ReadQuery, LinkQuery, NoQuery]) {
  z.compile(z.clone(schema), { strict: true });
}
