import * as z from "zod/mini";

const HttpStatus = z.int().check(z.gte(200), z.lte(599));
const Headers = z.record(z.string(), z.string());
/** An answer, as JSON or, where it is not JSON or its spelling matters, as text. */
const content = { body: z.optional(z.unknown()), text: z.optional(z.string()) };

const FirstAnswer = z.strictObject({
  http_status: HttpStatus,
  headers: z.optional(Headers),
  ...content,
});

/** What an adapter gets: an answer to a poll, a hook, or the answer to a call that starts a job or is answered at once. */
const received = {
  transport: z.enum(["poll", "hook", "answer"]),
  /** Endpoint of the job, where polls of the provider need it besides the id. */
  endpoint: z.optional(z.string()),
  job: z._default(z.string(), "job"),
  /** Id of the task, where the submission contained it and the body repeats it. */
  task: z.optional(z.string()),
  /** Answer to the first request of a poll that needs two. */
  first: z.optional(FirstAnswer),
  /** Answer at the content path of the job, if that is asked. Absent for a file that opens there, or none where the output stands in the body itself. */
  content: z.optional(FirstAnswer),
  /** The call that has started the job, where its input matters; for an answer, the call that it answers. */
  submitted: z.optional(z.strictObject({ path: z.string(), body: z.unknown() })),
  http_status: HttpStatus,
  headers: Headers,
  ...content,
};

const hasContent = z.refine<{ body?: unknown; text?: string | undefined }>(
  ({ body, text }) => (body === undefined) !== (text === undefined),
  "must have either body or text",
);

const ExpectedError = z.strictObject({
  category: z.optional(
    z.enum(["moderation", "invalid_input", "rate_limited", "timeout", "canceled", "provider"]),
  ),
  retryable: z.optional(z.boolean()),
  code: z.optional(z.string()),
  /** Part of the reason that a person needs. */
  message_has: z.optional(z.string()),
  message_lacks: z.optional(z.string()),
});

/** The reading that follows from the vendor's documents. What they do not decide is absent. */
const Expected = z.strictObject({
  /** `open`: the job goes on, or this body does not tell. */
  status: z.optional(z.enum(["queued", "processing", "completed", "failed", "open"])),
  /** All outputs, the main one first. `{base_url}` is the base URL of the connection. */
  urls: z.optional(z.array(z.string())),
  /** True when the output is text and no file. */
  text_output: z.optional(z.literal(true)),
  /** True when the answer contains the output itself. */
  inline: z.optional(z.literal(true)),
  /** Media types of the files that the answer to a call contains, in its order. */
  files: z.optional(z.array(z.string())),
  /** Id of the job that the answer to a call starts. */
  starts: z.optional(z.string()),
  /** Class of the refusal that the answer to a call is. */
  refusal: z.optional(z.enum(["busy", "rate", "funds", "key", "final"])),
  metadata: z.optional(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
  usage: z.optional(z.record(z.string(), z.number())),
  error: z.optional(ExpectedError),
  why: z.optional(z.string()),
});

/** A file of a corpus: a body of an upstream, where it comes from, and how it is to be read. */
export const CorpusFile = z
  .strictObject({
    source: z.string().check(z.minLength(5)),
    source_kind: z.enum(["docs", "schema", "sdk", "report"]),
    read_on: z.iso.date(),
    shows: z.string().check(z.minLength(5)),
    ...received,
    expect: Expected,
  })
  .check(hasContent);

/** A body that a user gives. It may have the other members of a file of a corpus, which are not read. */
export const GivenBody = z
  .object({
    provider: z.string(),
    /** Declaration of the upstream, for a connection that declares its own. */
    declaration: z.optional(z.unknown()),
    ...received,
    transport: z._default(received.transport, "poll"),
    http_status: z._default(HttpStatus, 200),
    headers: z._default(Headers, { "content-type": "application/json" }),
  })
  .check(hasContent);

export type CorpusBody = z.infer<typeof CorpusFile>;
export type Expectation = z.infer<typeof Expected>;
export type ReceivedBody = Pick<
  CorpusBody,
  | "transport"
  | "endpoint"
  | "job"
  | "task"
  | "first"
  | "content"
  | "submitted"
  | "http_status"
  | "headers"
  | "body"
  | "text"
>;
