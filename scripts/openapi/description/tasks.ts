import * as z from "zod/mini";
import { emptyAnswer, jsonAnswer, type RouteDescription } from "./description.ts";
import {
  CANCELED_TASK,
  CANCELING_TASK,
  COMPLETED_TASK,
  LISTED_TASK,
  OPEN_TASK,
  REGISTERED_TASK,
  REGISTRATION,
  TASK_STATUS,
} from "./examples.ts";
import { limit, LIST_PARAMETERS, STATUS_TOKEN } from "./parameters.ts";
import { pageOf } from "../../../src/api/shapes/described.ts";
import {
  ListedTask,
  RegisteredTask,
  Task,
  TaskCount,
  TaskStatus,
} from "../../../src/api/shapes/task-shape.ts";

/**
 * Header of an answer to a caller with a status token (the token in the status link of a task): it lets pages
 * of other sites read the answer.
 */
const LINKED = { "Access-Control-Allow-Origin": "sometimes" } as const;

/** Headers of the answers to a link of an output. */
const OPEN = { "Access-Control-Allow-Origin": "always" } as const;
const OUTPUT = { ...OPEN, "Content-Disposition": "always" } as const;
const RANGED = { "Accept-Ranges": "sometimes", ETag: "sometimes" } as const;

/** A file of any type. */
const FILE = { "*/*": { schema: z.string(), example: "…" } } as const;

