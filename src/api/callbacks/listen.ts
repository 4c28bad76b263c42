import { listenersObject, profileObject } from "../../objects/object-names.ts";
import { keyName } from "../../security/operator-key-hashes.ts";
import { accountOf, keyNameOf } from "../../objects/task/caller.ts";
import { unauthenticated } from "../http/auth.ts";
import { callObject } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { type CheckedRequest, route } from "../http/route.ts";

export const listen = route(
  {
    id: "listen",
    method: "GET",
    path: "/v1/listen",
    access: "listen",
    rateLimit: "LIMIT_LISTS",
  },
  connectListener,
);

/**
 * Connects a listener (a program that receives the callbacks of its account over a WebSocket) to the Durable Object
 * that holds the WebSockets of this account.
 * @throws Problem `not_found` when the relay accepts no listeners or the caller has no account; `invalid_request` when
 * the request does not ask for a WebSocket; `unauthenticated` when the key was revoked a short time ago.
 */
async function connectListener({
  request,
  env,
  runtime,
  caller,
}: CheckedRequest<never, unknown>): Promise<Response> {
  const account = accountOf(caller);
  if (account === null || !runtime.config.isListenOn) {
    throw new Problem("not_found", {
      detail: "This relay takes no listeners: LISTEN is not true.",
    });
  }
  if (request.method !== "GET" || request.headers.get("Upgrade")?.toLowerCase() !== "websocket") {
    const message = "must be websocket: npm run listen is a program that listens";
    throw invalidRequest([{ path: "/Upgrade", message }]);
  }
  const key = keyNameOf(caller) ?? "";
  const headers = { Upgrade: "websocket", "Key-Name": key };
  const { webSocket } = await callObject(() =>
    listenersObject(env, account).fetch(LISTENER_URL, { headers }),
  );
  // The owner of the key may have come from a cache. A revocation that this list does not show yet finds the
  // WebSocket and closes it.
  const keys = await callObject(() => profileObject(env, account).keys());
  if (keys?.some(({ sha256 }) => keyName(sha256) === key) !== true) {
    await callObject(() => listenersObject(env, account).closeListeners(key));
    throw unauthenticated("The key was revoked.");
  }
  return new Response(null, { status: 101, webSocket });
}

/**
 * URL of the request with which the Durable Object of an account's listeners gets a WebSocket. The object ignores the
 * URL, because it gets no other requests.
 */
const LISTENER_URL = "https://relay/v1/listen";
