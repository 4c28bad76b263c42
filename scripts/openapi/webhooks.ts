import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from "zod-openapi";
import { CALLBACKS, OPERATOR_EVENTS } from "../../src/api/shapes/sent-messages.openapi.ts";

const TEXT = { type: "string" as const };

const SIGNATURE_HEADERS = {
  "webhook-id":
    "Id of the message, the same on every attempt and redelivery: `msg_` and the id of the task. Each progress callback has one of its own.",
  "webhook-timestamp": "Time of this attempt in Unix seconds.",
};

const CALLBACK_HEADERS = {
  "X-Event":
    "`task.completed` or `task.failed`, or `task.processing` where the receiver asks for progress.",
  "X-Task-Id": "Id of the task.",
  "X-Timestamp": "Equals `webhook-timestamp`.",
  "X-Attempt": "Number of this attempt, from 1.",
  ...SIGNATURE_HEADERS,
};

/** Headers that only callbacks of some tasks have. */
const TRACE_HEADERS = {
  traceparent:
    "Trace context (W3C) of the request that created the task, unchanged, if it stated one; so on every attempt and redelivery.",
  tracestate: "As `traceparent`, up to 512 characters.",
};

const ANSWERS = {
  "2XX": { description: "The receiver has taken it. Any other answer is a failed attempt." },
};

/** Returns the requests that the relay sends: the callbacks of tasks and the operator events. */
export function webhooks(): ZodOpenApiPathsObject {
  const callbacks = Object.entries(CALLBACKS).map(
    ([name, { summary, attempts, schema, example }]) => {
      const post: ZodOpenApiOperationObject = {
        operationId: operationId(name),
        tags: ["client"],
        summary,
        description: `Sent to the \`callback_url\` of the task: ${attempts}. Redirects are not followed.`,
        security: [{ signatureV1: [] }, { signatureV1a: [] }],
        parameters: [...headers(CALLBACK_HEADERS), ...headers(TRACE_HEADERS, false)],
        requestBody: { required: true, content: { "application/json": { schema, example } } },
        responses: ANSWERS,
      };
      return [name, { post }] as const;
    },
  );
  const events = OPERATOR_EVENTS.map(({ type, summary, schema, example }) => {
    const post: ZodOpenApiOperationObject = {
      operationId: `operator${capital(operationId(type))}`,
      tags: ["operator"],
      summary,
      description:
        "Sent to OPERATOR_CALLBACK_URL, unless OPERATOR_EVENTS excludes it or OPERATOR_CALLBACK_FORMAT is `slack`.",
      security: [{ signatureV1: [] }],
      parameters: headers(SIGNATURE_HEADERS),
      requestBody: { required: true, content: { "application/json": { schema, example } } },
      responses: ANSWERS,
    };
    return [type, { post }] as const;
  });
  return Object.fromEntries([...callbacks, ...events]);
}

function headers(descriptions: Readonly<Record<string, string>>, required = true) {
  return Object.entries(descriptions).map(([name, description]) => ({
    in: "header" as const,
    name,
    required,
    description,
    schema: TEXT,
  }));
}

/** Converts the name of an event to an operation id: `task.late_result` to `taskLateResult`. */
function operationId(name: string): string {
  return name.replaceAll(/[._](\w)/g, (_, letter: string) => letter.toUpperCase());
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
