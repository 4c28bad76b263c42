import { hostOf } from "../../core/url.ts";
import { invalidRequest } from "../http/problem.ts";

/** Characters that end the host in a URL, or stand for many hosts. */
const NOT_IN_HOST = /[\s/\\?#@*]/;

/**
 * Returns a receiver's host as callbacks to it have it (`hostOf`): in lower case, with the port unless it is that of the
 * scheme.
 * @param name the host as a caller has written it in a path.
 * @throws Problem `invalid_request` for a text that is not one host.
 */
export function requireHost(name: string): string {
  const host = NOT_IN_HOST.test(name) ? null : hostOf(`https://${name}`);
  if (host !== null) return host;
  throw invalidRequest([{ path: "/host", message: "must be a host, e.g. client.example.com" }]);
}
