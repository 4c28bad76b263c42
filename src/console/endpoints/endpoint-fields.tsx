import { CALLBACK_EVENTS } from "../../core/record/callback-events.ts";
import { scheduleIn } from "../../api/callbacks/callback-schedule.ts";
import { HEADER_NAME } from "../../api/endpoints/endpoint-schemas.ts";
import { invalidRequest } from "../../api/http/problem.ts";
import type { StoredEndpoint } from "../../objects/account/endpoint-store.ts";
import type { FormFault } from "../http/forms.ts";
import { described, Field, Issue, Select, TextField } from "../parts/field.tsx";
import { typedSchedule } from "./schedule-drawing.tsx";

/** Names of the fields of the form of an endpoint; each is the place of its value in the request of the API. */
export const ENDPOINT_FIELDS = [
  "name",
  "url",
  "headers",
  "keep_headers",
  "schedule_s",
  "events",
  "own_secret",
];

interface EndpointFieldsProps {
  readonly state: FormFault;
  /** The endpoint as it is stored; null for a new one. */
  readonly stored: StoredEndpoint | null;
  /** Words for the owner of the endpoint, e.g. `the relay`, whose secret signs unless the endpoint has one of its own. */
  readonly owner: string;
}

/** The fields of the form of an endpoint. */
export function EndpointFields({ state, stored, owner }: EndpointFieldsProps) {
  return (
    <>
      {stored === null ? (
        <Field
          label="Name"
          name="name"
          fault={state}
          required
          maxlength={40}
          hint={
            <>
              At most 40 of a-z 0-9 -. Tasks name it, <code>endpoint:NAME</code>; those that name no
              receiver get <code>default</code>.
            </>
          }
        />
      ) : null}
      <Field label="URL" name="url" type="url" fault={state} required />
      <EventChecks state={state} />
      <Field
        label="Waits before the attempts, in seconds"
        name="schedule_s"
        fault={state}
        hint={
          <>
            Like <code>0, 180, 600</code>, at most ten, or <code>day</code> for eight attempts over
            more than a day. Empty: the waits of the relay.
          </>
        }
      />
      <HeaderFields state={state} names={stored?.headers?.names ?? []} />
      <Select
        label="Signed with"
        name="own_secret"
        fault={state}
        options={[
          ["", `the secret of ${owner}`],
          ["true", "a secret of its own"],
        ]}
        hint={
          stored?.secret == null
            ? "Its own secret is shown here once the endpoint is stored."
            : `To choose the secret of ${owner} deletes its own for good.`
        }
      />
    </>
  );
}

function EventChecks({ state: { typed, issues } }: Pick<EndpointFieldsProps, "state">) {
  const chosen = typed.getAll("events");
  const issue = issues.get("events");
  return (
    <div class="field">
      <fieldset class="checks" {...described("events", issue, undefined)}>
        <legend>Told of</legend>
        {CALLBACK_EVENTS.map((event) => (
          <label>
            <input type="checkbox" name="events" value={event} checked={chosen.includes(event)} />{" "}
            {event}
          </label>
        ))}
      </fieldset>
      <Issue id="events" issue={issue} />
    </div>
  );
}

/** The fields for the headers of an endpoint. Stored headers are kept or replaced, all together. */
function HeaderFields(props: Pick<EndpointFieldsProps, "state"> & { names: readonly string[] }) {
  const { state, names } = props;
  const form = (
    <>
      One a line, like <code>Authorization: Bearer 3q2-7w</code>, at most eight. The values are
      stored encrypted and never shown, not even when this form is refused.
    </>
  );
  if (names.length === 0) {
    return <TextField label="Headers" name="headers" rows={2} fault={state} hint={form} />;
  }
  return (
    <>
      <Select
        label="Headers"
        name="keep_headers"
        fault={state}
        options={[
          ["true", `keep ${names.join(", ")}`],
          ["", "replace all of them by those below"],
        ]}
        hint="They can stay only while the URL does, because nobody can read their values."
      />
      <TextField
        label="New headers"
        name="headers"
        rows={2}
        fault={state}
        hint={<>{form} When they replace the others and are empty, the endpoint has none.</>}
      />
    </>
  );
}

/** Returns the typed values with which the form shows an endpoint, or begins a new one. */
export function typedEndpoint(stored: StoredEndpoint | null): URLSearchParams {
  const typed = new URLSearchParams();
  for (const event of stored?.events ?? ["completed", "failed"]) typed.append("events", event);
  if (stored === null) return typed;
  const { url, scheduleMs, headers, secret } = stored;
  typed.set("url", url);
  typed.set("schedule_s", scheduleMs === null ? "" : typedSchedule(scheduleMs));
  typed.set("keep_headers", headers === null ? "" : "true");
  typed.set("own_secret", secret === null ? "" : "true");
  return typed;
}

/**
 * Returns the endpoint that was typed into the form, as the body of a request of the API, which checks it.
 * @throws Problem `invalid_request` when a line is no header, and when two have the same name.
 */
export function endpointIn(form: URLSearchParams) {
  const schedule = (form.get("schedule_s") ?? "").trim();
  return {
    url: (form.get("url") ?? "").trim(),
    headers: Object.fromEntries(headersIn(form)),
    keep_headers: form.get("keep_headers") === "true",
    ...(schedule !== "" && { schedule_s: scheduleIn(schedule, secondsIn) }),
    events: form.getAll("events"),
    own_secret: form.get("own_secret") === "true",
  };
}

function secondsIn(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function headersIn(form: URLSearchParams): readonly (readonly [name: string, value: string])[] {
  const headers = linesOf(form).map((line, at) => {
    const [name, value] = parted(line);
    if (value !== null) return [name, value] as const;
    throw invalidHeaders(`line ${at + 1} must be a name, a colon and a value`);
  });
  const names = new Set(headers.map(([name]) => name));
  if (names.size === headers.length) return headers;
  throw invalidHeaders("must not repeat a name");
}

/**
 * Returns the typed values with which a refused form is shown again. Of the headers they have only the names, so that
 * no page contains a value; without it a header is refused, and not forgotten.
 */
export function withoutValues(form: URLSearchParams): URLSearchParams {
  const shown = new URLSearchParams(form);
  const names = linesOf(form).flatMap((line) => {
    const [name, value] = parted(line);
    return value !== null && HEADER_NAME.test(name) ? [`${name}: `] : [];
  });
  shown.set("headers", names.join("\n"));
  return shown;
}

function linesOf(form: URLSearchParams): readonly string[] {
  const lines = (form.get("headers") ?? "").split(/\r?\n/);
  return lines.filter((line) => line.trim() !== "");
}

/** Returns the name and the value of a header in a line. The value is null when the line has no colon. */
function parted(line: string): readonly [name: string, value: string | null] {
  const colon = line.indexOf(":");
  if (colon === -1) return [line.trim(), null];
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

function invalidHeaders(message: string) {
  return invalidRequest([{ path: "/headers", message }]);
}
