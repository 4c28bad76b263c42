import type { Runtime } from "../../config/runtime.ts";
import { type JsonObject, type JsonValue, wellFormedMembers } from "../../core/json.ts";
import type { BuyersOffer, PlacedOffers } from "../../core/offers/offer-list.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { areHooksVerified } from "../../providers/verifies-hooks.ts";
import { bodyLimitOf } from "./body-budget.ts";
import type { CustomerCredential } from "./customer-credential.ts";
import type { Connection } from "../../providers/provider.ts";
import {
  type HookParameters,
  isJobId,
  type MemberValues,
  type SubmitAdapter,
  type SubmitTarget,
  unreadableIn,
} from "../../providers/submit.ts";
import { sha256, toBase64Url } from "../../security/encoding.ts";
import { Model } from "../http/fields.ts";
import { invalidJson } from "../http/body.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { asksForOutput, inlinePointers } from "./inline-request.ts";
import { editBody, listIn, type NewValue, type ScannedBody, scanBody } from "./json-body.ts";
import { decideOffer } from "./offer-decision.ts";
import { formAsJson } from "./form-body.ts";
import { readHeldForm, type ReadForm } from "./held-form.ts";
import { peekForm } from "./peeked-form.ts";
import { requireBoundary, type StoredForm } from "./pending-call.ts";
import { RESPOND_ASYNC } from "./preference.ts";
import { readSubmittedBody } from "./submitted-body.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/**
 * Where a submission goes: the connection with the key to use, how its provider accepts submissions, and which job a
 * call to this path starts.
 */
export interface SubmitPlace {
  /**
   * The connection of the submission. If the customer has sent their own key, the connection contains that key instead
   * of the configured one.
   */
  readonly connection: Connection;
  /** The customer's own key in the call. Null when the upstream gets the key of the connection. */
  readonly credential: CustomerCredential | null;
  readonly adapter: SubmitAdapter;
  readonly target: SubmitTarget;
}

/** A call of a submission that the relay has read and checked, and that it may send to the upstream. */
export interface PreparedCall {
  readonly model: string;
  readonly parameters: JsonObject | null;
  /**
   * SHA-256 of the path, query and body of the call, in base64url. It does not cover a multipart body that the relay does
   * not read, nor the boundary of a form that it reads.
   */
  readonly requestDigest: string;
  /** URL that the caller has set in the provider's own hook field; null when the field is not set. */
  readonly ownHookUrl: string | null;
  /** True when the relay puts its hook URL into the call. */
  readonly takesHookUrl: boolean;
  /** Id of the job if the call itself contains it; null when the upstream states it in its response. */
  readonly jobId: string | null;
  /** Short hashes of the links in the body (`linkDigest`). Empty for a body that the relay does not read. */
  readonly linkDigests: readonly string[];
  /** Offer by which an account submits the call, and why it is for the account. Null for a call of an operator. */
  readonly offer: BuyersOffer | null;
  /**
   * Returns the call in the form in which it is sent to the upstream.
   * @param fields texts that the relay sets in the call, by the adapter's names of the fields, e.g. `?fal_webhook`,
   * `a.b` or `a[]`.
   * @throws Problem `invalid_request` when a field would have to be set inside a value that is not an object.
   */
  readonly withFields: (fields: ReadonlyMap<string, string>) => SentCall;
}

/** The call of a submission in the form in which it is sent to the upstream. */
export interface SentCall {
  /** Path and query of the call, relative to the base URL of the connection. */
  readonly path: string;
  /**
   * Body of the call: consecutive parts of a body that was read, or a stream for any other body. Null when there is no
   * body, and for a form that is stored already.
   */
  readonly body: readonly Uint8Array[] | ReadableStream<Uint8Array> | null;
  readonly contentType: string | null;
  /** True when an account has sent the call, so that only some of its headers are passed on. */
  readonly isOfAccount: boolean;
}

/** Largest length in characters of a text in the call that becomes a parameter of the task. */
const MAX_PARAMETER_CHARS = 256;
const JSON_TYPE = "application/json";
/** Pattern of the `[]` with which the name of a field that is a list ends in the notation of adapters. */
const LIST = /\[\]$/;

