import { OPERATOR_ROLES } from "../../security/roles.ts";
import type { Descriptions } from "./description.ts";

/** Descriptions of the variables of the index, the log, operator events and Cloudflare Access. */
export const OPERATOR_VARIABLES = {
  LOG: {
    fallback: "normal",
    values: ["normal", "all"],
    meaning: "`all` logs every step of a task and every refused request; see [the log](#the-log)",
  },
  INDEX_RETENTION_DAYS: {
    fallback: "7",
    values: { min: 1, max: 365, unit: "days" },
    meaning:
      "how long a settled task stays in the [index](index.md); at most `RETENTION_DAYS`, which is the default where it is less than 7 days. A task whose callback failed stays for `RETENTION_DAYS`",
  },
  INDEX_SHARD_HOURS: {
    fallback: null,
    values: { min: 1, max: 8760, unit: "hours" },
    meaning:
      "required with `INDEX_DB_1`: hours of creation times that one database of the index takes before the next one does",
  },
  OPERATOR_CALLBACK_URL: {
    fallback: null,
    values: "URL",
    meaning:
      "receives [operator events](index.md#operator-events): failed callbacks, failing hosts, late refunds, refused keys; signed with the `operator` secret of `GET /v1/signing-secrets`",
  },
  OPERATOR_EVENTS: {
    fallback: null,
    without: "all",
    values: "types, space-separated",
    meaning:
      "the types of [operator events](index.md#operator-events) that are sent; events about a task that are not chosen when they happen are not sent later either",
  },
  OPERATOR_CALLBACK_FORMAT: {
    fallback: "standard",
    values: ["standard", "slack"],
    meaning:
      "`slack` posts a short text to an incoming webhook of Slack or a chat that takes the same, such as Mattermost, Rocket.Chat or, with `/slack` at the end of the URL, Discord. The URL of such a webhook is a secret: set `OPERATOR_CALLBACK_URL` as one, not under `[vars]`",
  },
  OPERATOR_DIGEST_MINUTES: {
    fallback: null,
    values: { min: 1, max: 1440, unit: "minutes" },
    meaning:
      "gathers the operator events `callback.failed` of a host for so long into [one event](index.md#operator-events)",
  },
  SILENCE_MINUTES: {
    fallback: null,
    values: { min: 1, max: 10_080, unit: "minutes" },
    meaning:
      "sends the operator event `events.silent` when no task has ended for so long; needs the index",
  },
  ACCESS_TEAM: {
    fallback: null,
    values: "name of the team",
    meaning:
      "with `ACCESS_AUD`: users whom Cloudflare Access lets through are operators in the [console](console.md#cloudflare-access)",
  },
  ACCESS_AUD: {
    fallback: null,
    values: "AUD tag of the application",
    meaning: "required with `ACCESS_TEAM`",
  },
  ACCESS_ROLE: {
    fallback: "read",
    values: OPERATOR_ROLES,
    meaning: "role of the users of Cloudflare Access",
  },
} as const satisfies Descriptions;
