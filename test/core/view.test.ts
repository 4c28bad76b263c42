import { describe, expect, it } from "vitest";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aRegistration,
  BODY,
  HOUR,
  ID,
  MODEL,
  NOW,
  NOW_S,
  URL_A,
  URL_B,
  runningSince,
} from "./builders.ts";
import { anAttachedTask, aProvidedTask, UPSTREAM } from "./upstream-builders.ts";
import { aCancelingTask, cancelStateNamed } from "./cancel-builders.ts";
import { aChargedTask, aRefundingTask, credits, PRICE } from "./credit-builders.ts";

const open = anOpenTask({ deadlineAt: NOW + HOUR });
const HEAD = `{"id":"${ID}","status":"pending","model":"${MODEL}","created_at":${NOW_S}`;

const refused = anAttempt({
  outcome: "rejected",
  url: URL_B,
  statusCode: 403,
  answer: { contentType: "text/html", locationHost: null, retryAfter: "60" },
  cloudflareError: 1020,
  responseExcerpt: "try later",
});
const cut = anAttempt({
  number: 2,
  dueAt: NOW + HOUR - 7,
  startedAt: NOW + HOUR,
  durationMs: 10_000,
  outcome: "timeout",
  statusCode: null,
});

describe("the callback in the view of a task", () => {
  const endpoint = { name: "orders", secret: { id: "one", generation: 2 } };
  const all = { scheduleMs: [0, 7000], events: ["completed"], endpoint } as const;
  it.each([
    ["an endpoint", { endpoint }, { endpoint: "orders" }],
    ["waits between its attempts", { scheduleMs: [0, 7000] }, { schedule_s: [0, 7] }],
    ["events", { events: ["completed"] } as const, { events: ["completed"] }],
    ["all of these", all, { endpoint: "orders", schedule_s: [0, 7], events: ["completed"] }],
    ["none of these", {}, {}],
  ])(
    "the endpoint, the waits in seconds and the events of a callback are shown, before and after the end of its task, where the task has stored them: %s",
    (_what, terms, shown) => {
      const before = anOpenTask({ callbackTerms: terms });
      const ended = aFinishedTask({ callback: aCallback({ terms, attempts: [] }) });
      expect(JSON.parse(taskView(before, "account")).callback).toEqual({
        url: URL_A,
        ...shown,
        status: "waiting",
        attempts: [],
      });
      expect(JSON.parse(taskView(ended, "account")).callback).toEqual({
        url: URL_A,
        ...shown,
        status: "delivered",
        attempts: [],
        delivered_at: NOW_S,
      });
    },
  );
});

describe("the view of an open task", () => {
  it.each(["operator", "account"] as const)(
    "the view of an open task shows the %s the task's id, status, model, creation time, callback and deadline, and nothing else",
    (role) => {
      expect(taskView(open, role)).toBe(
        `${HEAD},"callback":{"url":"${URL_A}","status":"waiting","attempts":[]},` +
          `"deadline_at":${NOW_S + 3600}}`,
      );
    },
  );

  it("the view of an open task shows the progress of its job in percent, if the upstream has stated it", () => {
    expect(JSON.parse(taskView(open, "account", 40))).toMatchObject({ progress: 40 });
  });

  it("the view of an open task shows its current status", () => {
    expect(JSON.parse(taskView({ ...open, status: "processing" }, "account"))).toMatchObject({
      status: "processing",
    });
  });

  it("the view of a task without a callback URL has callback null", () => {
    expect(taskView({ ...open, callbackUrl: null }, "operator")).toBe(
      `${HEAD},"callback":null,"deadline_at":${NOW_S + 3600}}`,
    );
  });

  it("the view of an open task shows the operator the task's account and metadata, but not the submitted parameters", () => {
    const { registration } = aRegistration({
      metadata: { order: 7 },
      parameters: { prompt: "secret" },
    });
    const record = { ...open, account: ACCOUNT, registration };
    expect(taskView(record, "operator")).toBe(
      `${HEAD},"callback":{"url":"${URL_A}","status":"waiting","attempts":[]},` +
        `"account":"acme","metadata":{"order":7},"deadline_at":${NOW_S + 3600}}`,
    );
  });
});