/** The offers, the memory and the storage that reading the body of a call needs. */
export interface BodySource {
  /** The offers that may apply to the call of an account. Null when an operator submits. */
  readonly offers: PlacedOffers | null;
  /** Reserves memory for a JSON body of this many bytes. */
  readonly reserve: (bytes: number) => Promise<void>;
  /** Stores the form (multipart body) of the call. Null when the client waits for the answer, so that none is stored. */
  readonly storeForm: (() => Promise<StoredForm>) | null;
}

/**
 * Reads a call to submit a job: its body if it is JSON, and everything that the relay must know about the call. Checks
 * that the caller may submit it.
 * @throws Problem when the call is not valid, or not offered to the caller.
 */
export async function prepareCall(
  call: UpstreamCall,
  place: SubmitPlace,
  caller: Caller,
  { config }: Runtime,
  source: BodySource,
): Promise<PreparedCall> {
  const { offers, reserve } = source;
  if (call.headers.has("Content-Encoding")) {
    const message = "is not supported: send the body as it is";
    throw invalidRequest([{ path: "/Content-Encoding", message }]);
  }
  if (!/^multipart\//i.test(contentTypeOf(call))) {
    const bytes = await readSubmittedBody(call, bodyLimitOf(accountOf(caller), config), reserve);
    return await prepareRead(call, place, caller, config, { offers, bytes, form: null });
  }
  if (place.target.takesMultipart !== true) {
    throw invalidRequest([{ path: "/Content-Type", message: `must be ${JSON_TYPE} at this path` }]);
  }
  const form = await readForm(call, caller, config, source);
  if (form === null) return await prepareUnread(call, place, caller, offers);
  const bytes = formAsJson(form.fields);
  return await prepareRead(call, place, caller, config, { offers, bytes, form });
}

/**
 * Reads the form of a call: into storage if the client does not wait for the answer, and otherwise into memory, if an
 * offer that may apply depends on what the form says. Null when it need not be read.
 */
async function readForm(
  call: UpstreamCall,
  caller: Caller,
  config: Runtime["config"],
  { offers, reserve, storeForm }: BodySource,
): Promise<ReadForm | null> {
  if (storeForm !== null) {
    const { fields, digest } = await storeForm();
    return { fields, digest, bytes: null };
  }
  if (offers?.dependOnBody !== true) return null;
  const boundary = requireBoundary(call.headers);
  const bytes = await readSubmittedBody(call, bodyLimitOf(accountOf(caller), config), reserve);
  return await readHeldForm(bytes, boundary);
}

/** The body of a call, as JSON. `form` is the form that the body is; null when it is JSON itself. */
interface ReadBody extends Pick<BodySource, "offers"> {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly form: ReadForm | null;
}

async function prepareRead(
  call: UpstreamCall,
  place: SubmitPlace,
  caller: Caller,
  config: Runtime["config"],
  { offers, bytes, form }: ReadBody,
): Promise<PreparedCall> {
  const query = new URLSearchParams(call.query);
  const isOfAccount = accountOf(caller) !== null;
  const watched = watchedBy(place, call, offers);
  const scanned = scanOrThrow(bytes, watched, place.target.isListOfOne === true);
  const areTexts = form !== null;
  requireReadableAnswer(place.target, scanned, call.isAsync, areTexts);
  const isOutputAsked = asksForOutput(place, scanned, config);
  const model = modelIn(place, scanned);
  const member = (pointer: string) => scanned.members.get(pointer);
  const asked = { ...requestOf(place, query), model, areTexts, member };
  const offer = requireOffer(asked, offers);
  if (isOfAccount) requireNothingHidden(place.target, bytes, scanned);
  const read = {
    model,
    parameters: parametersIn(place.target, scanned),
    requestDigest: await digestOf(call, form?.digest ?? toBase64Url(await sha256(bytes))),
    jobId: jobIdIn(place.target, scanned),
    linkDigests: scanned.linkDigests,
    offer,
  };
  if (form !== null) return { ...read, ...asItIs(call, form.bytes && [form.bytes], isOfAccount) };
  const ownHookUrl = ownHookUrlIn(place, bytes, scanned, query);
  return {
    ...read,
    ownHookUrl,
    // A hook with whole files may be too large, and WaveSpeed refuses the call (https://wavespeed.ai/docs/base64-output).
    takesHookUrl: takesHookUrl(place, ownHookUrl) && !(isOutputAsked && ownHookUrl === null),
    withFields: (fields) => ({
      path: pathWith(call, fields),
      body: bodyWith(bytes, scanned, fields),
      // The upstream must read the body as the relay has read it. Some clients declare JSON as a form, e.g. curl.
      contentType: JSON_TYPE,
      isOfAccount,
    }),
  };
}

