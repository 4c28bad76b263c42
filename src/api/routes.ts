import { createAccountRoute, listAccountsRoute, readAccountRoute } from "./accounts/accounts.ts";
import { createKeyRoute, listKeysRoute, revokeKeyRoute } from "./accounts/account-keys.ts";
import { readAccountSecretsRoute, rotateAccountSecretsRoute } from "./accounts/account-secrets.ts";
import { readAccountStats } from "./accounts/account-stats.ts";
import { readAttemptRequest } from "./tasks/read-attempt-request.ts";
import { attachUpstreamRoute } from "./tasks/attach-upstream.ts";
import { cancelTaskRoute } from "./tasks/cancel-task.ts";
import { listTasksRoute } from "./search/list-tasks.ts";
import { listHostsRoute, readHostRoute } from "./search/read-hosts.ts";
import { readMetrics } from "./search/read-metrics.ts";
import { readProblems } from "./search/read-problems.ts";
import { readSeries } from "./search/read-series.ts";
import { readStats } from "./search/read-stats.ts";
import { redeliverManyRoute } from "./search/redeliver-many.ts";
import { reindex } from "./search/reindex.ts";
import { wakeTasks } from "./search/wake-tasks.ts";
import { adjustCreditsRoute, grantCreditsRoute } from "./accounts/credits.ts";
import { deleteAccount } from "./accounts/delete-account.ts";
import { listEntriesRoute, listGrantsRoute } from "./accounts/entries.ts";
import { eraseTaskRoute } from "./tasks/erase-task.ts";
import { readOpenApi } from "./docs/openapi.ts";
import { readHealth } from "./health.ts";
import { readJwks, readSigningSecrets } from "./signing-secrets.ts";
import { readTaskRoute } from "./tasks/read-task.ts";
import { receiveHook } from "./hooks/receive-hook.ts";
import { redeliverTaskRoute } from "./tasks/redeliver-task.ts";
import { registerTaskRoute } from "./tasks/register-task.ts";
import { reportEventRoute } from "./tasks/report-event.ts";
import { verifyCallbackRoute } from "./tasks/verify-callback.ts";
import { streamTask } from "./tasks/stream-task.ts";
import type { Route } from "./http/route.ts";
import { listen } from "./listen.ts";
import { testCallbackRoute } from "./test-callback.ts";

/** All routes of the HTTP API. */
export const ROUTES = [
  registerTaskRoute,
  attachUpstreamRoute,
  listTasksRoute,
  readTaskRoute,
  streamTask,
  readAttemptRequest,
  verifyCallbackRoute,
  redeliverTaskRoute,
  cancelTaskRoute,
  eraseTaskRoute,
  reportEventRoute,
  receiveHook,
  testCallbackRoute,
  listen,
  createAccountRoute,
  listAccountsRoute,
  readAccountRoute,
  readAccountStats,
  deleteAccount,
  grantCreditsRoute,
  adjustCreditsRoute,
  listGrantsRoute,
  listEntriesRoute,
  createKeyRoute,
  listKeysRoute,
  revokeKeyRoute,
  readAccountSecretsRoute,
  rotateAccountSecretsRoute,
  readSigningSecrets,
  readJwks,
  readStats,
  readSeries,
  listHostsRoute,
  readHostRoute,
  readProblems,
  readMetrics,
  redeliverManyRoute,
  reindex,
  wakeTasks,
  readHealth,
  readOpenApi,
] as const satisfies readonly Route[];

/** Id of a route, such as `registerTask`. */
export type RouteId = (typeof ROUTES)[number]["id"];