const retrying = aFinishedTask({
  account: ACCOUNT,
  registration: aRegistration({ metadata: { order: 7 } }).registration,
  callback: aCallback({
    attempts: [refused, cut],
    lastNumber: 2,
    series: { number: 1, started: 2, ordered: null, keyName: null },
    state: { kind: "due", nextAttemptAt: NOW + 2 * HOUR + 999 },
    deliveredAt: null,
  }),
});

function retryingView(excerpt: object) {
  return {
    ...JSON.parse(BODY),
    callback: {
      url: URL_A,
      status: "retrying",
      attempts: [
        {
          number: 1,
          series: 1,
          url: URL_B,
          started_at: NOW_S,
          late_ms: 0,
          after_ms: 0,
          duration_ms: 250,
          outcome: "rejected",
          status_code: 403,
          cloudflare_error: 1020,
          ...excerpt,
        },
        {
          number: 2,
          series: 1,
          started_at: NOW_S + 3600,
          late_ms: 7,
          after_ms: HOUR,
          duration_ms: 10_000,
          outcome: "timeout",
        },
      ],
      next_attempt_at: NOW_S + 7201,
    },
    account: "acme",
    metadata: { order: 7 },
    finished_at: NOW_S,
  };
}

describe("provider and upstream job of a task", () => {
  const job = { id: "r-1", endpoint: "fal-ai/kling" };
  const TIMES = { attachedAt: NOW, hookAt: NOW + 2000, askedAt: NOW + 1000 };
  const TIMES_S = { attached_at: NOW_S, hook_at: NOW_S + 2, asked_at: NOW_S + 1 };

  it.each([
    [
      "a task with an attached job",
      anAttachedTask(),
      { provider: "ark", upstream: { id: "cgt-1" } },
    ],
    [
      "a task with an attached job that has an endpoint of the provider (fal-ai/kling)",
      anAttachedTask({}, { upstream: { connection: "fal", job } }),
      { provider: "fal", upstream: job },
    ],
    ["a task to which no job is attached yet", aProvidedTask(), { provider: "ark" }],
    [
      "a finished task",
      aFinishedTask({ upstream: UPSTREAM, upstreamTimes: TIMES }),
      { provider: "ark", upstream: { id: "cgt-1", ...TIMES_S } },
    ],
    ["a task without a provider", anOpenTask({ registration: null }), {}],
  ])(
    "the view of %s shows the operator the provider and the upstream's job as far as the task has them, and shows an account neither",
    (_what, record, place) => {
      const { provider, upstream } = JSON.parse(taskView(record, "operator"));
      expect({ provider, upstream }).toEqual(place);
      expect(JSON.parse(taskView(record, "account"))).not.toHaveProperty("provider");
      expect(JSON.parse(taskView(record, "account"))).not.toHaveProperty("upstream");
    },
  );
});

const DELIVERED = {
  number: 1,
  series: 1,
  started_at: NOW_S,
  late_ms: 0,
  after_ms: 0,
  duration_ms: 250,
  outcome: "delivered",
  status_code: 200,
};