function contentTypeOf({ headers }: UpstreamCall): string {
  return headers.get("Content-Type") ?? "";
}

/** Returns how a call is sent in whose body the relay sets nothing. */
function asItIs(
  call: UpstreamCall,
  body: SentCall["body"],
  isOfAccount: boolean,
): Pick<PreparedCall, "ownHookUrl" | "takesHookUrl" | "withFields"> {
  return {
    ownHookUrl: null,
    takesHookUrl: false,
    withFields: (fields) => ({
      path: pathWith(call, fields),
      body,
      contentType: contentTypeOf(call),
      isOfAccount,
    }),
  };
}

/** Prepares a call of a client that waits, whose multipart body is passed on. Only its model is looked for. */
async function prepareUnread(
  call: UpstreamCall,
  place: SubmitPlace,
  caller: Caller,
  offers: PlacedOffers | null,
): Promise<PreparedCall> {
  const request = requestOf(place, new URLSearchParams(call.query));
  const unread = { model: null, areTexts: false, member: () => undefined };
  const offer = requireOffer({ ...request, ...unread }, offers);
  const { model: named } = place.target;
  const { model, body } =
    "name" in named ? { model: named.name, body: call.body } : await peekForm(call, named.pointer);
  return {
    model: model ?? place.connection.provider.name,
    parameters: null,
    requestDigest: await digestOf(call, ""),
    jobId: null,
    linkDigests: [],
    offer,
    ...asItIs(call, body, accountOf(caller) !== null),
  };
}

function requestOf(place: SubmitPlace, query: URLSearchParams) {
  return { connection: place.connection.name, query, hookField: hookField(place) };
}

/**
 * Returns the names of a call's fields that concern hooks.
 * @returns null when the upstream accepts no hook URL at this path.
 */
export function hookParametersOf({ connection, target }: SubmitPlace): HookParameters | null {
  const { hooks } = connection.provider;
  return hooks === null || target.answer === "result" ? null : (target.hookParameters ?? hooks);
}

/**
 * Returns the name of the field for the hook URL, in the notation of adapters; empty when the upstream accepts no hook
 * URL at this path.
 */
function hookField(place: SubmitPlace): string {
  return hookParametersOf(place)?.parameter ?? "";
}

/** Returns the path by which an error names the provider's own hook field. */
export function hookPathOf(place: SubmitPlace): string {
  return pointerOf(hookField(place));
}

function isInQuery(place: SubmitPlace): boolean {
  return hookField(place).startsWith("?");
}

/**
 * Tells whether the relay sets its hook URL in a call. If only some installations of a provider support hooks, others
 * may refuse the field; the relay then sets it only if the caller has used the field, or if the relay can verify the
 * hooks.
 */
function takesHookUrl(place: SubmitPlace, ownHookUrl: string | null): boolean {
  const { connection } = place;
  const { hooks } = connection.provider;
  if (hooks === null || hookParametersOf(place) === null) return false;
  if (hooks.isOptional !== true || ownHookUrl !== null) return true;
  return hooks.assurance !== "body-signed" || areHooksVerified(connection);
}

/**
 * Returns the place of a field in the adapter's notation: the JSON Pointer `/a/b` for `a.b` and for `a.b[]`, and `/name`
 * for the parameter `?name`.
 */
function pointerOf(field: string): string {
  return `/${field.replace(/^\?/, "").replace(LIST, "").replaceAll(".", "/")}`;
}

