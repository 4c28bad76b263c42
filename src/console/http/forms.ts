import { bodyReader } from "../../api/http/body.ts";
import { originOf } from "../../api/http/host.ts";
import { PROBLEMS } from "../../api/http/problem-list.ts";
import { Problem } from "../../api/http/problem.ts";
import { namesIn } from "../../core/pointer.ts";
import { configOf, type Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";

/**
 * Checks that a form was sent by a page of this console (protection against CSRF). This is shown by the header
 * `Sec-Fetch-Site` or, when the browser does not send it, e.g. to http:// addresses, by the header `Origin`.
 * @throws Problem `forbidden` when another site sent the form.
 */
export function requireOwnForm(request: Request, env: Env): void {
  const site = request.headers.get("Sec-Fetch-Site");
  const origin = request.headers.get("Origin");
  if (site === null ? isOwn(origin, request, env) : site === "same-origin") return;
  const detail = "The form does not come from a page of this console. Nothing has been changed.";
  throw new Problem("forbidden", { detail });
}

function isOwn(origin: string | null, request: Request, env: Env): boolean {
  if (origin === null) return false;
  return origin === originOf(request) || origin === configOf(env)?.publicUrl;
}

/**
 * Reads the fields of a form.
 * @throws Problem `payload_too_large` when the form exceeds the limit on bodies; `body_timeout` when it does not arrive
 * in time.
 */
export async function readForm(
  request: Request,
  { config }: Pick<Runtime, "config">,
): Promise<URLSearchParams> {
  const bytes = await bodyReader(request, config.maxBodyBytes)();
  return new URLSearchParams(new TextDecoder().decode(bytes));
}

/**
 * Reads a number from a field of a form or a parameter of a URL. As in the API, only whole numbers in decimal digits
 * are accepted.
 * @returns the number; any other text unchanged, so that the schema of the number refuses it; an empty text when the
 * field is absent.
 */
export function numberIn(fields: URLSearchParams, name: string): number | string {
  const text = fields.get(name) ?? "";
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}

/** A form that was refused: what was typed into it, and what is wrong. */
export interface FormFault {
  /** Id of the form, or of the dialog that contains it. */
  readonly form: string;
  readonly typed: URLSearchParams;
  /** Error message of each faulty field, by the name of the field. */
  readonly issues: ReadonlyMap<string, string>;
  /** Error message that concerns no single field; null when there is none. */
  readonly text: string | null;
}

/** Returns a form that was not refused, with what is typed into it. */
export function withoutFaults(form: string, typed: URLSearchParams): FormFault {
  return { form, typed, issues: new Map(), text: null };
}

interface RefusableForm {
  /** Id of the form, or of the dialog that contains it. */
  readonly id: string;
  readonly typed: URLSearchParams;
  /**
   * Names of the fields of the form. An error message about one of these fields is shown next to the field, any other
   * next to the button.
   */
  readonly fields: readonly string[];
  /**
   * Names of the fields with a value of several parts. An error message about a part names its place. No field when
   * absent.
   */
  readonly placed?: readonly string[];
  /** Statuses of the refusals that the page of the form shows; 400 and 409 when absent. */
  readonly statuses?: readonly number[];
}

/**
 * Makes the change for which a form asks. If the relay refuses it, with 400 or 409 by default, the response is the form's page,
 * which keeps the typed values and shows each fault next to its field.
 * @param act makes the change and returns the response to the browser.
 * @param show returns the form's page with the given faults.
 * @throws Problem for any other refusal, e.g. `forbidden`, and when the page cannot be shown.
 */
export async function withFaultsIn(
  { id: form, typed, fields, placed = [], statuses = [400, 409] }: RefusableForm,
  act: () => Promise<Response>,
  show: (fault: FormFault) => Promise<Response>,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, title } = PROBLEMS[error.code];
    if (!statuses.includes(status)) throw error;
    const { issues = [], taskJson, ...details } = error.details;
    // Beside the state of a task, the detail explains the JSON answer, which the page does not show.
    const detail = taskJson === undefined ? details.detail : `${title}.`;
    const named = issues.map(({ path, message }) => [path.slice(1), message] as const);
    const own = named.flatMap(([name, message]) => {
      const field = fieldOf(name, fields);
      if (field === null) return [];
      const isPlaced = placed.includes(field) && name !== field;
      return [[field, isPlaced ? `${placeIn(name, field)} ${message}` : message] as const];
    });
    const rest = named.filter(([name]) => fieldOf(name, fields) === null);
    const text = rest.map(([name, message]) => `${name} ${message}`).join("; ");
    const isUnnamed = named.length === 0;
    const fault = { form, typed, issues: joined(own), text: isUnnamed ? detail : text || null };
    const page = await show(fault).catch(() => null);
    if (page === null) throw error;
    return new Response(page.body, { status, headers: page.headers });
  }
}

/**
 * Returns the name of the field that has a fault, without which there is null. A fault within the value of a field, e.g.
 * of an item of a list, is one of this field.
 */
function fieldOf(name: string, fields: readonly string[]): string | null {
  const around = fields.filter((field) => name === field || name.startsWith(`${field}/`));
  return around.toSorted((a, b) => b.length - a.length)[0] ?? null;
}

/** Returns the place of a fault within the value of a field, with dots between the names that lead to it. */
function placeIn(name: string, field: string): string {
  return namesIn(name.slice(field.length)).join(".");
}

/** Returns the error messages of each field as one text. */
function joined(
  messages: readonly (readonly [field: string, message: string])[],
): ReadonlyMap<string, string> {
  const groups = Map.groupBy(messages, ([field]) => field);
  return new Map(
    [...groups].map(([field, own]) => [field, own.map(([, message]) => message).join("; ")]),
  );
}
