import type { RouteDescription } from "./http/route.openapi.ts";
import type { RouteId } from "./routes.ts";
import {
  createKeyDescription,
  listKeysDescription,
  revokeKeyDescription,
} from "./accounts/account-keys.openapi.ts";
import {
  readAccountSecretsDescription,
  rotateAccountSecretsDescription,
} from "./accounts/account-secrets.openapi.ts";
import { readAccountSpendDescription } from "./accounts/account-spend.openapi.ts";
import { readAccountStatsDescription } from "./accounts/account-stats.openapi.ts";
import {
  changeAccountDescription,
  createAccountDescription,
  listAccountsDescription,
  readAccountDescription,
} from "./accounts/accounts.openapi.ts";
import {
  adjustCreditsDescription,
  grantCreditsDescription,
} from "./accounts/credit-changes.openapi.ts";
import { deleteAccountDescription } from "./accounts/delete-account.openapi.ts";
import { listEntriesDescription, listGrantsDescription } from "./accounts/entries.openapi.ts";
import { readHealthDescription } from "./health/health.openapi.ts";
import { receiveHookDescription } from "./hooks/receive-hook.openapi.ts";
import { cancelJobDescription, putCancelJobDescription } from "./jobs/cancel-by-job.openapi.ts";
import { readJobDescription } from "./jobs/read-job.openapi.ts";
import { listenDescription } from "./callbacks/listen.openapi.ts";
import { callToolsDescription } from "./mcp/mcp-route.openapi.ts";
import {
  deleteAccountEndpointDescription,
  deleteRelayEndpointDescription,
  listAccountEndpointsDescription,
  listRelayEndpointsDescription,
  putAccountEndpointDescription,
  putRelayEndpointDescription,
  readAccountEndpointDescription,
  readAccountEndpointSecretsDescription,
  readRelayEndpointDescription,
  readRelayEndpointSecretsDescription,
  rotateAccountEndpointSecretsDescription,
  rotateRelayEndpointSecretsDescription,
} from "./endpoints/endpoints.openapi.ts";
import {
  deleteOfferDescription,
  putOfferDescription,
  restoreOfferDescription,
} from "./offers/change-offer.openapi.ts";
import {
  listOffersDescription,
  listOfferVersionsDescription,
  readOfferDescription,
} from "./offers/read-offers.openapi.ts";
import {
  deleteOutputDescription,
  deleteOutputsDescription,
} from "./outputs/delete-outputs.openapi.ts";
import { readOutputDescription } from "./outputs/read-output.openapi.ts";
import { redeliverManyDescription } from "./callbacks/bulk-redelivery.openapi.ts";
import { listTasksDescription } from "./search/list-tasks.openapi.ts";
import { pauseHostDescription, resumeHostDescription } from "./hosts/pause-host.openapi.ts";
import { listHostsDescription, readHostDescription } from "./search/read-hosts.openapi.ts";
import { readMetricsDescription } from "./search/read-metrics.openapi.ts";
import { readProblemsDescription } from "./search/read-problems.openapi.ts";
import { readSeriesDescription } from "./search/read-series.openapi.ts";
import { readStatsDescription } from "./search/read-stats.openapi.ts";
import { reindexDescription } from "./search/reindex.openapi.ts";
import { wakeTasksDescription } from "./search/wake-tasks.openapi.ts";
import {
  readJwksDescription,
  readSigningSecretsDescription,
} from "./callbacks/signing-secrets.openapi.ts";
import { submitOfferDescription } from "./submit/submit-offer-route.openapi.ts";
import { submitJobDescription } from "./submit/submit-route.openapi.ts";
import { attachUpstreamDescription } from "./tasks/attach-upstream.openapi.ts";
import { cancelTaskDescription } from "./tasks/cancel-task.openapi.ts";
import { eraseTaskDescription } from "./tasks/erase-task.openapi.ts";
import { readAttemptRequestDescription } from "./callbacks/read-attempt-request.openapi.ts";
import { readAnswerDescription } from "./tasks/read-answer.openapi.ts";
import { readTaskDescription } from "./tasks/read-task.openapi.ts";
import { redeliverTaskDescription } from "./callbacks/redeliver-task.openapi.ts";
import { registerTaskDescription } from "./tasks/register-task.openapi.ts";
import { reportEventDescription } from "./tasks/report-event.openapi.ts";
import { streamTaskDescription } from "./tasks/stream-task.openapi.ts";
import { verifyCallbackDescription } from "./callbacks/verify-callback.openapi.ts";
import { testCallbackDescription } from "./callbacks/test-callback.openapi.ts";

