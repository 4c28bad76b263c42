/** Description and example of a header, for the description of the API. */
interface Header {
  readonly description: string;
  readonly example: string;
}

/** Headers that only some responses have, each with a description and an example for the description of the API. */
export const ANSWER_HEADERS = {
  "Access-Control-Allow-Origin": {
    description:
      "`*` in answers to a status token, to the link of an output and to clients of MCP, so that pages of any site may read them.",
    example: "*",
  },
  "Accept-Ranges": { description: "`bytes`: `Range` gets a part.", example: "bytes" },
  Allow: { description: "Methods of the path.", example: "GET, HEAD" },
  "Content-Disposition": {
    description: "Name under which a browser saves the file.",
    example: 'attachment; filename="acme-entries.csv"',
  },
  "Content-Range": {
    description: "Which bytes of the output the answer has (RFC 9110).",
    example: "bytes 0-1023/146515",
  },
  ETag: {
    description:
      "Version of the task as this caller sees it, for `If-None-Match`. It changes with the state of the task and, while the task is open, with its progress; for the operator with every member. Of an output: the tag of its bytes, which never change, also for `If-Range`. Of an offer: its version, for `If-Match`.",
    example: '"1767225600002-account"',
  },
  "Idempotent-Replayed": {
    description: "`true` when an earlier request under this `Idempotency-Key` did the work.",
    example: "true",
  },
  Link: {
    description: 'Address of the next page (`rel="next"`, RFC 8288).',
    example: '<https://relay.example.com/v1/tasks?cursor=…>; rel="next"',
  },
  Location: {
    description: "Path of the new task, or the upstream's own link to an output.",
    example: "/v1/tasks/6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  },
  "Next-Cursor": {
    description: "`cursor` of the next page of the export; absent on the last page.",
    example: "1041",
  },
  "Preference-Applied": {
    description: "`respond-async`: the relay makes the call, and answers before the upstream does.",
    example: "respond-async",
  },
  "Relay-Status-Url": {
    description: "Status link of the task; absent when the upstream has refused the submission.",
    example: "https://relay.example.com/v1/tasks/6f9619ff-8b86-4d01-b42d-00cf4fc964ff?token=…",
  },
  "Relay-Task-Id": {
    description:
      "Id of the task of a submission. Every answer of the upstream has it, a refusal included, whose task is erased; no problem of the relay itself has it.",
    example: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  },
  "Retry-After": { description: "Seconds after which to ask again.", example: "5" },
  Vary: {
    description: "Request headers on which the answer depends.",
    example: "Authorization",
  },
  "WWW-Authenticate": {
    description: "Kind of credentials that the request needs (RFC 9110).",
    example: 'Bearer realm="task-relay"',
  },
  "x-should-retry": {
    description:
      "`false` where the SDKs of upstreams must not repeat the call, because the upstream may have started a job.",
    example: "false",
  },
} as const satisfies Readonly<Record<string, Header>>;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** Headers that every response has, each with a description and an example for the description of the API. */
export const COMMON_HEADERS = {
  "X-Request-Id": {
    description: "Id of the request, which the log lines of the relay name too.",
    example: "0b6f4c5e-3d0f-4c53-9a57-6f0a2f9d8e11",
  },
  "Cache-Control": { description: "`no-store` unless stated otherwise.", example: "no-store" },
} as const satisfies Readonly<Record<string, Header>>;

/** Optional request headers that some routes read, each with a description and an example. */
export const REQUEST_HEADERS = {
  Accept: {
    description: "`application/openmetrics-text` chooses OpenMetrics 1.0.",
    example: "application/openmetrics-text",
  },
  "Idempotency-Key": {
    description:
      "1 to 255 printable ASCII characters. A request that is repeated under the same key does its work once.",
    example: "order-4711",
  },
  "Last-Event-ID": {
    description: "`id` of the last event that the reader has; browsers send it by themselves.",
    example: "1767225600002",
  },
  "If-None-Match": {
    description:
      "`ETag` of the version that the caller has: the answer is 304 while it is the current one. For an offer `*`: it is only created, and one that exists is 412.",
    example: '"1767225600002-account"',
  },
  "If-Match": {
    description:
      "`ETag` of the version of the offer that the caller has read: another one is 412, and nothing is changed.",
    example: '"42"',
  },
  Prefer: {
    description:
      "`wait=N` waits like the parameter `wait` (RFC 7240). For a submission, `respond-async` asks for the task at once, and the relay makes the call itself; all other preferences go to the upstream.",
    example: "wait=30",
  },
  Range: { description: "`bytes=…`, one range (RFC 9110).", example: "bytes=0-1023" },
  "If-Range": {
    description: "`ETag` of the output: with another one the answer has all bytes.",
    example: '"5d41402abc4b2a76b9719d911017c592"',
  },
  "Relay-Callback-Url": {
    description:
      "URL that gets the callback, or `endpoint:NAME`. Without it, the URL in the provider's own hook field becomes the `callback_url`, and without both, the endpoint named `default` gets it.",
    example: "https://client.example.com/hook",
  },
  "Relay-Callback-Schedule": {
    description:
      "Waits before the attempts of the callback, in seconds, each from the end of the attempt before: 1 to 10 of 0 to 86,400, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Without it `CALLBACK_SCHEDULE_S` decides.",
    example: "0,60,3600,86400",
  },
  "Relay-Callback-Events": {
    description:
      "Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. Without it `completed,failed`.",
    example: "completed,failed,progress",
  },
  "Relay-Metadata": {
    description: "Labels of the task, a JSON object of at most 4 KB.",
    example: '{"order": 4711}',
  },
  "Relay-Start-By": {
    description:
      "Until when a call with `Prefer: respond-async` waits to be sent, in Unix seconds, before the deadline of the task. Then the task fails with `queue_timeout`, and nothing is sent. Without it, the call waits for `QUEUE_MINUTES`.",
    example: "1767229200",
  },
  "Relay-Key": {
    description:
      "Key of the relay, when the call has your own key of the upstream in the upstream's header. That key goes up as it is, and the job is asked for with it. Accounts need an offer for it.",
    example: "trk_acme_…",
  },
  "Relay-Task-Id": {
    description: "Id of the task, a UUID. Only for operators.",
    example: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  },
  "Relay-Deadline-At": {
    description: "When the task fails unless it has ended, in Unix seconds. Only for operators.",
    example: "1767312000",
  },
  "Relay-Account": {
    description: "Account that owns the task and is charged. Only for operators.",
    example: "acme",
  },
  "Relay-Credits": {
    description: "Price in whole credits, with `Relay-Account`. Only for operators.",
    example: "60",
  },
  "Relay-Price": {
    description:
      "Price as `price` of `POST /v1/tasks` states it, in place of `Relay-Credits`, with `Relay-Account`. Only for operators.",
    example:
      '{"hold": 200, "min": 10, "per": {"usage": "completion_tokens", "units": 1000000, "credits": 15000}}',
  },
  Upgrade: {
    description: "`websocket` opens a WebSocket (RFC 6455).",
    example: "websocket",
  },
  "webhook-id": {
    description: "Id of the event, for a request that is signed instead of having a key.",
    example: "msg_2b1d7c",
  },
  "webhook-timestamp": {
    description: "Time of the signature in Unix seconds, at most 300 seconds from now.",
    example: "1767225600",
  },
} as const satisfies Readonly<Record<string, Header>>;

export type RequestHeader = keyof typeof REQUEST_HEADERS;
