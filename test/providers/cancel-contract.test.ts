import { describe, expect, it } from "vitest";
import type { Job } from "../../src/core/record/upstream.ts";
import type { CancelAdapter, CancelReading, CancelRequest } from "../../src/providers/cancel.ts";
import { ADAPTERS } from "./adapters.ts";

/** A documented call that cancels a job, and documented answers to it with their meanings. */
interface CancelFixture {
  readonly provider: string;
  readonly job: Job;
  readonly request: CancelRequest;
  /** States of a job in which the call does no harm. Null when it does none in any state. */
  readonly onlyWhile: readonly string[] | null;
  /** True when the provider answers 404 about a job that it has canceled. */
  readonly forgetsCanceled: boolean;
  readonly answers: readonly (readonly [name: string, number, unknown, CancelReading])[];
}

const NO_BODY = undefined;

const CANCELING: readonly CancelFixture[] = [
  {
    provider: "ark",
    job: { id: "cgt-20261126-abcde", endpoint: null },
    request: { method: "DELETE", path: "/contents/generations/tasks/cgt-20261126-abcde" },
    onlyWhile: ["queued"],
    forgetsCanceled: false,
    answers: [
      ["a queued task was canceled", 200, {}, "canceled"],
      ["the task is running", 409, { error: { code: "InvalidAction.RunningTask" } }, "refused"],
      ["the task is not known", 404, { error: { code: "ResourceNotFound" } }, "unknown"],
    ],
  },
  {
    provider: "dashscope",
    job: { id: "13b1848b-5493", endpoint: null },
    request: { method: "POST", path: "/api/v1/tasks/13b1848b-5493/cancel" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["a pending task was canceled", 200, { request_id: "45ac7f13" }, "canceled"],
      [
        "the task is not pending",
        400,
        { request_id: "45ac7f13", code: "UnsupportedOperation", message: "Failed to cancel" },
        "refused",
      ],
      ["another error code", 400, { code: "InvalidParameter" }, "unknown"],
      ["an error code with the status of a success", 200, { code: "Throttling" }, "unknown"],
    ],
  },
  {
    provider: "fal",
    job: { id: "764cabcf", endpoint: "fal-ai/veo3/fast" },
    request: { method: "PUT", path: "/fal-ai/veo3/requests/764cabcf/cancel" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["a request was removed from the queue", 200, { status: "OK" }, "canceled"],
      ["a signal was sent", 202, { status: "CANCELLATION_REQUESTED" }, "accepted"],
      ["the request has ended", 400, { status: "ALREADY_COMPLETED" }, "ended"],
      ["the request is not known", 404, { status: "NOT_FOUND" }, "unknown"],
      ["a page", 200, NO_BODY, "unknown"],
    ],
  },
  {
    provider: "gemini",
    job: { id: "v1_ChdXS0l4", endpoint: null },
    request: { method: "POST", path: "/v1beta/interactions/v1_ChdXS0l4/cancel" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["the interaction was canceled", 200, { status: "cancelled" }, "canceled"],
      ["it still runs", 200, { status: "in_progress" }, "accepted"],
      ["it has completed", 200, { status: "completed" }, "ended"],
      ["it has failed", 200, { status: "failed" }, "ended"],
      ["a page", 200, NO_BODY, "unknown"],
      ["it is not running", 400, { error: { status: "FAILED_PRECONDITION" } }, "refused"],
      ["it is not known", 404, { error: { status: "NOT_FOUND" } }, "unknown"],
    ],
  },
  {
    provider: "higgsfield",
    job: { id: "d7e6c0f3-6699", endpoint: null },
    request: { method: "POST", path: "/requests/d7e6c0f3-6699/cancel" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["a queued request was canceled", 202, NO_BODY, "canceled"],
      ["the request has started", 400, { detail: "Request cannot be canceled" }, "refused"],
      ["the request is not known", 404, { detail: "Not found" }, "unknown"],
      ["a page", 200, NO_BODY, "unknown"],
    ],
  },
  {
    provider: "minimax",
    job: { id: "106916112212032", endpoint: "v2" },
    request: { method: "DELETE", path: "/v2/video_generation/106916112212032" },
    onlyWhile: ["queued"],
    forgetsCanceled: false,
    answers: [
      ["a queued task was canceled", 200, { base_resp: { status_code: 0 } }, "canceled"],
      ["an error code with status 200", 200, { base_resp: { status_code: 2013 } }, "refused"],
      ["an error code with status 400", 400, { base_resp: { status_code: 2013 } }, "refused"],
      ["the task is not known", 404, {}, "unknown"],
    ],
  },
  {
    provider: "replicate",
    job: { id: "ufawqhfynnddngldkgtslldrkq", endpoint: null },
    request: { method: "POST", path: "/v1/predictions/ufawqhfynnddngldkgtslldrkq/cancel" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["the prediction was canceled", 200, { status: "canceled" }, "canceled"],
      ["it was canceled before it started", 200, { status: "aborted" }, "canceled"],
      ["it still runs", 200, { status: "processing" }, "accepted"],
      ["it still waits", 200, { status: "starting" }, "accepted"],
      ["it has succeeded", 200, { status: "succeeded" }, "ended"],
      ["it has failed", 200, { status: "failed" }, "ended"],
      ["an unknown state", 200, { status: "sleeping" }, "unknown"],
      ["a page", 200, NO_BODY, "unknown"],
      ["an error", 422, { detail: "Prediction cannot be canceled" }, "refused"],
      ["the prediction is not known", 404, { detail: "Not found" }, "unknown"],
    ],
  },
  {
    provider: "runpod",
    job: { id: "c80ffee4-e1", endpoint: null },
    request: { method: "POST", path: "/cancel/c80ffee4-e1" },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["the job was canceled", 200, { id: "c80ffee4-e1", status: "CANCELLED" }, "canceled"],
      ["it still runs", 200, { id: "c80ffee4-e1", status: "IN_PROGRESS" }, "accepted"],
      ["it has ended", 200, { id: "c80ffee4-e1", status: "COMPLETED" }, "ended"],
      ["an unknown state", 200, { id: "c80ffee4-e1", status: "WARMING" }, "unknown"],
      ["a page", 200, NO_BODY, "unknown"],
      ["a refusal", 400, { error: "cannot cancel" }, "refused"],
      ["the job is not known", 404, {}, "unknown"],
    ],
  },
  {
    provider: "runway",
    job: { id: "17f20503-6c24", endpoint: null },
    request: { method: "DELETE", path: "/v1/tasks/17f20503-6c24" },
    onlyWhile: ["queued", "processing"],
    forgetsCanceled: true,
    answers: [
      ["the task was canceled or deleted", 204, NO_BODY, "canceled"],
      ["the task is not known", 404, { error: "Task not found" }, "unknown"],
    ],
  },
  {
    provider: "vidu",
    job: { id: "790002", endpoint: null },
    request: { method: "POST", path: "/tasks/790002/cancel", body: { id: "790002" } },
    onlyWhile: null,
    forgetsCanceled: false,
    answers: [
      ["the task was canceled", 200, {}, "canceled"],
      [
        "the task is scheduled",
        400,
        { code: 400, message: "task state is scheduled, can not cancel" },
        "refused",
      ],
      [
        "the task has ended",
        400,
        { code: 400, message: "task state is success, can not cancel" },
        "ended",
      ],
      ["another error", 400, { code: 400, message: "bad request" }, "unknown"],
    ],
  },
  {
    provider: "wavespeed",
    job: { id: "b2a9", endpoint: null },
    request: { method: "DELETE", path: "/api/v3/predictions/b2a9" },
    onlyWhile: ["queued", "processing"],
    forgetsCanceled: true,
    answers: [
      ["the prediction was deleted", 200, { data: { status: "deleted" } }, "canceled"],
      ["a page", 200, NO_BODY, "unknown"],
      ["the prediction is not known", 404, { code: 404, message: "not found" }, "unknown"],
    ],
  },
];

