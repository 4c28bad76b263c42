import { eraseTask } from "./erase-task.ts";
import { readHealth } from "./health.ts";
import { readJwks, readSigningSecrets } from "./keys.ts";
import { readTask } from "./read-task.ts";
import { redeliverTask } from "./redeliver-task.ts";
import { registerTask } from "./register-task.ts";
import { reportEvent } from "./report-event.ts";
import type { Route } from "./route.ts";
import { testCallback } from "./test-callback.ts";

/** The whole HTTP surface. */
export const ROUTES: readonly Route[] = [
  registerTask,
  readTask,
  redeliverTask,
  eraseTask,
  reportEvent,
  testCallback,
  readSigningSecrets,
  readJwks,
  readHealth,
];
