import * as z from "zod/mini";
import { CALLBACK_EVENTS } from "../../core/record/callback-events.ts";
import { ACCOUNT } from "../accounts/accounts.openapi.ts";
import { PUBLIC_KEY, SECRET } from "../callbacks/signing-secrets.openapi.ts";
import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, described, named, Time } from "../shapes/described.ts";

const Endpoint = named(
  "Endpoint",
  z.strictObject({
    name: z.string(),
    url: z.string(),
    headers: described(
      z.array(z.string()),
      "Names of the headers that are sent with each callback. Their values are never shown.",
    ),
    schedule_s: described(
      z.nullable(z.array(Count)),
      "Waits before the attempts, in seconds. Null: `CALLBACK_SCHEDULE_S` decides.",
    ),
    events: described(z.array(z.enum(CALLBACK_EVENTS)), "Events that it is told of."),
    own_secret: described(
      z.boolean(),
      "Whether a secret of its own signs its callbacks, and not that of the account or the relay.",
    ),
    created_at: Time,
    changed_at: described(Time, "Time of the last change or rotation of its secret."),
  }),
  "A named receiver of callbacks.",
);

const EndpointSecrets = named(
  "EndpointSecrets",
  z.strictObject({
    generation: described(z.int(), "Number of the newest secret; each rotation raises it."),
    callbacks: described(z.array(z.string()), "Secrets of the `v1` signatures, newest first."),
    public_keys: described(z.array(z.string()), "Public keys of the `v1a` signatures."),
  }),
  "The secrets that an endpoint with secrets of its own verifies callbacks with.",
);

const ENDPOINT: z.output<typeof Endpoint> = {
  name: "orders",
  url: "https://client.example.com/orders",
  headers: ["Authorization"],
  schedule_s: [0, 60, 3_600],
  events: ["completed", "failed"],
  own_secret: false,
  created_at: ACCOUNT.created_at,
  changed_at: ACCOUNT.created_at,
};
const LIST = { data: [ENDPOINT] };
const SECRETS = { generation: 2, callbacks: [SECRET, SECRET], public_keys: [PUBLIC_KEY] };

const SETTINGS = {
  example: {
    url: ENDPOINT.url,
    headers: { Authorization: "Bearer 3q2-7w" },
    schedule_s: [0, 60, 3_600],
  },
  fields: {
    url: "URL that gets the callbacks: https, and no private address.",
    headers:
      "Headers that are sent with each callback, by name: at most 8, each of at most 4,096 characters, and none that the relay or the connection sets. The values are stored encrypted.",
    keep_headers:
      "`true`: the endpoint keeps the headers that it has. Without it `headers` replaces them. Only while `url` stays as it is.",
    schedule_s:
      "Waits before the attempts, as `callback_schedule_s` of a task, which takes precedence. Without it `CALLBACK_SCHEDULE_S` decides.",
    events: "Events that it is told of: `completed` and `failed` by default, and `progress`.",
    own_secret: "`true`: callbacks are signed with a secret of the endpoint's own.",
  },
} as const;
const REPLACES =
  "The body replaces the endpoint as a whole, also its headers unless it keeps them. It holds for tasks that are created from then on, the one named `default` within about a minute; tasks that exist keep what they have. At most 20 endpoints.";
const ROTATION = {
  example: { generation: 1 },
  fields: {
    generation:
      "Newest generation that the caller has seen, so that a repeated request rotates once.",
  },
} as const;
const put = {
  200: jsonAnswer("replaced", Endpoint, ENDPOINT),
  201: jsonAnswer("created", Endpoint, ENDPOINT),
};
const read = { 200: jsonAnswer("the endpoint", Endpoint, ENDPOINT) };
const list = {
  200: jsonAnswer("the endpoints, by name", z.strictObject({ data: z.array(Endpoint) }), LIST),
};
const secrets = { 200: jsonAnswer("the secrets, newest first", EndpointSecrets, SECRETS) };

export const listAccountEndpointsDescription = {
  audience: "client",
  summary: "List the endpoints of an account: named receivers of callbacks",
  answers: list,
  problems: [],
} as const satisfies RouteDescription;

export const readAccountEndpointDescription = {
  audience: "client",
  summary: "Read an endpoint of an account, without the values of its headers",
  answers: read,
  problems: [],
} as const satisfies RouteDescription;

export const putAccountEndpointDescription = {
  audience: "client",
  summary: "Create or replace an endpoint of an account",
  details: REPLACES,
  request: SETTINGS,
  answers: put,
  problems: ["endpoints_full"],
} as const satisfies RouteDescription;

export const deleteAccountEndpointDescription = {
  audience: "client",
  summary: "Delete an endpoint of an account; tasks that have it keep their copy",
  answers: { 204: emptyAnswer("deleted, or not there") },
  problems: [],
} as const satisfies RouteDescription;

export const readAccountEndpointSecretsDescription = {
  audience: "client",
  summary: "Read the secrets that an endpoint with secrets of its own verifies callbacks with",
  answers: secrets,
  problems: [],
} as const satisfies RouteDescription;

export const rotateAccountEndpointSecretsDescription = {
  audience: "operator",
  summary:
    "Create a new secret of an endpoint; callbacks are still signed with the previous one too",
  request: ROTATION,
  answers: secrets,
  problems: [],
} as const satisfies RouteDescription;

export const listRelayEndpointsDescription = {
  audience: "operator",
  summary: "List the relay's own endpoints, for tasks without an account",
  answers: list,
  problems: [],
} as const satisfies RouteDescription;

export const readRelayEndpointDescription = {
  audience: "operator",
  summary: "Read an endpoint of the relay, without the values of its headers",
  answers: read,
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const putRelayEndpointDescription = {
  audience: "operator",
  summary: "Create or replace an endpoint of the relay, for tasks without an account",
  details: REPLACES,
  request: SETTINGS,
  answers: put,
  problems: ["endpoints_full"],
} as const satisfies RouteDescription;

export const deleteRelayEndpointDescription = {
  audience: "operator",
  summary: "Delete an endpoint of the relay; tasks that have it keep their copy",
  answers: { 204: emptyAnswer("deleted, or not there") },
  problems: [],
} as const satisfies RouteDescription;

export const readRelayEndpointSecretsDescription = {
  audience: "operator",
  summary: "Read the secrets that an endpoint of the relay with secrets of its own verifies with",
  answers: secrets,
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const rotateRelayEndpointSecretsDescription = {
  audience: "operator",
  summary: "Create a new secret of an endpoint of the relay; the previous one still signs too",
  request: ROTATION,
  answers: secrets,
  problems: ["not_found"],
} as const satisfies RouteDescription;
