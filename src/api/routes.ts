import { createAccount, listAccounts, readAccount } from "./accounts/accounts.ts";
import { createKey, listKeys, revokeKey } from "./accounts/account-keys.ts";
import { readAccountSecrets, rotateAccountSecrets } from "./accounts/account-secrets.ts";
import { attachUpstream } from "./tasks/attach-upstream.ts";
import { cancelTask } from "./tasks/cancel-task.ts";
import { grantCredits, listEntries, listGrants } from "./accounts/entries.ts";
import { eraseTask } from "./tasks/erase-task.ts";
import { readHealth } from "./health.ts";
import { readJwks, readSigningSecrets } from "./keys.ts";
import { readTask } from "./tasks/read-task.ts";
import { receiveHook } from "./hooks/receive-hook.ts";
import { redeliverTask } from "./tasks/redeliver-task.ts";
import { registerTask } from "./tasks/register-task.ts";
import { reportEvent } from "./tasks/report-event.ts";
import type { Route } from "./route.ts";
import { testCallback } from "./test-callback.ts";

/** The whole HTTP surface. */
export const ROUTES: readonly Route[] = [
  registerTask,
  attachUpstream,
  readTask,
  redeliverTask,
  cancelTask,
  eraseTask,
  reportEvent,
  receiveHook,
  testCallback,
  createAccount,
  listAccounts,
  readAccount,
  grantCredits,
  listGrants,
  listEntries,
  createKey,
  listKeys,
  revokeKey,
  readAccountSecrets,
  rotateAccountSecrets,
  readSigningSecrets,
  readJwks,
  readHealth,
];
