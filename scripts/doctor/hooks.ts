import { randomUUID } from "node:crypto";
import * as z from "zod";
import { type Finding, ok, problem } from "./finding.ts";
import { layerOf } from "./layers.ts";
import { type Answer, isOfRelay, NoAnswer, type Relay } from "./relay.ts";

const Problem = z.looseObject({ code: z.string() });
/**
 * Body of the hook that `npm run doctor` posts as a test. It looks like the one of a provider, with a prompt,
 * so that a firewall in front of the relay treats it like a real hook.
 */
const HOOK = {
  id: "doctor",
  status: "succeeded",
  prompt: "A cat <b>and</b> a dog; select a colour from the table of colours, then run.",
  content: { video_url: "https://cdn.example.com/doctor.mp4" },
};

/**
 * Posts a hook for a task that does not exist, without a key. When the relay itself answers 404, hooks reach
 * it; otherwise something in front of it stops them.
 */
export async function hookFinding(relay: Relay): Promise<Finding> {
  try {
    const path = `/hooks/doctor/${randomUUID()}/x`;
    return hookFindingOf(await relay.askUnauthenticated(path, HOOK));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const cure = "check the firewall in front of the relay: other requests are answered";
    return problem(`hooks: ${error.message}`, cure);
  }
}

/**
 * Converts the answer to the test hook to a result that `npm run doctor` prints: that hooks reach the relay,
 * or the problem and how to solve it.
 */
function hookFindingOf(answer: Answer): Finding {
  if (!isOfRelay(answer)) {
    const { name, cure } = layerOf(answer);
    return problem(`hooks: answered with ${answer.status} by ${name}, not by the relay`, cure);
  }
  const code = Problem.safeParse(answer.json).data?.code;
  if (answer.status === 404 && code === "unknown_task") return ok("hooks: reach the relay");
  return problem(
    `hooks: the relay answered ${answer.status} ${code ?? ""}`.trim(),
    "look the code up in docs/errors.md",
  );
}