/** Returns the JSON Pointers of the members of a body that the relay reads or sets for a submission. */
function watchedBy(
  place: SubmitPlace,
  { isAsync }: UpstreamCall,
  offers: PlacedOffers | null,
): readonly string[] {
  const { target } = place;
  const hooks = hookParametersOf(place);
  const fields = [hooks?.parameter, hooks?.idParameter, hooks?.secretParameter];
  const own = fields.flatMap((field) =>
    field == null || field.startsWith("?") ? [] : pointerOf(field),
  );
  return [
    ...new Set([
      ...own,
      ...("pointer" in target.model ? [target.model.pointer] : []),
      ...Object.values(target.parameters),
      ...Object.keys(unreadableIn(target, isAsync)),
      ...(target.jobId === undefined ? [] : [target.jobId]),
      ...Object.keys(target.required ?? {}),
      ...inlinePointers(target),
      ...(target.hidden?.pointers ?? []),
      ...(offers?.limitedPointers ?? []),
    ]),
  ];
}

function scanOrThrow(
  bytes: Uint8Array,
  watched: readonly string[],
  isListOfOne: boolean,
): ScannedBody {
  const scanned = scanBody(bytes, watched, isListOfOne);
  if (scanned.ok) return scanned.value;
  const { pointer, message } = scanned.error;
  if (pointer === "") throw invalidJson(`The body ${message}.`, message);
  throw invalidRequest([{ path: pointer, message }]);
}

/** Returns the id of the job that the caller has put into the body. @returns null when the upstream chooses the id. */
function jobIdIn({ jobId: pointer }: SubmitTarget, { members }: ScannedBody): string | null {
  if (pointer === undefined) return null;
  const found = members.get(pointer);
  const id = found?.kind === "scalar" && typeof found.value === "string" ? found.value : null;
  if (isJobId(id)) return id;
  const message = "must be the id of the job, which this upstream takes from its caller";
  throw invalidRequest([{ path: pointer, message }]);
}

function modelIn({ connection, target }: SubmitPlace, { members }: ScannedBody): string {
  if ("name" in target.model) return target.model.name;
  const { pointer, otherwise } = target.model;
  const found = members.get(pointer);
  const value = found?.kind === "scalar" ? found.value : undefined;
  const isMissing = found === undefined || value === null;
  if (isMissing && otherwise !== undefined) return otherwise;
  const parsed = Model.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = `must name the model, as ${connection.provider.name} demands`;
  throw invalidRequest([{ path: pointer, message }]);
}

/**
 * Checks that a call does not ask the upstream for a form of response that the relay cannot read.
 * @param isAsync true when the client does not wait for the response, so that the relay reads more forms of it.
 * @param areTexts true when the values of all members are texts, as in a form.
 * @throws Problem `invalid_request` when it does.
 */
function requireReadableAnswer(
  target: SubmitTarget,
  { members }: ScannedBody,
  isAsync: boolean,
  areTexts: boolean,
): void {
  const isIn = (pointer: string, values: MemberValues[string]) => {
    const found = members.get(pointer);
    if (found?.kind !== "scalar") return false;
    return values.some((value) => (areTexts ? String(value) : value) === found.value);
  };
  for (const [pointer, values] of Object.entries(unreadableIn(target, isAsync))) {
    if (!isIn(pointer, values)) continue;
    const isReadLater = unreadableIn(target, true)[pointer] === undefined;
    const found = members.get(pointer);
    const value = found?.kind === "scalar" ? JSON.stringify(found.value) : "";
    const condition = isReadLater ? ` without Prefer: ${RESPOND_ASYNC}` : "";
    const message = `must not be ${value}${condition}, because the relay could not read the answer`;
    throw invalidRequest([{ path: pointer, message }]);
  }
  for (const [pointer, value] of Object.entries(target.required ?? {})) {
    if (isIn(pointer, [value])) continue;
    const message = `must be ${JSON.stringify(value)}, because the relay could not read the answer otherwise`;
    throw invalidRequest([{ path: pointer, message }]);
  }
}

/**
 * Checks that an account's request sets no parameter in a part of the call that the limits of its offer do not cover.
 */
function requireNothingHidden(
  { hidden }: SubmitTarget,
  bytes: Uint8Array,
  { members, lookalikes }: ScannedBody,
): void {
  const [lookalike] = lookalikes;
  if (lookalike !== undefined) {
    const detail = `An account may not send a member that differs from ${lookalike} by the case of its letters alone.`;
    throw new Problem("forbidden", { detail });
  }
  if (hidden === undefined) return;
  const pointer = hidden.pointers.find((each) => members.has(each));
  if (pointer !== undefined) {
    throw new Problem("forbidden", { detail: `An account may not set ${pointer}.` });
  }
  if (hidden.isHiddenIn?.(new TextDecoder().decode(bytes)) !== true) return;
  const detail = "An account may not set parameters within a text, e.g. `--duration 10`.";
  throw new Problem("forbidden", { detail });
}

