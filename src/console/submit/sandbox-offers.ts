import { putOffer } from "../../api/offers/change-offer.ts";
import { Problem } from "../../api/http/problem.ts";
import type { Config } from "../../config/config.ts";
import { canKeepAnswers } from "../../config/output-config.ts";
import { may } from "../../objects/task/caller.ts";
import { seeOther } from "../http/html-answer.ts";
import { formAction, type ViewerVisit } from "../http/page.ts";

/** Path of the form that offers what the sandbox simulates. */
export const OFFER_SANDBOX = "/sandbox/offers";

const PROMPT = { type: "string", title: "Prompt", examples: ["a fox in the snow"] };

const VIDEO = {
  title: "Video of the sandbox",
  description: "A simulated job. It costs what a real one would, and needs no upstream.",
  connection: "sandbox",
  path: "/jobs",
  models: ["sandbox/ok"],
  price: { credits: 60 },
  body: {
    type: "object",
    properties: {
      prompt: PROMPT,
      duration: { type: "integer", title: "Duration in seconds", enum: [5, 10], default: 5 },
      resolution: { type: "string", title: "Resolution", enum: ["480p", "720p"], default: "720p" },
    },
    required: ["prompt"],
  },
};

const PICTURE = {
  title: "Picture of the sandbox",
  description: "A simulated picture, which takes 20 seconds.",
  connection: "sandbox",
  path: "/images/generations",
  models: ["sandbox/image"],
  price: { credits: 5 },
  body: { type: "object", properties: { prompt: PROMPT }, required: ["prompt"] },
};

/** Tells whether the viewer may offer what the sandbox simulates. */
export function mayOfferSandbox({ viewer, runtime: { config } }: ViewerVisit<unknown>): boolean {
  return may(viewer, "administer") && config.offers === null && config.connections.has("sandbox");
}

/** Stores offers of the sandbox, and redirects to the page with all offers. An offer that exists is kept. */
export const offerSandbox = formAction(
  "offerSandbox",
  OFFER_SANDBOX,
  "administer",
  async (visit) => {
    for (const [name, body] of offersFor(visit.runtime.config)) {
      const given = { params: { name }, query: { if_none_match: "*" }, body };
      await putOffer.perform(given, visit.viewer, visit).catch(acceptExisting);
    }
    return seeOther("/submit");
  },
);

/** Returns the offers, with that of pictures where the relay can keep them. */
function offersFor(config: Config) {
  const pictures = canKeepAnswers(config) ? [["sandbox-picture", PICTURE] as const] : [];
  return [...pictures, ["sandbox-video", VIDEO] as const];
}

function acceptExisting(error: unknown): void {
  if (!(error instanceof Problem) || error.code !== "offer_changed") throw error;
}
