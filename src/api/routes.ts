import {
  changeAccountRoute,
  createAccountRoute,
  listAccountsRoute,
  readAccountRoute,
} from "./accounts/accounts.ts";
import { createKeyRoute, listKeysRoute, revokeKeyRoute } from "./accounts/account-keys.ts";
import { readAccountSecretsRoute, rotateAccountSecretsRoute } from "./accounts/account-secrets.ts";
import { readAccountSpendRoute } from "./accounts/account-spend.ts";
import { readAccountStatsRoute } from "./accounts/account-stats.ts";
import { deleteOfferRoute, putOfferRoute, restoreOfferRoute } from "./offers/change-offer.ts";
import { listOffersRoute, listOfferVersionsRoute, readOfferRoute } from "./offers/read-offers.ts";
import {
  deleteAccountEndpointRoute,
  listAccountEndpointsRoute,
  putAccountEndpointRoute,
  readAccountEndpointRoute,
  readAccountEndpointSecretsRoute,
  rotateAccountEndpointSecretsRoute,
} from "./endpoints/account-endpoints.ts";
import {
  deleteRelayEndpointRoute,
  listRelayEndpointsRoute,
  putRelayEndpointRoute,
  readRelayEndpointRoute,
  readRelayEndpointSecretsRoute,
  rotateRelayEndpointSecretsRoute,
} from "./endpoints/relay-endpoints.ts";
import { readAttemptRequestRoute } from "./callbacks/read-attempt-request.ts";
import { attachUpstreamRoute } from "./tasks/attach-upstream.ts";
import { cancelTaskRoute } from "./tasks/cancel-task.ts";
import { pauseHostRoute, resumeHostRoute } from "./hosts/pause-host.ts";
import { listTasksRoute } from "./search/list-tasks.ts";
import { listHostsRoute, readHostRoute } from "./search/read-hosts.ts";
import { readMetrics } from "./search/read-metrics.ts";
import { readProblemsRoute } from "./search/read-problems.ts";
import { readSeriesRoute } from "./search/read-series.ts";
import { readStatsRoute } from "./search/read-stats.ts";
import { redeliverManyRoute } from "./callbacks/bulk-redelivery.ts";
import { reindexRoute } from "./search/reindex.ts";
import { wakeTasksRoute } from "./search/wake-tasks.ts";
import { adjustCreditsRoute, grantCreditsRoute } from "./accounts/credit-changes.ts";
import { deleteAccountRoute } from "./accounts/delete-account.ts";
import { listEntriesRoute, listGrantsRoute } from "./accounts/entries.ts";
import { eraseTaskRoute } from "./tasks/erase-task.ts";
import { readHealth } from "./health/health.ts";
import { readJwks, readSigningSecretsRoute } from "./callbacks/signing-secrets.ts";
import { readAnswerRoute } from "./tasks/read-answer.ts";
import { readTaskRoute } from "./tasks/read-task.ts";
import { receiveHook } from "./hooks/receive-hook.ts";
import { redeliverTaskRoute } from "./callbacks/redeliver-task.ts";
import { registerTaskRoute } from "./tasks/register-task.ts";
import { reportEventRoute } from "./tasks/report-event.ts";
import { verifyCallbackRoute } from "./callbacks/verify-callback.ts";
import { streamTask } from "./tasks/stream-task.ts";
import { deleteOutputRoute, deleteOutputsRoute } from "./outputs/delete-outputs.ts";
import { readOutput } from "./outputs/read-output.ts";
import type { Route } from "./http/route.ts";
import { listen } from "./callbacks/listen.ts";
import { mcpRoute } from "./mcp/mcp-route.ts";
import {
  cancelJobRoute,
  putCancelJobRoute,
  readJobRoute,
  submitJobRoute,
} from "./submit/submit-route.ts";
import { submitOfferRoute } from "./submit/submit-offer-route.ts";
import { testCallbackRoute } from "./callbacks/test-callback.ts";

/** All routes of the HTTP API. */
export const ROUTES = [
  registerTaskRoute,
  attachUpstreamRoute,
  submitOfferRoute,
  submitJobRoute,
  readJobRoute,
  cancelJobRoute,
  putCancelJobRoute,
  listTasksRoute,
  readTaskRoute,
  readAnswerRoute,
  streamTask,
  readAttemptRequestRoute,
  verifyCallbackRoute,
  redeliverTaskRoute,
  cancelTaskRoute,
  eraseTaskRoute,
  reportEventRoute,
  receiveHook,
  testCallbackRoute,
  listen,
  mcpRoute,
  createAccountRoute,
  listAccountsRoute,
  readAccountRoute,
  changeAccountRoute,
  readAccountSpendRoute,
  readAccountStatsRoute,
  deleteAccountRoute,
  grantCreditsRoute,
  adjustCreditsRoute,
  listGrantsRoute,
  listEntriesRoute,
  createKeyRoute,
  listKeysRoute,
  revokeKeyRoute,
  listAccountEndpointsRoute,
  readAccountEndpointRoute,
  putAccountEndpointRoute,
  deleteAccountEndpointRoute,
  readAccountEndpointSecretsRoute,
  rotateAccountEndpointSecretsRoute,
  listRelayEndpointsRoute,
  readRelayEndpointRoute,
  putRelayEndpointRoute,
  deleteRelayEndpointRoute,
  readRelayEndpointSecretsRoute,
  rotateRelayEndpointSecretsRoute,
  listOffersRoute,
  readOfferRoute,
  putOfferRoute,
  deleteOfferRoute,
  listOfferVersionsRoute,
  restoreOfferRoute,
  readAccountSecretsRoute,
  rotateAccountSecretsRoute,
  readSigningSecretsRoute,
  readJwks,
  readStatsRoute,
  readSeriesRoute,
  listHostsRoute,
  readHostRoute,
  pauseHostRoute,
  resumeHostRoute,
  readProblemsRoute,
  readMetrics,
  redeliverManyRoute,
  reindexRoute,
  wakeTasksRoute,
  readHealth,
  readOutput,
  deleteOutputsRoute,
  deleteOutputRoute,
] as const satisfies readonly Route[];

/** Id of a route, such as `registerTask`. */
export type RouteId = (typeof ROUTES)[number]["id"];