it("exactly the providers whose adapters describe a call that cancels a job have an example of it in the tests", () => {
  const described = [...ADAPTERS].filter(([, { cancels }]) => cancels !== undefined);
  expect(CANCELING.map(({ provider }) => provider)).toEqual(
    described.map(([name]) => name).toSorted(),
  );
});

describe.each(CANCELING)(
  "the call that cancels a job of $provider",
  ({ provider, job, request, onlyWhile, forgetsCanceled, answers }) => {
    const adapter = adapterOf(provider);

    it(`is ${request.method} ${request.path}`, () => {
      expect(adapter.request(job)).toEqual(request);
    });

    it("keeps a job id with characters of URLs in one segment of the path", () => {
      const path = adapter.request({ ...job, id: "a/../b?c#d" })?.path;
      expect(path).toBe(request.path.replace(job.id, "a%2F..%2Fb%3Fc%23d"));
    });

    it(`is made ${onlyWhile === null ? "in every state of a job" : `only while the job is ${onlyWhile.join(" or ")}`}`, () => {
      expect(adapter.onlyWhile ?? null).toEqual(onlyWhile);
      expect(adapter.forgetsCanceled ?? false).toBe(forgetsCanceled);
    });

    it.each(answers)(
      "has the documented answer: %s (%i, %j), read as %s",
      (_, status, body, means) => {
        expect(adapter.read({ status, body })).toBe(means);
      },
    );
  },
);

it("no call cancels a job of MiniMax's API v1, which documents none", () => {
  const { request } = adapterOf("minimax");
  expect(request({ id: "106916112212032", endpoint: null })).toBeNull();
  expect(request({ id: "106916112212032", endpoint: "v1" })).toBeNull();
});

function adapterOf(name: string): CancelAdapter {
  const adapter = ADAPTERS.get(name)?.cancels;
  if (adapter === undefined) throw new Error(`${name} describes no call that cancels a job`);
  return adapter;
}
