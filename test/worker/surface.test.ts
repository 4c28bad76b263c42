import { expect, it } from "vitest";
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { ROUTES } from "../../src/api/routes.ts";

/** Method, path and access of each route, its statuses that are not problems, and its own problem codes. */
const SURFACE = [
  "POST /v1/tasks | operate | 200 201 | idempotency_key_reused insufficient_credits monthly_limit not_found task_exists",
  "POST /v1/tasks/{id}/upstream | operate | 200 | submission_running task_settled unknown_task",
  "POST /v1/submit/{offer} | submit | 202 | body_timeout connection_busy idempotency_key_reused insufficient_credits invalid_json monthly_limit not_found output_needs_store payload_too_large queue_full submission_running submit_unknown",
  "POST /v1/submit/{connection}/{+path} | submit | 202 | body_timeout connection_busy idempotency_key_reused insufficient_credits invalid_json length_required monthly_limit not_found not_offered output_needs_store payload_too_large prefer_required queue_full submission_running submit_unknown task_exists",
  "GET /v1/submit/{connection}/{+path} | read |  | not_found",
  "DELETE /v1/submit/{connection}/{+path} | cancel |  | not_found submission_running",
  "PUT /v1/submit/{connection}/{+path} | cancel |  | not_found submission_running",
  "GET /v1/tasks | read | 200 | index_disabled",
  "GET /v1/tasks/{id} | read | 200 304 | unknown_task",
  "GET /v1/tasks/{id}/answer | read | 202 302 | not_found output_gone task_failed unknown_task",
  "GET /v1/tasks/{id}/events | read | 200 204 | unknown_task",
  "GET /v1/tasks/{id}/attempts/{number}/request | read | 200 | no_callback not_found task_open unknown_task",
  "POST /v1/tasks/{id}/verify | read | 200 | no_callback task_open unknown_task",
  "POST /v1/tasks/{id}/redeliver | redeliver | 202 | idempotency_key_reused no_callback series_running task_open unknown_task",
  "POST /v1/tasks/{id}/cancel | cancel | 200 202 | not_cancelable submission_running task_settled unknown_task",
  "DELETE /v1/tasks/{id} | administer | 204 | series_running task_open unknown_task",
  "POST /v1/events | report | 200 202 | conflicting_result not_found submission_running unknown_task",
  "POST /hooks/{provider}/{id}/{token} | anyone | 200 | body_timeout invalid_json not_configured payload_too_large rate_limited stored_by_earlier_build unauthenticated unavailable unknown_task",
  "POST /v1/callbacks/test | redeliver | 200 | ",
  "GET /v1/listen | listen | 101 | not_found",
  "POST /mcp | read | 200 202 400 404 406 408 413 | ",
  "POST /v1/accounts | administer | 200 201 | reference_reused",
  "DELETE /v1/tasks/{id}/outputs/{output} | administer | 204 | not_found task_open unknown_task",
  "GET /v1/accounts | inspect | 200 | index_disabled",
  "GET /v1/accounts/{account} | read | 200 | not_found",
  "PUT /v1/accounts/{account} | administer | 200 | not_found",
  "GET /v1/accounts/{account}/spend | ledger | 200 | not_found",
  "GET /v1/accounts/{account}/stats | read | 200 | index_disabled",
  "DELETE /v1/accounts/{account} | administer | 202 | index_disabled not_found task_open",
  "POST /v1/accounts/{account}/adjustments | administer | 200 201 | not_found reference_reused",
  "POST /v1/accounts/{account}/grants | administer | 200 201 | not_found reference_reused",
  "GET /v1/accounts/{account}/grants | ledger | 200 | not_found",
  "GET /v1/accounts/{account}/entries | ledger | 200 | not_found",
  "POST /v1/accounts/{account}/keys | administer | 201 | not_found reference_reused",
  "GET /v1/accounts/{account}/keys | keys | 200 | not_found",
  "DELETE /v1/accounts/{account}/keys/{key} | administer | 204 | not_found",
  "GET /v1/accounts/{account}/signing-secrets | secrets | 200 | not_found",
  "POST /v1/accounts/{account}/signing-secrets | administer | 200 | not_found",
  "GET /v1/offers | read | 200 | ",
  "GET /v1/offers/{name} | read | 200 | not_found",
  "PUT /v1/offers/{name} | administer | 200 201 | offer_changed offers_full offers_in_configuration",
  "DELETE /v1/offers/{name} | administer | 204 | not_found offer_changed offers_in_configuration",
  "GET /v1/offers/{name}/versions | inspect | 200 | not_found",
  "POST /v1/offers/{name}/versions/{version}/restore | administer | 200 201 | not_found offer_changed offers_full offers_in_configuration",
  "GET /v1/signing-secrets | administer | 200 | ",
  "GET /.well-known/jwks.json | anyone | 200 | not_configured",
  "GET /v1/stats | statistics | 200 | index_disabled",
  "GET /v1/stats/series | statistics | 200 | index_disabled",
  "GET /v1/hosts | inspect | 200 | index_disabled",
  "GET /v1/hosts/{host} | inspect | 200 | index_disabled",
  "GET /v1/problems | inspect | 200 | ",
  "GET /metrics | statistics | 200 | index_disabled",
  "POST /v1/redeliveries | redeliver | 200 | index_disabled",
  "POST /v1/reindex | operate | 200 | index_disabled",
  "POST /v1/wake | operate | 200 | index_disabled",
  "GET /healthz | anyone | 200 503 | unavailable",
  "GET /outputs/{id}/{output}/{file} | anyone | 200 206 302 304 412 416 | not_configured not_found output_gone rate_limited unavailable",
];

it("the routes of the API, with their access, statuses and problem codes, are exactly those listed in this test", () => {
  const routes = ROUTES.map(({ id, method, path, access }) => {
    const { answers, problems } = DESCRIPTIONS[id];
    const statuses = Object.keys(answers).join(" ");
    return [`${method} ${path}`, access, statuses, problems.toSorted().join(" ")].join(" | ");
  });
  expect(routes.toSorted()).toEqual(SURFACE.toSorted());
});

it("the problem codes and their statuses are exactly those listed in this test", () => {
  const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(statuses)).toEqual({
    invalid_json: 400,
    invalid_request: 400,
    unauthenticated: 401,
    forbidden: 403,
    insufficient_credits: 402,
    monthly_limit: 402,
    not_offered: 403,
    not_found: 404,
    offer_changed: 412,
    offers_full: 409,
    offers_in_configuration: 409,
    unknown_task: 404,
    method_not_allowed: 405,
    task_exists: 409,
    task_open: 409,
    task_settled: 409,
    reference_reused: 409,
    conflicting_result: 409,
    series_running: 409,
    submission_running: 409,
    not_cancelable: 409,
    submit_unknown: 424,
    task_failed: 424,
    no_callback: 409,
    prefer_required: 400,
    body_timeout: 408,
    length_required: 411,
    output_gone: 410,
    payload_too_large: 413,
    output_needs_store: 422,
    idempotency_key_reused: 422,
    rate_limited: 429,
    connection_busy: 429,
    queue_full: 429,
    internal_error: 500,
    index_disabled: 501,
    not_configured: 503,
    stored_by_earlier_build: 503,
    unavailable: 503,
  });
});
