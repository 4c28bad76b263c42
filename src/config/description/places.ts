import { JURISDICTIONS, LOCATION_HINTS } from "../placement.ts";
import { type Descriptions, FLAG } from "./description.ts";

/**
 * Descriptions of the variables about places: the public URL of the relay, the region in which its data is
 * stored, and the addresses to which it may send requests.
 */
export const PLACE_VARIABLES = {
  PUBLIC_URL: {
    fallback: null,
    without: "origin of the request",
    values: "URL without a path",
    meaning:
      "public origin of the relay, used in `hook_url` and links; a `callback_url` on its host is refused. Set it wherever the relay runs for others: without it all three follow the `Host` header, which outside Cloudflare any caller may choose. `npm start` sets it to the address that it prints, unless `.dev.vars` or `--var` sets it",
  },
  JURISDICTION: {
    fallback: null,
    values: JURISDICTIONS,
    meaning:
      "every object is kept in that jurisdiction. Decide before the first task: each jurisdiction has objects of its own, so that tasks stored outside it could not be found. The relay notes the value at its first request and afterwards refuses any other. Builds before this variable noted nothing: a relay that has tasks of such a build must answer one request, such as `GET /healthz`, with the present build before `JURISDICTION` is ever set, so that it can refuse; set at once, the variable would hide those tasks",
  },
  LOCATION_HINT: {
    fallback: null,
    without: "near the caller that creates the object",
    values: LOCATION_HINTS,
    meaning:
      "region near which new objects are created. It may change at any time and moves no existing object",
  },
  ALLOW_LOCAL_CALLBACKS: {
    ...FLAG,
    meaning:
      "development only: allows http and loopback in `callback_url`, loopback IP addresses such as 127.0.0.1 included, and loopback base URLs of providers, for [integration tests](providers.md#through-a-proxy-and-in-tests)",
  },
  ALLOW_IP_CALLBACKS: {
    ...FLAG,
    meaning:
      "allows public IP addresses in `callback_url`, and any IP address in `SETTLEMENT_URL` and `OPERATOR_CALLBACK_URL`. For your own workerd only: Cloudflare refuses a Worker's requests to IP addresses (error 1003), so there they are refused at registration and before each attempt",
  },
  EXTRA_BASE_HOSTS: {
    fallback: null,
    values: "`host[:port]`, space-separated",
    meaning:
      "hosts of proxies and AI gateways that the base URL of any provider may name too, by https only: see [providers.md](providers.md#through-a-proxy-and-in-tests)",
  },
} as const satisfies Descriptions;