/** Descriptions of the routes that register, list, read, redeliver, cancel and erase tasks. */
export const TASK_ROUTES = {
  registerTask: {
    audience: "client",
    summary: "Register a task before it is submitted upstream, and charge its price",
    details:
      "Repeating the same registration changes nothing. Without `id`, an `Idempotency-Key` derives the id, so that a repeated registration finds its task. With `provider` the answer has the `hook_url` for the provider, and in `hook_parameter` the field of its submit call that takes it. A provider with hooks needs the variable `PUBLIC_URL`: without it the registration is refused with `not_configured` before anything is stored, unless it was sent to this machine.",
    request: {
      headers: ["Idempotency-Key"],
      example: REGISTRATION,
      fields: {
        id: "Id of the task, a UUID; made by the relay when it is absent.",
        model: "Name of the model, which the callback repeats.",
        callback_url: "URL that gets the callback: https, and no private address.",
        account: "Account that owns the task and is charged.",
        provider: "Connection that does the work, for a hook URL and for polls.",
        parameters: "Parameters of the job. The relay only stores them.",
        metadata: "Labels of your own, at most 4 KB, which reading the task returns.",
        deadline_at:
          "When the task fails unless it has ended, in Unix seconds; by default after TASK_DEADLINE_HOURS.",
        credits: "Price in whole credits, refunded when the task fails. Needs `account`.",
        price:
          'The same as `{"credits": 60}`, or a price by usage: `hold` is charged, and what the completed task costs less is given back. It costs `per.credits` for `per.units` of the number `per.usage` of the job\'s usage, or of `per.field` of the output metadata, at least `min`. `per.credits` may have a number for each `resolution`. In place of `credits`.',
      },
    },
    answers: {
      201: jsonAnswer("registered", RegisteredTask, REGISTERED_TASK, { Location: "always" }),
      200: jsonAnswer(
        "the same registration again; nothing changed",
        RegisteredTask,
        REGISTERED_TASK,
        { "Idempotent-Replayed": "sometimes" },
      ),
    },
    problems: ["task_exists", "idempotency_key_reused", "insufficient_credits", "not_found"],
  },
  submitJob: {
    audience: "client",
    summary: "Submit a job to an upstream through the relay, once",
    details:
      "The call is the upstream's own: its path, query, content type and body, and the relay's key in the header of the upstream's key. The relay registers the task, charges its price, puts its hook URL into the call, sends it once with the connection's own key (or, with `Relay-Key`, with that of the caller), stores the answer, and passes it on. The answer of a refusal is passed on too; the task is then erased and its price returned. Accounts submit what `OFFERS` lists.",
    request: {
      headers: [
        "Idempotency-Key",
        "Relay-Callback-Url",
        "Relay-Metadata",
        "Relay-Key",
        "Relay-Task-Id",
        "Relay-Deadline-At",
        "Relay-Account",
        "Relay-Credits",
        "Relay-Price",
      ],
      example: {
        model: "doubao-seedance-2-0-260128",
        content: [{ type: "text", text: "a fox" }],
      },
      passedBody:
        "Body of the upstream's own call: JSON, or multipart where the upstream takes it.",
    },
    answers: {},
    passedAnswer: {
      description: "Answer of the upstream, with its status and body.",
      example: { id: "cgt-20261121120000-abcde" },
    },
    problems: [
      "not_found",
      "invalid_json",
      "body_timeout",
      "payload_too_large",
      "insufficient_credits",
      "task_exists",
      "submission_running",
      "submit_unknown",
      "idempotency_key_reused",
    ],
  },
  readSubmitted: {
    audience: "client",
    summary: "Not there: read the task instead",
    details:
      "An SDK that polls gets 404. The relay finds the end of the job itself; read the task by the id in `Relay-Task-Id`.",
    answers: {},
    problems: ["not_found"],
  },
  attachUpstream: {
    audience: "client",
    summary: "Attach the upstream job that the submit call returned",
    request: {
      example: {
        provider: "fal",
        id: "764cabcf-b745-4b3e-ae38-1200304cf45b",
        endpoint: "fal-ai/veo3",
      },
      fields: {
        provider: "Connection that does the work.",
        id: "Id of the job, as the provider's submit call returned it.",
        endpoint: "Endpoint of the job, for providers whose jobs are polled by it.",
      },
    },
    answers: {
      200: jsonAnswer("the task; hooks that arrived earlier are applied now", Task, OPEN_TASK),
    },
    problems: ["unknown_task", "task_settled"],
  },
  listTasks: {
    audience: "client",
    summary: "List tasks from the index, newest first",
    request: {
      query: {
        ...LIST_PARAMETERS,
        limit: limit(200, 50),
        count: {
          description: "`true` only counts: the answer is `{count, is_capped}`.",
          example: false,
        },
      },
    },
    answers: {
      200: jsonAnswer(
        "one page; it may be short; next_cursor of the last one is null",
        z.union([pageOf(ListedTask), TaskCount]),
        { data: [LISTED_TASK], next_cursor: null },
        { Link: "sometimes" },
      ),
    },
    problems: ["index_disabled"],
  },
  readTask: {
    audience: "client",
    summary: "Read a task; ?wait=N or Prefer: wait=N waits up to N seconds until it is terminal",
    details:
      "With `If-None-Match` the wait ends as soon as the task differs from that version, e.g. by its progress. The operator also sees why an open task waits (`tracking`), and what the job of a finished one consumed (`usage`). The status token of the task, as `token` or as bearer token, needs no key; the answer is then a `TaskStatus`, which pages of any site may read, and a browser that opens the link gets a page.",
    request: {
      headers: ["If-None-Match", "Prefer"],
      query: {
        wait: {
          description: "Seconds to wait for the result; more than 60 counts as 60.",
          integer: { min: 0 },
        },
        token: STATUS_TOKEN,
      },
    },
    answers: {
      200: {
        ...jsonAnswer("the task; to a status token a TaskStatus", Task, COMPLETED_TASK, {
          ...LINKED,
          ETag: "always",
          Vary: "always",
          "Retry-After": "sometimes",
        }),
        forStatusToken: { schema: TaskStatus, example: TASK_STATUS },
      },
      304: emptyAnswer("unchanged: If-None-Match names the current version", {
        ...LINKED,
        ETag: "always",
        Vary: "always",
        "Retry-After": "sometimes",
      }),
    },
    problems: ["unknown_task"],
  },
  streamTask: {
    audience: "client",
    summary: "Follow a task: server-sent events until it is settled",
    details:
      "Each event is named `task`; its `id` is the version of the task, followed by a period and the progress where that is known, and its `data` is what reading the task returns to the same reader. A stream lasts 15 minutes at most, then browsers connect again; once the reader has the state of the settled task, the answer is 204, which ends that. The status token of the task, as `token` or as bearer token, needs no key.",
    request: { headers: ["Last-Event-ID"], query: { token: STATUS_TOKEN } },
    answers: {
      200: {
        description: "the present state, unless Last-Event-ID names it, and each change",
        content: {
          "text/event-stream": {
            schema: z.string(),
            example: `retry: 2000\n\nevent: task\nid: 1767225661204\ndata: ${JSON.stringify(TASK_STATUS)}\n\n`,
          },
        },
        headers: LINKED,
      },
      204: emptyAnswer("the task is settled and Last-Event-ID names its state", LINKED),
    },
    problems: ["unknown_task"],
  },
  redeliverTask: {
    audience: "client",
    summary: "Redeliver a settled callback, optionally to a corrected URL",
    details:
      "While the relay is paused, an order for a callback whose next attempt waits starts no further series: that attempt is sent after the pause, to the new URL if one is given; `callback.paused` says so. A task remembers the last eight keys of the operator and of its owner: under one of them nothing is sent again, and another `callback_url` than that of its order is refused with 422.",
    request: {
      headers: ["Idempotency-Key"],
      example: { attempts: 3, callback_url: "https://client.example.com/new-hook" },
      fields: {
        attempts: "Number of attempts, 1 by default.",
        callback_url: "URL that gets the callback from now on.",
      },
    },
    answers: {
      202: jsonAnswer(
        "a new series has started, or had started earlier under this Idempotency-Key",
        Task,
        COMPLETED_TASK,
        { "Idempotent-Replayed": "sometimes" },
      ),
    },
    problems: [
      "unknown_task",
      "task_open",
      "series_running",
      "no_callback",
      "idempotency_key_reused",
    ],
  },
  cancelTask: {
    audience: "client",
    summary: "Cancel an open task: it fails with code canceled and is refunded",
    details:
      "Where the provider of the task's job documents how, the job is canceled at the upstream first, in up to three calls; the answer waits at most 5 seconds for the outcome. After a confirmation the task fails. When the job had ended, its result counts, and the answer is `task_settled`. Otherwise the task goes on, and `cancel` says why: `asked` while the upstream is asked or has only taken the order, `refused`, or `unknown`; a later order asks again. Where nobody can be asked, the task of an operator's order fails at once, with `cancel.state` `not_sent`: a job that runs goes on. A key of an account cancels only what the account has submitted, and only where the upstream can be asked.",
    request: {
      example: {},
      query: {
        force: {
          description:
            "`true` fails and refunds the task at once, whatever becomes of its job. For operator keys only.",
          example: true,
        },
      },
    },
    answers: {
      200: jsonAnswer("the failed task", Task, CANCELED_TASK),
      202: jsonAnswer("the task, which goes on", Task, CANCELING_TASK),
    },
    problems: ["unknown_task", "task_settled", "submission_running", "not_cancelable"],
  },
  eraseTask: {
    audience: "client",
    summary: "Erase a settled task",
    answers: { 204: emptyAnswer("erased") },
    problems: ["unknown_task", "task_open", "series_running"],
  },
  deleteOutput: {
    audience: "client",
    summary: "Delete an output",
    details:
      "Its link opens nothing any more, and the relay's copy is deleted; the upstream's own link is not. The task stays as it is. An output that keeps the upstream's own link cannot be deleted.",
    answers: { 204: emptyAnswer("deleted") },
    problems: ["unknown_task", "not_found", "task_open"],
  },
  readOutput: {
    audience: "client",
    summary: "Read an output by its link",
    details:
      "Links in `output.urls` lead here where the relay keeps outputs; nobody else makes them, and they need no key. The relay serves its copy, whose type follows its first bytes; everything but videos, sound and plain images is sent to be saved. Before the copy is there, and after copying has failed, the answer is a redirect to the upstream's own link or, where this opens only with a key, what the upstream sends, until that link is dead too.",
    request: { headers: ["Range", "If-Range", "If-None-Match"] },
    answers: {
      200: { description: "the whole output", content: FILE, headers: { ...OUTPUT, ...RANGED } },
      206: {
        description: "the part that Range names",
        content: FILE,
        headers: { ...OUTPUT, ...RANGED, "Content-Range": "always" },
      },
      302: emptyAnswer("the upstream's own link", { ...OPEN, Location: "always" }),
      304: emptyAnswer("If-None-Match names the output", { ...OPEN, ...RANGED }),
      412: emptyAnswer("If-Match does not name the output", { ...OPEN, ...RANGED }),
      416: emptyAnswer("Range begins behind the end", {
        ...OPEN,
        ...RANGED,
        "Content-Range": "sometimes",
      }),
    },
    problems: ["not_found", "output_gone", "rate_limited", "not_configured", "unavailable"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
