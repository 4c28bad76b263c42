import { isProblemCode, type ProblemCode, PROBLEMS } from "./problem-list.ts";

interface ProblemHelp {
  /** Cause of a problem, as docs/errors.md states it. */
  readonly cause: string;
  /** Action by which the caller or the operator can solve the problem. */
  readonly cure: string;
}

/**
 * Cause and cure of every problem. Answers of the API do not contain them, so only the pages of the console and the
 * scripts that write the documentation import them.
 */
export const PROBLEM_HELP: Readonly<Record<ProblemCode, ProblemHelp>> = {
  invalid_json: {
    cause:
      "The body is not JSON in UTF-8, or the connection ended before it was complete. The entry of issues says from which character on it is not JSON, where that is known; that of a submission counts bytes.",
    cure: "Send one JSON object, encoded in UTF-8. In a shell, put it into single quotes: others drop the quotes within.",
  },
  invalid_request: {
    cause:
      "A field, parameter or header is missing, unknown, or has a value that is not allowed. Each entry of issues has its JSON Pointer and a message; of more than 20 faults, more_issues counts the rest.",
    cure: "Correct every field that issues names. Nothing has been changed.",
  },
  unauthenticated: {
    cause:
      "The key is missing, unknown or revoked, or the signature is missing, wrong, or older than 300 seconds.",
    cure: "Send Authorization: Bearer with a valid key. For signed requests, compare the secrets and the clock of both sides.",
  },
  insufficient_credits: {
    cause:
      "The price of the task exceeds the balance of its account. The members price and balance have both numbers.",
    cure: "Grant credits to the account, then register the task again.",
  },
  monthly_limit: {
    cause:
      "With the price of the task, the account would spend more in this month (UTC) than its monthly_limit. The members price, spent_this_month and monthly_limit have the numbers.",
    cure: "Raise monthly_limit by PUT /v1/accounts/{account}, or wait for the next month, then register the task again.",
  },
  forbidden: {
    cause:
      "The key is valid, but its role does not permit the request, an account has submitted what is not offered to it or is outside of a limit of its offer, or the request states what only operators may. The member detail tells which.",
    cure: "Use a key with a role that detail names, submit what GET /v1/offers lists, or ask the operator.",
  },
  not_offered: {
    cause:
      "The account has uploaded a file to a connection for which no offer of the account has uploads, with this owner of the upstream's key.",
    cure: "Send a link to the file in place of the file, or have the operator add uploads to an offer of the connection.",
  },
  not_found: {
    cause:
      "No route has this path, the account or API key it names does not exist or belongs to somebody else, or the relay takes no listeners.",
    cure: "Check the path and the ids in it. An account must be created before it is used. Listeners need LISTEN=true.",
  },
  unknown_task: {
    cause:
      "No task has this id: it was never registered, belongs to another account, was erased or has expired. A hook URL that the relay did not make is answered in the same way.",
    cure: "Check the id, which is a UUID. Register the task first, or report an event that has a model, which creates it.",
  },
  method_not_allowed: {
    cause: "The path exists, but does not support this method.",
    cure: "Use one of the methods in the header Allow.",
  },
  body_timeout: {
    cause:
      "The body was not complete within 30 seconds, no part of an upload came in 30 seconds, or less than 64 KiB of the large body of a submission came in 10 seconds, of a form with Prefer: respond-async in 30. Nothing was stored, charged or sent.",
    cure: "Send the request again over a faster connection, or send a smaller body, e.g. with links to images in place of their bytes.",
  },
  task_exists: {
    cause:
      "A task with this id was registered with another request, or was created by an event; or the submission was made already, and the upstream's answer to it, which has more than 2 KB, or 8 KB while the task is not settled, is not repeated. The member task is that task.",
    cure: "Use another id for another task. To repeat a registration, send exactly the same request. After a submission, read the member task: its job is not submitted again.",
  },
  task_open: {
    cause:
      "The task is pending or processing, and the request needs a finished one; or the account to be deleted has such a task, or too many that were just charged to ask each.",
    cure: "Wait until the task is completed or failed, or cancel it. An account can be deleted all the same with ?force=true.",
  },
  task_settled: {
    cause:
      "The task is completed or failed, and the request needs an open one. A cancellation gets this answer too when the job has ended before the upstream could cancel it.",
    cure: "Read the result from the member task. A finished task does not change.",
  },
  reference_reused: {
    cause:
      "The reference was used for another grant or adjustment, the imported key belongs to another account or has another role, or the id belonged to an account that was deleted.",
    cure: "Use a new reference for a new grant or adjustment, one key for one account only, and a new id for a new account.",
  },
  conflicting_result: {
    cause: "The task has finished with a different result. The first result is final.",
    cure: "Do not repeat the event. The member task has the result that counts.",
  },
  series_running: {
    cause: "The callback of the task is not settled: attempts are due or in progress.",
    cure: "Wait until the status of the callback is delivered or failed, then try again.",
  },
  submission_running: {
    cause: "The upstream has not answered the submission of the task yet.",
    cure: "Wait for the time in Retry-After, then repeat the request. The job is not submitted a second time.",
  },
  not_cancelable: {
    cause:
      "A key of an account has asked for the cancellation of a task that the account has not submitted itself, whose job is not known, or whose upstream documents no call that cancels the job.",
    cure: "Wait for the result, or have the operator cancel the task. The member task is the task as it is now.",
  },
  no_callback: {
    cause: "The task was created without a callback_url, so there is nothing to redeliver.",
    cure: "Give a callback_url with the redelivery, or read the result with GET /v1/tasks/{id}.",
  },
  prefer_required: {
    cause:
      "The upstream answers a call to this path with the result itself, which may take minutes and contain files. The relay makes such a call only for a client that does not wait for it.",
    cure: "Send the header Prefer: respond-async. The answer is then 202 with the task, and the upstream's own answer is at /v1/tasks/{id}/answer once the task has ended.",
  },
  unknown_endpoint: {
    cause:
      "A callback_url such as endpoint:orders, or the member endpoint, names an endpoint that the account of the task does not have or, for a task without an account, the relay.",
    cure: "Create the endpoint (PUT /v1/accounts/{account}/endpoints/{endpoint}, or /v1/endpoints/{endpoint}), or correct the name.",
  },
  endpoints_full: {
    cause: "An account has at most 20 endpoints, and so has the relay.",
    cure: "Delete an endpoint that no new task uses. Tasks keep their copy of it.",
  },
  offers_in_configuration: {
    cause: "The variable OFFERS is set, so that it has all offers, and none is stored.",
    cure: "Change OFFERS and deploy; or remove it, deploy, and store its offers by npm run setup -- --offers FILE.",
  },
  host_paused: {
    cause:
      "The operator has paused the callbacks to the host of the URL, so that nothing is sent to it. The member detail says until when.",
    cure: "Wait until then, or have the operator end the pause by DELETE /v1/hosts/{host}/pause.",
  },
  pauses_full: {
    cause: "So many hosts are paused that no further one can be.",
    cure: "End pauses that are not needed any more. While no callback is to be sent at all, set PAUSED.",
  },
  offers_full: {
    cause: "The relay stores at most 5,000 offers, of 8 MB together.",
    cure: "Delete offers, or let one offer be for several models, accounts or tags.",
  },
  offer_changed: {
    cause:
      "The offer has another version than If-Match states, because somebody has changed it since it was read; or it exists, and If-None-Match forbids that.",
    cure: "Read the offer again, apply the change to it, and send it with the new ETag.",
  },
  length_required: {
    cause:
      "An upload came without Content-Length, e.g. because its client streams a file whose size it does not know.",
    cure: "State the size. Most clients do so for a file, and for bytes in memory.",
  },
  output_gone: {
    cause:
      "The link to an output is genuine, but nobody can get the file any more: the link has expired, the output was deleted, or the relay could not copy the file and the upstream's own link is dead. The member reason tells which.",
    cure: "Fetch outputs before outputs[].expires_at of the task. Where copying has failed, the operator finds the upstream's own link in source_urls, and may still get the file there.",
  },
  payload_too_large: {
    cause:
      "The body is larger than MAX_BODY_KB, 256 KB unless the operator has changed it, or, for a submission, than MAX_SUBMIT_MB, of an account also than 16 MB, or, for a form with Prefer: respond-async, than MAX_ASYNC_MB, or, for an upload, than 100 MB; or the task would take too many bytes as it is stored, where text with characters beyond U+00FF takes two bytes for each character, and a short number such as 1e20 is written out. The member detail tells which.",
    cure: "Send less, e.g. links to images in place of their bytes, or, for a body over MAX_BODY_KB, MAX_SUBMIT_MB or MAX_ASYNC_MB, have the operator raise it.",
  },
  submit_unknown: {
    cause:
      "The upstream has not answered the submission in time, or with an answer that states neither a job nor a refusal, so that it may have started a job.",
    cure: "Do not submit again while the member task is open: its submission.waits_for and waits_until say what may still show the job, and until when. Without that the task fails with submit_unknown after SUBMIT_UNKNOWN_MINUTES, or at once where nothing can show the job, and is refunded. Its failure.retryable is then true, except where the answer came and was larger, or had more files, than the relay takes: a new submission may succeed, under a new Idempotency-Key, because the old one stays with the failed task. This does not say that the first one has started no job, so a new submission may pay the upstream for a second job; look at the upstream's own list of jobs first where that matters.",
  },
  task_failed: {
    cause:
      "The upstream's answer to the call of the task was asked for, and the task has failed for another reason than this answer: e.g. the call was never sent, the task was canceled, or the time for it was over. The member task has the error.",
    cure: "Act on error.code of the member task. Its failure.retryable says whether a new task may succeed.",
  },
  output_needs_store: {
    cause:
      "The submission asks for the output itself in the upstream's answer (as a data: URL or in base64), in place of a link to it, and this relay could not keep such an output. The member issues names the field. Nothing was sent or charged.",
    cure: "Ask for a link: leave the field out, or give it the value that the upstream documents for links. The operator can give the relay a bucket for outputs (docs/outputs.md) and set PUBLIC_URL, so that the relay keeps outputs; a connection that is polled by POST cannot have them kept.",
  },
  idempotency_key_reused: {
    cause:
      "A task was registered under this Idempotency-Key with another request (a submission also with another path, query or Relay header), or the task has had an order for a redelivery with another callback_url under it. The member task is that task.",
    cure: "Use a new key for a new task or order. To repeat a request, send exactly the same one.",
  },
  rate_limited: {
    cause:
      "The account has sent too many requests of this kind within a minute, or too many wrong keys, hook URLs or event signatures have come from the address of the caller; or as many large bodies of the account, or readers of the output, are on their way as may be at the same time. The member detail names the limit.",
    cure: "Repeat the request after the seconds in Retry-After. After wrong credentials, correct those that are sent from this address. The operator sets the limits, which do not count the operator's own requests.",
  },
  connection_busy: {
    cause:
      "The connection, or each member of a pool, has as many jobs in flight as its in_flight permits, or takes none for a while after a refusal of the upstream. Nothing was stored, charged or sent. The upstream's own 429 is passed on with its own body instead.",
    cure: "Repeat the submission after the seconds in Retry-After, or send Prefer: respond-async, with which it waits for a place.",
  },
  queue_full: {
    cause:
      "With Prefer: respond-async, as many submissions wait for a place at the connection or pool as its queue permits. Nothing was charged or sent.",
    cure: "Repeat the submission after the seconds in Retry-After. The operator sets the limits, in_flight and queue in CONNECTIONS.",
  },
  internal_error: {
    cause: "The relay has a bug, or a stored record cannot be read.",
    cure: "Try again. If the problem stays, the operator finds the error in the log, beside the line with the X-Request-Id of the answer.",
  },
  index_disabled: {
    cause:
      "The request needs the index, and neither a D1 database is bound as INDEX_DB nor, on plain workerd, the class IndexObject as INDEX_OBJECT.",
    cure: "Bind one of them and deploy again. Tasks and callbacks work without the index.",
  },
  not_configured: {
    cause:
      "A variable or secret is missing or malformed, or the task would get a hook URL while PUBLIC_URL is not set and the request has not come over HTTPS from Cloudflare, or the answer of a call with Prefer: respond-async could not be kept without a bucket for outputs and PUBLIC_URL. The member detail names it. Nothing was stored.",
    cure: "Set the variables that detail names and deploy again; npm run deploy:first sets PUBLIC_URL. Locally, npm run setup writes the missing secrets.",
  },
  stored_by_earlier_build: {
    cause:
      "The task or the index was stored by a build before 1.0.0. Nothing of such builds is read, and nothing of it was changed.",
    cure: "The operator deploys the relay under a fresh name, with a fresh D1 database, and registers there what is still needed.",
  },
  unavailable: {
    cause:
      "A stored object, the index or a provider's public keys could not be reached, a quota or spending limit of the platform is used up, a charge is still in progress, the memory for large bodies or the places for outputs that are passed on are taken, or a later release has stored the task. It is unknown whether the request took effect. The upstream of a submission could not be reached: then nothing was sent, as the member detail says, and the price of the task is returned.",
    cure: "Repeat the same request after the seconds in Retry-After. Registrations and redeliveries are safe to repeat with an Idempotency-Key. The member reason of the log line request.refused names the failure.",
  },
};

/** All problems with their status, title, cause and cure, in the order of `PROBLEMS`. */
export const EXPLAINED_PROBLEMS = Object.keys(PROBLEMS)
  .filter(isProblemCode)
  .map((code) => ({ code, ...PROBLEMS[code], ...PROBLEM_HELP[code] }));