/** The description of every route, by the id of the route. A missing description is a type error. */
export const DESCRIPTIONS: Readonly<Record<RouteId, RouteDescription>> = {
  registerTask: registerTaskDescription,
  attachUpstream: attachUpstreamDescription,
  submitOffer: submitOfferDescription,
  submitJob: submitJobDescription,
  readJob: readJobDescription,
  cancelJob: cancelJobDescription,
  putCancelJob: putCancelJobDescription,
  listTasks: listTasksDescription,
  readTask: readTaskDescription,
  readAnswer: readAnswerDescription,
  streamTask: streamTaskDescription,
  readAttemptRequest: readAttemptRequestDescription,
  verifyCallback: verifyCallbackDescription,
  redeliverTask: redeliverTaskDescription,
  cancelTask: cancelTaskDescription,
  eraseTask: eraseTaskDescription,
  reportEvent: reportEventDescription,
  receiveHook: receiveHookDescription,
  testCallback: testCallbackDescription,
  listen: listenDescription,
  callTools: callToolsDescription,
  createAccount: createAccountDescription,
  listAccounts: listAccountsDescription,
  readAccount: readAccountDescription,
  changeAccount: changeAccountDescription,
  readAccountSpend: readAccountSpendDescription,
  readAccountStats: readAccountStatsDescription,
  deleteAccount: deleteAccountDescription,
  grantCredits: grantCreditsDescription,
  adjustCredits: adjustCreditsDescription,
  listGrants: listGrantsDescription,
  listEntries: listEntriesDescription,
  createKey: createKeyDescription,
  listKeys: listKeysDescription,
  revokeKey: revokeKeyDescription,
  listAccountEndpoints: listAccountEndpointsDescription,
  readAccountEndpoint: readAccountEndpointDescription,
  putAccountEndpoint: putAccountEndpointDescription,
  deleteAccountEndpoint: deleteAccountEndpointDescription,
  readAccountEndpointSecrets: readAccountEndpointSecretsDescription,
  rotateAccountEndpointSecrets: rotateAccountEndpointSecretsDescription,
  listRelayEndpoints: listRelayEndpointsDescription,
  readRelayEndpoint: readRelayEndpointDescription,
  putRelayEndpoint: putRelayEndpointDescription,
  deleteRelayEndpoint: deleteRelayEndpointDescription,
  readRelayEndpointSecrets: readRelayEndpointSecretsDescription,
  rotateRelayEndpointSecrets: rotateRelayEndpointSecretsDescription,
  listOffers: listOffersDescription,
  readOffer: readOfferDescription,
  putOffer: putOfferDescription,
  deleteOffer: deleteOfferDescription,
  listOfferVersions: listOfferVersionsDescription,
  restoreOffer: restoreOfferDescription,
  readAccountSecrets: readAccountSecretsDescription,
  rotateAccountSecrets: rotateAccountSecretsDescription,
  readSigningSecrets: readSigningSecretsDescription,
  readJwks: readJwksDescription,
  readStats: readStatsDescription,
  readSeries: readSeriesDescription,
  listHosts: listHostsDescription,
  readHost: readHostDescription,
  pauseHost: pauseHostDescription,
  resumeHost: resumeHostDescription,
  readProblems: readProblemsDescription,
  readMetrics: readMetricsDescription,
  redeliverMany: redeliverManyDescription,
  reindex: reindexDescription,
  wakeTasks: wakeTasksDescription,
  readHealth: readHealthDescription,
  readOutput: readOutputDescription,
  deleteOutputs: deleteOutputsDescription,
  deleteOutput: deleteOutputDescription,
};