describe("the view of a finished task", () => {
  it("the view of a finished task shows the operator each attempt with the status, headers and body of the receiver's response", () => {
    const answer = { content_type: "text/html", retry_after: "60" };
    const excerpt = { answer, response_excerpt: "try later" };
    expect(taskView(retrying, "operator")).toBe(JSON.stringify(retryingView(excerpt)));
  });

  it("the view of a finished task shows an account the status of the receiver's response, but not its headers and body", () => {
    expect(taskView(retrying, "account")).toBe(JSON.stringify(retryingView({})));
  });

  it("the view of a finished task begins with the callback body, byte for byte", () => {
    const body = BODY.replace('"metadata":{}', '"metadata":{"seed":1,"__proto__":{"7":"\\u00e9"}}');
    expect(taskView(aFinishedTask({ body }), "account")).toBe(
      `${body.slice(0, -1)},"callback":{"url":"${URL_A}","status":"delivered","attempts":[` +
        `{"number":1,"series":1,"started_at":${NOW_S},"late_ms":0,"after_ms":0,"duration_ms":250,"outcome":"delivered",` +
        `"status_code":200}],"delivered_at":${NOW_S}},"finished_at":${NOW_S}}`,
    );
  });

  it("the view of a failed task shows only the operator, and no account, the request ids that the upstream has stated", () => {
    const failure = { category: "provider", retryable: true, requestIds: ["req_1"] } as const;
    const shownTo = (reader: "operator" | "account") =>
      JSON.parse(taskView(aFinishedTask({ failure }), reader)).failure;
    const known = { category: "provider", retryable: true };
    expect(shownTo("operator")).toEqual({ ...known, request_ids: ["req_1"] });
    expect(shownTo("account")).toEqual(known);
  });

  it("the view of a failed task ends with the category of the failure and whether a retry makes sense, if these are stored", () => {
    const failure = { category: "timeout", retryable: true } as const;
    expect(taskView(aFinishedTask({ callback: null, failure }), "account")).toBe(
      `${BODY.slice(0, -1)},"callback":null,` +
        `"finished_at":${NOW_S},"failure":{"category":"timeout","retryable":true}}`,
    );
  });

  it.each([
    [
      "an attempt in flight without an outcome",
      aCallback({
        lastNumber: 2,
        series: { number: 2, started: 1, ordered: 1, keyName: null },
        state: runningSince(NOW + HOUR, 2),
      }),
      "sending",
      [DELIVERED, { number: 2, series: 2, started_at: NOW_S + 3600, late_ms: 0, after_ms: HOUR }],
    ],
    [
      "that the redelivery has failed",
      aCallback({ attempts: [], state: { kind: "failed" } }),
      "failed",
      [],
    ],
  ])(
    "the view of a finished task whose callback was delivered and ordered again shows the time of the earlier delivery and %s",
    (_what, callback, status, attempts) => {
      const view = JSON.parse(taskView(aFinishedTask({ callback }), "operator"));
      expect(view.callback).toEqual({ url: URL_A, status, attempts, delivered_at: NOW_S });
    },
  );

  it("the view of a finished task shows the cause of a failed callback attempt and the host to which a redirect led", () => {
    const answer = { contentType: null, locationHost: "b.example.com", retryAfter: null };
    const failed = { outcome: "unreachable", statusCode: 525, cause: "tls", answer } as const;
    const callback = aCallback({ attempts: [anAttempt(failed)] });
    const view = JSON.parse(taskView(aFinishedTask({ callback }), "operator"));
    const ended = { outcome: "unreachable", cause: "tls", status_code: 525 };
    const attempt = { ...DELIVERED, ...ended, answer: { location_host: "b.example.com" } };
    expect(view.callback.attempts).toEqual([attempt]);
  });

  it("the view of a finished task shows the URL of an attempt only when the callback has another one now", () => {
    const attempts = [URL_A, URL_B, null].map((url) => anAttempt({ url }));
    const view = JSON.parse(
      taskView(aFinishedTask({ callback: aCallback({ url: URL_A, attempts }) }), "account"),
    );
    expect(view.callback.attempts).toEqual([DELIVERED, { ...DELIVERED, url: URL_B }, DELIVERED]);
  });

  it("the view of a finished task shows at most 20 attempts, including the one in flight", () => {
    const attempts = Array.from({ length: 20 }, (_, i) => anAttempt({ number: i + 1 }));
    const state = runningSince(NOW, 21);
    const callback = aCallback({ attempts, state, lastNumber: 21 });
    const view = JSON.parse(taskView(aFinishedTask({ callback }), "account"));
    expect(view.callback.attempts.map(({ number }: { number: number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 2),
    );
  });
});

describe("the view of a task with a price", () => {
  const roles = ["operator", "account"] as const;

  it.each(roles)(
    'an open task with a price is shown to the %s with the number of credits and the state "charged"',
    (role) => {
      const { registration } = aRegistration({ metadata: { order: 7 } });
      expect(taskView(aChargedTask({ registration, deadlineAt: NOW + HOUR }), role)).toBe(
        `${HEAD},"callback":{"url":"${URL_A}","status":"waiting","attempts":[]},` +
          `"account":"acme","metadata":{"order":7},` +
          `"credits":{"amount":${PRICE},"state":"charged"},"deadline_at":${NOW_S + 3600}}`,
      );
    },
  );

  it.each(roles)(
    "while the refund of a failed task's credits is pending, the %s sees the task's callback as \"sending\"",
    (role) => {
      const failure = { category: "canceled", retryable: false } as const;
      const task = aRefundingTask({ failure });
      expect(taskView(task, role)).toBe(
        `${task.body.slice(0, -1)},"callback":{"url":"${URL_A}","status":"sending","attempts":[]},` +
          `"account":"acme","credits":{"amount":${PRICE},"state":"refunding"},` +
          `"finished_at":${NOW_S},"failure":{"category":"canceled","retryable":false}}`,
      );
    },
  );

  it.each([
    ["asking", { state: "asked" }],
    ["accepted", { state: "asked", answered_at: NOW_S, status_code: 202 }],
    ["ended", { state: "refused", answered_at: NOW_S, status_code: 202 }],
    ["refused", { state: "refused", answered_at: NOW_S, status_code: 202 }],
    ["unknown", { state: "unknown", answered_at: NOW_S, status_code: 202 }],
    ["confirmed", { state: "confirmed" }],
    ["not_sent", { state: "not_sent" }],
  ] as const)(
    "the view of a task whose stored cancellation has the state %s shows operator and account the member cancel with %j and with the reason and time of the request",
    (kind, { state, ...answer }) => {
      const task = aCancelingTask({ state: cancelStateNamed(kind) });
      const cancel = { state, reason: "order", requested_at: NOW_S, ...answer };
      for (const role of roles) {
        expect(JSON.parse(taskView(task, role))).toMatchObject({ cancel });
        expect(taskView(task, role)).toContain(`"cancel":${JSON.stringify(cancel)}`);
      }
    },
  );

  it("a finished task that is priced by usage shows its account the final cost, that usage decided it, and when the difference to the credits held at first was released", () => {
    const final = { credits: 13, basis: "usage" } as const;
    const task = aFinishedTask({ credits: credits({ kind: "released", at: NOW }, { final }) });
    const { credits: shown } = JSON.parse(taskView(task, "account"));
    expect(Object.entries(shown)).toEqual([
      ["amount", PRICE],
      ["final", 13],
      ["state", "released"],
      ["basis", "usage"],
      ["released_at", NOW_S],
    ]);
  });

  it.each([
    ["are charged", "charged", {}],
    ["were refunded, and when", "refunded", { refunded_at: NOW_S }],
  ] as const)(
    "the view of a finished task with a price shows its account the number of credits, and that they %s",
    (_, kind, times) => {
      const state = kind === "charged" ? { kind } : { kind, at: NOW };
      const task = aFinishedTask({ callback: null, credits: credits(state) });
      const shown = { amount: PRICE, state: kind, ...times };
      const paid = JSON.stringify({ callback: null, credits: shown, finished_at: NOW_S });
      expect(taskView(task, "account")).toBe(`${BODY.slice(0, -1)},${paid.slice(1)}`);
    },
  );
});

it.each([
  ["an open task", anOpenTask({ account: ACCOUNT }), `${HEAD},"callback":{"status":"waiting"}}`],
  [
    "an open task without a callback",
    anOpenTask({ callbackUrl: null }),
    `${HEAD},"callback":null}`,
  ],
  ["a finished task", aFinishedTask(), `${BODY.slice(0, -1)},"callback":{"status":"delivered"}}`],
  [
    "a failed task of which the category is known",
    aFinishedTask({
      callback: null,
      failure: { category: "timeout", retryable: true, requestIds: ["req_1"] },
    }),
    `${BODY.slice(0, -1)},"callback":null,"failure":{"category":"timeout","retryable":true}}`,
  ],
  [
    "a task whose outputs the relay keeps",
    aFinishedTask({
      callback: null,
      outputs: {
        expiresAt: NOW + HOUR,
        list: [
          { number: 1, source: URL_B, state: { kind: "kept", bytes: 7, mediaType: "video/mp4" } },
        ],
        order: null,
      },
    }),
    `${BODY.slice(0, -1)},"callback":null,"outputs":[{"kept":true,"bytes":7,"content_type":"video/mp4","expires_at":${NOW_S + 3600}}]}`,
  ],
])(
  "the status link of %s shows the members of its callback body, the status of its callback, what is kept of its outputs and the kind of its failure, and nothing else",
  (_what, task, text) => {
    expect(taskView(task, "link")).toBe(text);
  },
);

it("the status link of an open task shows the progress of its job", () => {
  expect(taskView(anOpenTask({ callbackUrl: null }), "link", 40)).toBe(
    `${HEAD},"callback":null,"progress":40}`,
  );
});
