import * as z from "zod/mini";
import { type Answer, emptyAnswer, type RouteDescription } from "./description.ts";

/** Headers of an answer with an output or a part of it. */
const SENT = {
  "Access-Control-Allow-Origin": "always",
  "Accept-Ranges": "sometimes",
  "Content-Disposition": "always",
  ETag: "sometimes",
} as const satisfies Answer["headers"];
const OPEN = { "Access-Control-Allow-Origin": "always" } as const satisfies Answer["headers"];
const BYTES: Answer["content"] = { "*/*": { schema: z.string(), example: "" } };

/** Routes about the outputs of a task, i.e. the files that it has generated. */
export const OUTPUT_ROUTES = {
  readOutput: {
    audience: "client",
    summary: "Open an output by its link",
    details:
      "The link is one of `output.urls` and opens this output until `outputs[].expires_at`. The relay's copy is sent with its length and `ETag`; while there is no copy, the answer leads to the upstream's own link, or passes on what the upstream sends where that link needs a key. The type follows the first bytes: browsers show videos, audio, PNG, JPEG, WebP, GIF and AVIF, and save everything else. Pages of all sites may show and read the answer. At most 120 requests a minute for the outputs of one task are answered to one address (`LIMIT_LINKS`).",
    request: { headers: ["Range", "If-Range", "If-None-Match"] },
    answers: {
      200: { description: "the output", content: BYTES, headers: SENT },
      206: {
        description: "the part of the output that Range asks for",
        content: BYTES,
        headers: { ...SENT, "Content-Range": "always" },
      },
      302: emptyAnswer("there is no copy yet: the upstream's own link", {
        ...OPEN,
        Location: "always",
      }),
      304: emptyAnswer("unchanged: If-None-Match names the copy", { ...OPEN, ETag: "always" }),
      412: emptyAnswer("If-Match names another copy", { ...OPEN, ETag: "always" }),
      416: emptyAnswer("Range begins behind the end of the output", {
        ...OPEN,
        "Content-Range": "sometimes",
      }),
    },
    problems: ["not_found", "output_gone", "rate_limited", "not_configured", "unavailable"],
  },
  deleteOutput: {
    audience: "client",
    summary: "Delete an output",
    details:
      "Its link opens nothing any more, and the relay's copy is deleted; the upstream's own link is not. The task stays as it is. An output that keeps the upstream's own link cannot be deleted.",
    answers: { 204: emptyAnswer("deleted") },
    problems: ["unknown_task", "not_found", "task_open"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
