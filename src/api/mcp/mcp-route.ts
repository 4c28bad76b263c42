import { wellFormedJson } from "../../core/json.ts";
import { log } from "../../lib/log.ts";
import { bodyReader, readJson } from "../http/body.ts";
import { contentToClient, eventsToClient } from "../http/client-stream.ts";
import { FOR_ANY_ORIGIN, orProblemWith } from "../http/cross-origin.ts";
import { problemFrom } from "../http/internal-error.ts";
import { linkOrigin } from "../http/link-origin.ts";
import { invalidRequest, problemMembers, refusalLine } from "../http/problem.ts";
import { PROBLEMS } from "../http/problem-list.ts";
import { type CheckedRequest, route } from "../http/route.ts";
import { loadMcpSdk } from "./load-mcp-sdk.ts";
import { toolOffersOf } from "../offers/offers-of-relay.ts";
import { mcpServer } from "./mcp-server.ts";
import { lacksTasks, TASKS_CAPABILITY } from "./task-capability.ts";

const WIRE = { method: "POST", path: "/mcp" } as const;
/**
 * Error code of JSON-RPC (https://www.jsonrpc.org/specification#error_object) for a message that is not JSON. The
 * constants after it are further codes of JSON-RPC and MCP.
 */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const MISSING_CAPABILITY = -32_021;
const ANSWER_TYPES = "application/json, text/event-stream";

/**
 * Headers that let pages of all sites, e.g. a chat or an MCP inspector, read a response. This is safe, because the API
 * key of the request is the only credential, and no browser adds it by itself.
 */
const FOR_PAGES = {
  ...FOR_ANY_ORIGIN,
  "Access-Control-Expose-Headers": "Retry-After, WWW-Authenticate, X-Request-Id",
};

/**
 * Route for clients of MCP, with the transport Streamable HTTP and without sessions
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports): each request contains one message and is
 * answered independently of others. The operation that a tool calls checks what the caller may do.
 */
const byKey = route({ id: "callTools", ...WIRE, access: "read" }, async (call) => {
  const { caller, request, env, runtime, isOriginProven, requireCurrent, trace } = call;
  const origin = linkOrigin(env, request);
  const read = await messageIn(call, origin);
  if (read instanceof Response) return read;
  const { message } = read;
  if (lacksTasks(message)) {
    const data = { requiredCapabilities: TASKS_CAPABILITY };
    return rpcError(400, MISSING_CAPABILITY, "The client does not declare tasks.", data);
  }
  const context = { env, runtime, origin: call.origin, isOriginProven, requireCurrent, trace };
  const [sdk, offers] = await Promise.all([loadMcpSdk(), toolOffersOf(caller, context)]);
  const handler = sdk.createMcpHandler(({ era }) =>
    mcpServer(sdk, era, { caller, context, origin, offers }),
  );
  return await asAnswer(await handler.fetch(headOf(request), { parsedBody: message }));
});

export const mcpRoute: typeof byKey = {
  ...byKey,
  // `Authorization` is the one header for which `*` does not stand. Clients send headers of the protocol (`Mcp-…`), among
  // them some for parameters of tools, and those that their users choose.
  crossOriginHeaders: "Authorization, *",
  handle: async (call) => {
    const answer = await orProblemWith(FOR_PAGES, byKey.handle(call));
    for (const [name, value] of Object.entries(FOR_PAGES)) answer.headers.set(name, value);
    return answer;
  },
};

/**
 * Returns a request for the MCP SDK, without its body. Its `Content-Type` is always JSON, because all routes read
 * bodies as JSON. An `Accept` header that accepts every type becomes one that names JSON and event streams, because the
 * SDK looks for these two names.
 */
function headOf({ url, method, headers: given, signal }: Request): Request {
  const headers = new Headers(given);
  headers.set("Content-Type", "application/json");
  if (/\*\/\*/.test(given.get("Accept") ?? "*/*")) headers.set("Accept", ANSWER_TYPES);
  return new Request(url, { method, headers, signal });
}

/**
 * Returns a response of the MCP SDK without its headers `Cache-Control` and `Connection`. The relay's own
 * `Cache-Control` then forbids browsers and proxies to store the response.
 */
async function asAnswer(answer: Response): Promise<Response> {
  const { body, status } = answer;
  const headers = new Headers(answer.headers);
  for (const name of ["Cache-Control", "Connection"]) headers.delete(name);
  if (body === null) return new Response(null, { status, headers });
  const isStream = headers.get("Content-Type")?.startsWith("text/event-stream") === true;
  const sent = isStream
    ? eventsToClient(body.values(), () => undefined)
    : contentToClient(await answer.text());
  return new Response(sent, { status, headers });
}

/**
 * Reads the MCP message in the body of a request.
 * @returns the error response to the request when the body contains no message.
 */
async function messageIn(
  { request, runtime }: CheckedRequest<never, object>,
  origin: string,
): Promise<{ readonly message: unknown } | Response> {
  try {
    const message = readJson(await bodyReader(request, runtime.config.maxBodyBytes)());
    // A list could submit many jobs in one request, past the limits that count requests.
    if (!Array.isArray(message)) return { message: wellFormedJson(message) };
    throw invalidRequest([{ path: "", message: "must be one message, not a list" }]);
  } catch (error) {
    const problem = problemFrom(error);
    log(refusalLine(problem, { via: "mcp", ...WIRE }), "info");
    const code = problem.code === "invalid_json" ? PARSE_ERROR : INVALID_REQUEST;
    const { status } = PROBLEMS[problem.code];
    return rpcError(status, code, problem.details.detail, problemMembers(problem, origin));
  }
}

/**
 * Returns the error response to a request whose message could not be read, or whose client does not declare a
 * capability that the message needs.
 */
function rpcError(status: number, code: number, message: string, data: object): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message, data } }, { status });
}
