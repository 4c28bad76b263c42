import * as z from "zod/mini";
import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

/** Headers of every response to a request with a link to an output, for the description of the API. */
const OPEN = { "Access-Control-Allow-Origin": "always" } as const;

const OUTPUT = { ...OPEN, "Content-Disposition": "always" } as const;

const RANGED = { "Accept-Ranges": "sometimes", ETag: "sometimes" } as const;

/** Body of a response that is a file of any type. */
const FILE = { "*/*": { schema: z.string(), example: "…" } } as const;

export const readOutputDescription = {
  audience: "client",
  summary: "Read an output by its link",
  details:
    "Links in `output.urls` lead here where the relay keeps outputs; nobody else makes them, and they need no key. The relay serves its copy, whose type follows its first bytes; everything but videos, sound and plain images is sent to be saved, and with `?download` these too. Before the copy is there, and after copying has failed, the answer is a redirect to the upstream's own link or, where this opens only with a key, what the upstream sends, until that link is dead too.",
  request: { headers: ["Range", "If-Range", "If-None-Match"] },
  answers: {
    200: { description: "the whole output", content: FILE, headers: { ...OUTPUT, ...RANGED } },
    206: {
      description: "the part that Range names",
      content: FILE,
      headers: { ...OUTPUT, ...RANGED, "Content-Range": "always" },
    },
    302: emptyAnswer("the upstream's own link, or this link at OUTPUTS_URL", {
      ...OPEN,
      Location: "always",
    }),
    304: emptyAnswer("If-None-Match names the output", { ...OPEN, ...RANGED }),
    412: emptyAnswer("If-Match does not name the output", { ...OPEN, ...RANGED }),
    416: emptyAnswer("Range begins behind the end", {
      ...OPEN,
      ...RANGED,
      "Content-Range": "sometimes",
    }),
  },
  problems: ["not_found", "output_gone", "rate_limited", "not_configured", "unavailable"],
} as const satisfies RouteDescription;
