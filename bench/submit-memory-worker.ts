import { editBody, type ScannedBody, scanBody } from "../src/api/submit/json-body.ts";
import { hasPromptParameters } from "../src/providers/shared/prompt-parameters.ts";

// Classes of objects that the harness binds; nothing calls them.
export * from "./startup/bare-worker.ts";

const MEMBERS = ["/model", "/metadata/callback_url", "/metadata/id"];
const HOOK = "https://relay.example.com/hooks/0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4";
/** Times that the body is read. All results are kept: they would fill the heap if they held the text. */
const READS = 4;

/**
 * Worker that reads a JSON body as the relay reads that of an account's submission to Ark, and sets a member in it, several times.
 * Answers with the number of the bytes then, and with the model.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method === "GET") return new Response("ok");
    const bytes = new Uint8Array(await request.arrayBuffer());
    const results = Array.from({ length: READS }, () => read(bytes));
    const found = results.map(({ body }) => body.members.get("/model"));
    const models = new Set(found.map((each) => each?.kind === "scalar" && each.value));
    return Response.json({ length: results[0]?.length, models: [...models] });
  },
};

function read(bytes: Uint8Array): { readonly body: ScannedBody; readonly length: number } {
  const scanned = scanBody(bytes, MEMBERS);
  if (!scanned.ok) throw new Error(scanned.error.message);
  if (hasPromptParameters(new TextDecoder().decode(bytes))) throw new Error("a parameter is found");
  const texts = new Map([["/metadata/callback_url", HOOK]]);
  const parts = editBody(bytes, scanned.value, texts);
  if (!parts.ok) throw new Error(parts.error.message);
  return { body: scanned.value, length: parts.value.reduce((sum, part) => sum + part.length, 0) };
}
