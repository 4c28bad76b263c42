import type { Route } from "../../src/api/http/route.ts";
import { PERMISSIONS } from "../../src/security/roles.ts";

const SIGNED_TEXT = "the text `webhook-id`.`webhook-timestamp`.body";

/** The credentials of requests to the relay, and the signatures of the requests that it sends. */
export const SECURITY_SCHEMES = {
  operatorKey: {
    type: "http",
    scheme: "bearer",
    description: "An operator key, one of `OPERATOR_KEYS`. Its role decides what it permits.",
  },
  accountKey: {
    type: "http",
    scheme: "bearer",
    description: "An API key of an account, with the role `read` or `full`.",
  },
  statusToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The status token of a task, from its `status_url`; also as the parameter `token`. It opens that task until it expires, and nothing else.",
  },
  eventSignature: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: `Standard Webhooks signature of an event: \`v1,\` and the base64 of the HMAC-SHA256 of ${SIGNED_TEXT}, with the events secret, within 300 seconds.`,
  },
  signatureV1: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: `Symmetric signature of a request that the relay sends (Standard Webhooks): \`v1,\` and the base64 of the HMAC-SHA256 of ${SIGNED_TEXT}. The header has one for every active secret, separated by spaces; one that fits is enough. Refuse a \`webhook-timestamp\` more than 300 seconds from now.`,
  },
  signatureV1a: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: `Asymmetric signature of a callback (Standard Webhooks): \`v1a,\` and the base64 of the Ed25519 signature of ${SIGNED_TEXT}, for every key of \`/.well-known/jwks.json\`, in the same header beside the \`v1\` signatures.`,
  },
} as const;

type Protection = Pick<Route, "access" | "takesStatusToken">;
type Requirement = Partial<Record<keyof typeof SECURITY_SCHEMES, string[]>>;

/** Returns the credentials of which a route requires one; none for a route that anyone may call. */
export function securityOf({ access, takesStatusToken }: Protection): Requirement[] {
  if (access === "anyone") return [];
  return [
    ...(PERMISSIONS[access].operators.length > 0 ? [{ operatorKey: [] }] : []),
    ...(PERMISSIONS[access].accounts.length > 0 ? [{ accountKey: [] }] : []),
    ...(takesStatusToken === true ? [{ statusToken: [] }] : []),
    ...(access === "report" ? [{ eventSignature: [] }] : []),
  ];
}

/** Says in words which keys may call a route. */
export function accessText({ access }: Protection): string {
  if (access === "anyone") return "Needs no key.";
  const { operators, accounts } = PERMISSIONS[access];
  const keys = [
    ...(operators.length > 0 ? [`operator keys with the role ${anyOf(operators)}`] : []),
    ...(accounts.length > 0 ? [`account keys with the role ${anyOf(accounts)}`] : []),
  ];
  return `Permitted to ${keys.join(", and to ")}.`;
}

function anyOf(roles: readonly string[]): string {
  return roles.map((role) => `\`${role}\``).join(" or ");
}
