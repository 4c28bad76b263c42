import * as z from "zod/mini";
import { at } from "../../providers/json-fields.ts";
import { CallbackEventList } from "../callbacks/callback-event-list.ts";
import { isReservedHeader } from "../../security/reserved-headers.ts";
import { CallbackSchedule } from "../callbacks/callback-schedule.ts";
import { optional, withDefault } from "../http/fields.ts";

const MAX_HEADERS = 8;
const MAX_VALUE_CHARS = 4096;
const NAME_FAULT = "must have a name of a header, of at most 100 characters";
/** Pattern of the name of a header. */
export const HEADER_NAME = /^[A-Za-z0-9][\w!#$%&'*+.^`|~-]{0,99}$/;
/** Pattern of a value: printable ASCII without blanks at its ends, which are no part of a header's value. */
const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

/** Schema of the headers of an endpoint, by name. No message quotes a value, which is a secret. */
const EndpointHeaders = z.pipe(
  z.unknown().check(
    // The schema of a record drops a member with this name and reports no issue.
    z.refine((headers) => at(headers, "__proto__") === undefined, {
      path: ["__proto__"],
      message: NAME_FAULT,
    }),
  ),
  z.record(z.string(), z.string()).check(
    z.refine((headers) => Object.keys(headers).length <= MAX_HEADERS, {
      message: `must be at most ${MAX_HEADERS} headers`,
      abort: true,
    }),
    z.refine(areNamesUnique, "must not repeat a name, also not in another case"),
    ({ value, issues }) => {
      for (const [name, text] of Object.entries(value)) {
        const message = headerFault(name, text);
        if (message !== null) issues.push({ code: "custom", path: [name], message, input: "" });
      }
    },
  ),
);

/**
 * Body of `PUT …/endpoints/{endpoint}`, which replaces an endpoint as a whole. Only its headers may stay, because nobody
 * can read their values to send them again.
 */
export const EndpointSettings = z
  .strictObject({
    url: z.string(),
    headers: withDefault(EndpointHeaders, {}),
    keep_headers: withDefault(z.boolean(), false),
    schedule_s: optional(CallbackSchedule),
    events: withDefault(CallbackEventList, ["completed", "failed"]),
    own_secret: withDefault(z.boolean(), false),
  })
  .check(
    z.refine(
      ({ headers, keep_headers: keepsHeaders }) =>
        !keepsHeaders || Object.keys(headers).length === 0,
      { path: ["keep_headers"], message: "must not be true beside headers" },
    ),
  );

/** Returns what is wrong with a header. Null when nothing is. */
function headerFault(name: string, value: string): string | null {
  if (!HEADER_NAME.test(name)) return NAME_FAULT;
  if (isReservedHeader(name)) return "must not have this name: the relay or the connection sets it";
  if (value.length > MAX_VALUE_CHARS) return `must be at most ${MAX_VALUE_CHARS} characters`;
  return HEADER_VALUE.test(value) ? null : "must be printable ASCII without blanks at its ends";
}

function areNamesUnique(headers: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return new Set(names).size === names.length;
}