/**
 * Returns the offer by which an account submits a call. Null when an operator submits.
 * @throws Problem `forbidden` when no offer permits the call.
 */
function requireOffer(
  request: Parameters<typeof decideOffer>[1],
  offers: PlacedOffers | null,
): BuyersOffer | null {
  if (offers === null) return null;
  const decision = decideOffer(offers, request);
  if (decision.kind === "offered") return { offer: decision.offer, reason: decision.reason };
  throw new Problem("forbidden", { detail: decision.detail });
}

/**
 * Returns the parameters in a submission's body that become part of the output metadata.
 * @returns null when the body has none of them.
 */
function parametersIn({ parameters }: SubmitTarget, { members }: ScannedBody): JsonObject | null {
  const found = Object.entries(parameters).flatMap(([name, pointer]) => {
    const member = members.get(pointer);
    if (member?.kind !== "scalar" || member.value === null) return [];
    const value = member.digits ?? member.value;
    return String(value).length > MAX_PARAMETER_CHARS ? [] : [[name, value] as const];
  });
  return found.length === 0 ? null : wellFormedMembers(Object.fromEntries(found));
}

function ownHookUrlIn(
  place: SubmitPlace,
  bytes: Uint8Array,
  scanned: ScannedBody,
  query: URLSearchParams,
): string | null {
  if (isInQuery(place)) return query.get(hookField(place).slice(1));
  const pointer = hookPathOf(place);
  const found = hookField(place) === "" ? undefined : scanned.members.get(pointer);
  if (found === undefined || (found.kind === "scalar" && found.value === null)) return null;
  if (LIST.test(hookField(place))) return onlyUrlOf(listIn(bytes, scanned, pointer), pointer);
  if (found.kind === "scalar" && typeof found.value === "string") return found.value;
  throw invalidRequest([{ path: pointer, message: "must be a URL" }]);
}

/**
 * Returns the only URL in a list of hook URLs; null when the list is empty.
 * @throws Problem `invalid_request` when it is neither empty nor a list of one text.
 */
function onlyUrlOf(list: readonly JsonValue[] | null, pointer: string): string | null {
  const [url = null, ...others] = list ?? [];
  if (list?.length === 0) return null;
  if (typeof url === "string" && others.length === 0) return url;
  throw invalidRequest([{ path: pointer, message: "must be a list of one URL" }]);
}

function pathWith({ path, query }: UpstreamCall, fields: ReadonlyMap<string, string>): string {
  const set = [...fields].filter(([field]) => field.startsWith("?"));
  if (set.length === 0) return query === "" ? path : `${path}?${query}`;
  const names = new Set(set.map(([field]) => field.slice(1)));
  // The other parameters stay as the caller has spelt them.
  const kept = query.split("&").filter((part) => part !== "" && !names.has(nameOf(part)));
  const added = set.map(([field, text]) => `${field.slice(1)}=${encodeURIComponent(text)}`);
  return `${path}?${[...kept, ...added].join("&")}`;
}

function nameOf(part: string): string {
  return [...new URLSearchParams(part).keys()][0] ?? "";
}

function bodyWith(
  bytes: Uint8Array,
  scanned: ScannedBody,
  fields: ReadonlyMap<string, string>,
): readonly Uint8Array[] {
  const texts = new Map<string, NewValue>(
    [...fields].flatMap(([field, text]) =>
      field.startsWith("?") ? [] : [[pointerOf(field), LIST.test(field) ? [text] : text]],
    ),
  );
  if (texts.size === 0) return [bytes];
  const edited = editBody(bytes, scanned, texts);
  if (edited.ok) return edited.value;
  const { pointer: path, message } = edited.error;
  throw invalidRequest([{ path, message }]);
}

async function digestOf({ path, query }: UpstreamCall, bodyDigest: string): Promise<string> {
  return toBase64Url(await sha256(`${path}\n${query}\n${bodyDigest}`));
}
