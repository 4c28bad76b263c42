import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { isForCall } from "../core/offers/offer-list.ts";
import type { Audience, Limit, Offer, OfferedTool, OfferFault } from "../core/offers/offer.ts";
import { failure, type Result, success } from "../core/result.ts";
import { isWellFormed } from "../core/text.ts";
import { at } from "../providers/json-fields.ts";
import type { Connection } from "../providers/provider.ts";
import { submitTargetOf } from "../providers/submit-target.ts";
import type { ConfigIssue } from "./issue.ts";
import { formOfPrice, priceForm, priceOf, usageNamesWithout } from "./price.ts";
import { InputSchema } from "./tool-input.ts";

/**
 * Names of the tools for tasks that the relay offers without any entry in `OFFERS`. A further name needs an entry in
 * api/mcp/task-tools.ts, tests (test/worker/mcp/tools.test.ts, test/process/mcp/clients.test.ts,
 * test/browser/mcp.test.ts, test/fuzz/requests.ts), and a line in docs/mcp.md.
 */
const OWN_TOOLS = ["read_task", "list_tasks", "cancel_task"] as const;
export type OwnTool = (typeof OWN_TOOLS)[number];

/** Largest size of an offer in bytes of JSON. */
export const MAX_OFFER_BYTES = 8_192;
/** Rank of an offer that states none. */
const DEFAULT_RANK = 100;
const MAX_RANK = 10_000;
/** Largest length of a tool's name in characters. The language models of some providers accept no longer names. */
const MAX_NAME_CHARS = 64;
const MAX_AUDIENCE = 100;
const MAX_TITLE_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 1_000;
/** Beginning of an entry of `accounts` that names a tag. */
const TAG = "tag:";
/** Pattern of an entry of `accounts`: the id of an account, or `tag:` and the name of a tag. */
const AUDIENCE = /^(?:[A-Za-z0-9_-]{1,64}|tag:[a-z0-9-]{1,40})$/;
/** Pattern of the names of offers, which has room for the names of connections. */
const OFFER_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Messages about invalid entries of `OFFERS`. Each is followed by the path of the member at fault; `fieldMessage` words
 * them for an offer in a request.
 */
const MESSAGES = {
  offers:
    'must be JSON like [{"connection": "ark", "models": ["doubao-seedance-*"], "limits": {"/duration": {"max": 10}}, "price": {"credits": 60}}]',
  offer: "must have an offer",
  name: "must have a name of at most 64 of a-z 0-9 -",
  sameName: "must have another name than every other offer and every connection",
  title: `must have a text of at most ${MAX_TITLE_CHARS} characters`,
  description: `must have a text of at most ${MAX_DESCRIPTION_CHARS} characters`,
  accounts: `must have a list of 1 to ${MAX_AUDIENCE} accounts`,
  account: "must have the id of an account, or tag: and the name of a tag,",
  rank: `must have a whole number from 0 to ${MAX_RANK}`,
  connection: "must name a connection of the relay",
  key: 'must have "customer" or be left out',
  keyless: "must be left out, because this connection takes no key,",
  pool: "must be left out, because a pool takes no keys of customers,",
  path: "must have a path below the base URL, like /v1/predictions,",
  models: "must have a list of one or more models",
  model: "must have the name of a model, in which * stands for any characters,",
  limits: 'must have limits like {"/duration": {"max": 10}}',
  pointer: "must have /name for a member of the body or ?name for a parameter of the query",
  limit: 'must have a list of values or an object like {"max": 10}',
  rule: "must have either values, or min, max or both",
  order: "must not have a min above its max",
  values: "must have a list of one or more values",
  value: "must have a text, a number, true or false",
  bound: "must have a number",
  optional: "must have true or false",
  uploads: "must have true or false",
  tool: "must have a name of at most 64 letters, digits, _ and -",
  toolless: "must be left out, because the offer has no body,",
  sameTool: "must have another name than every other tool",
  bodyKey: "must be left out, because the offer has a body,",
  bodyPath: "must have the path of the job, because the offer has a body,",
  bodyModels: "must have one model without *, because the offer has a body,",
  bodyOrder: "must be in the first offer for this connection, path and model",
  bodyTarget: "must have a path at which the relay can submit jobs",
  bodyModel: "must be left out, because the relay sets the model,",
  unknown: "has an unknown member",
};

/**
 * Pattern of a limit's pointer: a JSON Pointer whose names are not empty, or `?` and the name of a parameter of the
 * query.
 */
const POINTER = /^(?:(?:\/(?:[^/~]|~[01])+)+|\?.+)$/s;

// Schemas are lazy, i.e. made when `OFFERS` is first set, so that the start of a relay without offers is shorter.

const Values = z.lazy(() =>
  z
    .array(z.union([z.string(), z.number(), z.boolean()], MESSAGES.value), MESSAGES.values)
    .check(z.minLength(1, MESSAGES.values)),
);
const ListedValues = z.lazy(() =>
  z.pipe(
    Values,
    z.transform((values) => ({ values })),
  ),
);
const Rule = z.lazy(() =>
  z
    .strictObject(
      {
        values: z.nullish(Values),
        min: z.nullish(z.number(MESSAGES.bound)),
        max: z.nullish(z.number(MESSAGES.bound)),
        optional: z.nullish(z.boolean(MESSAGES.optional)),
      },
      MESSAGES.limit,
    )
    .check(
      z.refine(
        ({ values, min, max }) => (values == null) !== ((min ?? max) == null),
        MESSAGES.rule,
      ),
      z.refine((rule) => (lowestOf(rule) ?? -Infinity) <= (rule.max ?? Infinity), MESSAGES.order),
    ),
);
type Rule = z.output<typeof Rule>;

/**
 * Schema of a limit of an offer. The limit is a list of values or an object. The schema is not a union of zod, because
 * the faults of a union do not name the member at fault.
 */
const ListOrRule = z.transform((value: unknown, { issues }): Rule => {
  const parsed = Array.isArray(value) ? ListedValues.safeParse(value) : Rule.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues.flatMap(faultsOf)) {
    issues.push({ code: "custom", input: value, path: [...path], message });
  }
  return z.NEVER;
});

const Limits = z.lazy(() =>
  z.pipe(
    z.unknown().check(
      // The schema of a record drops a member with this name and reports no issue.
      z.refine((limits) => at(limits, "__proto__") === undefined, {
        path: ["__proto__"],
        message: MESSAGES.pointer,
      }),
    ),
    z.record(z.string().check(z.regex(POINTER)), ListOrRule, {
      error: ({ code }) => (code === "invalid_key" ? MESSAGES.pointer : MESSAGES.limits),
    }),
  ),
);

const Entry = z.lazy(() =>
  z
    .strictObject(
      {
        name: z.nullish(z.string(MESSAGES.name).check(z.regex(OFFER_NAME, MESSAGES.name))),
        title: z.nullish(plainText(MAX_TITLE_CHARS, MESSAGES.title)),
        description: z.nullish(plainText(MAX_DESCRIPTION_CHARS, MESSAGES.description)),
        accounts: z.nullish(
          z
            .array(
              z.string(MESSAGES.account).check(z.regex(AUDIENCE, MESSAGES.account)),
              MESSAGES.accounts,
            )
            .check(z.minLength(1, MESSAGES.accounts), z.maxLength(MAX_AUDIENCE, MESSAGES.accounts)),
        ),
        rank: z.nullish(
          z.int(MESSAGES.rank).check(z.gte(0, MESSAGES.rank), z.lte(MAX_RANK, MESSAGES.rank)),
        ),
        connection: z.string(MESSAGES.connection),
        key: z.nullish(z.literal("customer", MESSAGES.key)),
        path: z.nullish(z.string(MESSAGES.path).check(z.refine(isPath, MESSAGES.path))),
        models: z
          .array(z.string(MESSAGES.model).check(z.minLength(1, MESSAGES.model)), MESSAGES.models)
          .check(z.minLength(1, MESSAGES.models)),
        limits: z.nullish(Limits),
        price: z.nullish(priceForm("have")),
        uploads: z.nullish(z.boolean(MESSAGES.uploads)),
        body: z.nullish(InputSchema),
        tool: z.nullish(z.string(MESSAGES.tool).check(z.regex(/^[\w-]{1,64}$/, MESSAGES.tool))),
      },
      MESSAGES.offer,
    )
    .check(
      z.refine(
        ({ body, tool }) => body != null || tool == null,
        issueAt("tool", MESSAGES.toolless),
      ),
      z.refine(({ body, key }) => body == null || key == null, issueAt("key", MESSAGES.bodyKey)),
      z.refine(
        ({ body, path }) => body == null || path != null,
        issueAt("path", MESSAGES.bodyPath),
      ),
      z.refine(
        ({ body, models }) => body == null || (models.length === 1 && !models[0]?.includes("*")),
        issueAt("models", MESSAGES.bodyModels),
      ),
    ),
);
type Entry = z.output<typeof Entry>;
const Entries = z.lazy(() => z.array(Entry, MESSAGES.offers));

function issueAt(member: string, message: string) {
  return { path: [member], message };
}

/** Returns the schema of a text for people, of 1 to `max` characters. */
function plainText(max: number, message: string) {
  return z.string(message).check(
    z.minLength(1, message),
    z.maxLength(max, message),
    z.refine((text) => isWellFormed(text), message),
  );
}

/**
 * Parses `OFFERS`, a JSON list of offers. Offers with the same rank are compared with a request in the order of the
 * list. The error names the path of each member at fault, e.g. `0.limits./duration.max`, and contains no values.
 * @returns null when the variable is not set.
 */
export function parseOffers(value: unknown): Result<readonly Offer[] | null, string> {
  const written = typeof value === "string" ? value.trim() : value;
  if (written === undefined || written === null || written === "") return success(null);
  const parsed = Entries.safeParse(typeof written === "string" ? parseJson(written) : written);
  if (!parsed.success) {
    return failure(parsed.error.issues.flatMap(faultsOf).map(describeFault).join("; "));
  }
  const offers = parsed.data.map((entry, i) =>
    offerOf(entry, entry.name ?? `offer-${i + 1}`, null),
  );
  const faults = offers.flatMap((offer, i) => {
    const before = offers.slice(0, i);
    const earlier = offers.filter(({ rank }, j) =>
      j < i ? rank <= offer.rank : rank < offer.rank,
    );
    return rivalFaults(offer, before, earlier).map((fault) => describeEntry(i, fault));
  });
  return faults.length === 0 ? success(offers) : failure(faults.join("; "));
}

/** Parses one offer that is not in `OFFERS`. @param version number of the version that the offer is to have. */
export function parseOffer(
  value: unknown,
  name: string,
  version: number,
): Result<Offer, readonly OfferFault[]> {
  const parsed = Entry.safeParse(value);
  if (!parsed.success) return failure(parsed.error.issues.flatMap(faultsOf));
  const { name: stated } = parsed.data;
  const isOther = stated != null && stated !== name;
  if (isOther)
    return failure([{ path: ["name"], message: "must be left out, or be that of the path" }]);
  return success(offerOf(parsed.data, name, version));
}

export function isOfferName(text: string): boolean {
  return OFFER_NAME.test(text);
}

/** Returns a message about an offer in the words of a message about a field of a request. */
export function fieldMessage(message: string): string {
  if (message === MESSAGES.unknown) return "Unknown field";
  return message.replace(/^must (?:have|name) /, "must be ").replace(/,$/, "");
}

/**
 * Returns the faults of an offer beside other offers. Its name may be taken. The name of its tool may be taken, for
 * accounts that see both tools. Or an offer that is compared earlier may apply to all calls of the tool, so that the
 * price and limits of that offer would count and not those that the tool states.
 * @param others offers whose names are taken.
 * @param earlier offers that are compared with a request before this one, if they are for the same accounts.
 */
export function rivalFaults(
  offer: Offer,
  others: readonly Offer[],
  earlier: readonly Offer[],
): readonly OfferFault[] {
  const { tool } = offer;
  const isTaken = others.some(({ name }) => name === offer.name);
  const nameFaults = isTaken ? [{ path: ["name"], message: MESSAGES.sameName }] : [];
  if (tool === null) return nameFaults;
  const isToolTaken = others.some(
    (other) => other.tool?.name === tool.name && mayMeet(other, offer) && !isForTool(other, offer),
  );
  const isOwnTool = OWN_TOOLS.some((name) => name === tool.name);
  const isPreceded = earlier.some((other) => hidesTool(other, offer));
  return [
    ...nameFaults,
    ...(isOwnTool || isToolTaken ? [{ path: ["tool"], message: MESSAGES.sameTool }] : []),
    ...(isPreceded ? [{ path: ["body"], message: MESSAGES.bodyOrder }] : []),
  ];
}

/**
 * Tells whether `other`, if it is compared with requests before `offer`, hides the tool of `offer` from everybody: it is
 * for all calls of the tool, and for all accounts of `offer`.
 */
export function hidesTool(other: Offer, offer: Offer): boolean {
  return isForTool(other, offer) && isForAllOf(other, offer);
}

/** Tells whether an offer is for the calls of the tool of another one. */
function isForTool(offer: Offer, { connection, keyOwner, tool }: Offer): boolean {
  if (tool === null || offer.connection !== connection) return false;
  return isForCall(offer, { keyOwner, path: tool.path, model: tool.model });
}

/** Tells whether an account can exist for which both offers are. */
function mayMeet({ audience: a }: Offer, { audience: b }: Offer): boolean {
  if (a === null || b === null || a.tags.length > 0 || b.tags.length > 0) return true;
  return a.accounts.some((account) => b.accounts.includes(account));
}

/** Tells whether an offer is, for the same reason, also for all accounts for which another one is. */
function isForAllOf({ audience: a }: Offer, { audience: b }: Offer): boolean {
  if (a === null || b === null) return a === b;
  return (
    b.accounts.every((account) => a.accounts.includes(account)) &&
    b.tags.every((tag) => a.tags.includes(tag))
  );
}

/** Connections of the relay, to which offers refer. */
export interface OfferedConnections {
  readonly connections: ReadonlyMap<string, Connection>;
  readonly disabledConnections: readonly { readonly name: string }[];
}

/** Returns a fault for each offer of `OFFERS` that does not fit its connection, or has the name of a connection. */
export function unconnectedOffers(
  offers: readonly Offer[],
  connected: OfferedConnections,
): ConfigIssue[] {
  return offers.flatMap((offer, i) => {
    const fault = connectionFault(offer, connected);
    return fault === null ? [] : { path: "OFFERS", message: describeEntry(i, fault) };
  });
}

/**
 * Returns the fault of an offer that does not fit its connection. An offer does not fit when the relay has no such
 * connection (a disabled one counts as existing), when it is for customers with a key of their own but the connection
 * uses no key, or when its price depends on a usage that the jobs of the connection do not state. It is also a fault
 * when the calls of its tool would start no job at the connection, or could set the model, and when a connection has
 * the name of the offer. @returns null when it fits.
 */
export function connectionFault(
  { connection: name, keyOwner, name: offerName, price, tool }: Offer,
  { connections, disabledConnections: disabled }: OfferedConnections,
): OfferFault | null {
  const isKnown = (each: string) =>
    connections.has(each) || disabled.some((connection) => connection.name === each);
  if (isKnown(offerName)) return { path: ["name"], message: MESSAGES.sameName };
  const connection = connections.get(name);
  if (connection === undefined) {
    return isKnown(name) ? null : { path: ["connection"], message: MESSAGES.connection };
  }
  const { provider } = connection;
  const { polls } = provider;
  if (keyOwner === "customer") {
    const isKeyless = polls === null || polls.takesNoKey === true;
    if (isKeyless) return { path: ["key"], message: MESSAGES.keyless };
    if (connection.pool !== null) return { path: ["key"], message: MESSAGES.pool };
  }
  const known = price === null ? null : usageNamesWithout(price, provider);
  if (known !== null) return { path: ["price", "per", "usage"], message: unknownUsage(known) };
  return tool === null ? null : toolFault(tool, connection);
}

function toolFault({ schema, path }: OfferedTool, connection: Connection): OfferFault | null {
  const target = submitTargetOf(connection, path);
  if (target === null) return { path: ["path"], message: MESSAGES.bodyTarget };
  if (!("pointer" in target.model)) return null;
  const [, member = ""] = target.model.pointer.split("/");
  const isSettable = Object.hasOwn(schema.properties, member);
  return isSettable ? { path: ["body", "properties", member], message: MESSAGES.bodyModel } : null;
}

function unknownUsage(known: readonly string[]): string {
  return known.length === 0
    ? "must be left out, because jobs of this connection state no usage,"
    : `must name a number of the usage that jobs of this connection state (${known.join(", ")})`;
}

/** Tells whether a text is the path of a URL, in exactly the spelling that a parsed URL has. */
function isPath(text: string): boolean {
  return URL.parse(text, "https://upstream.example")?.pathname === text && !text.includes("//");
}

function offerOf(entry: Entry, name: string, version: number | null): Offer {
  const { title, description, accounts, rank, connection, key, path, models, limits, price } =
    entry;
  return {
    name,
    version,
    title: title ?? null,
    description: description ?? null,
    audience: accounts == null ? null : audienceOf(accounts),
    rank: rank ?? DEFAULT_RANK,
    connection,
    keyOwner: key ?? "connection",
    path: path ?? null,
    models,
    limits: Object.entries(limits ?? {}).map(([pointer, rule]) => limitOf(pointer, rule)),
    price: price == null ? null : priceOf(price),
    takesUploads: entry.uploads ?? false,
    tool: toolOf(entry, version === null ? (entry.name ?? null) : name),
  };
}

/** Returns an offer with the members with which operators write it. Members without a value are null. */
export function formOfOffer({ name, title, description, audience, rank, ...offer }: Offer) {
  const { connection, keyOwner, path, models, limits, price, takesUploads, tool } = offer;
  return {
    name,
    title,
    description,
    accounts: audience && [...audience.accounts, ...audience.tags.map((tag) => `${TAG}${tag}`)],
    rank,
    connection,
    key: keyOwner === "customer" ? keyOwner : null,
    path,
    models,
    limits: Object.fromEntries(
      limits.map(({ pointer, isOptional, ...limit }) => [
        pointer,
        { ...limit, optional: isOptional },
      ]),
    ),
    price: price && formOfPrice(price),
    uploads: takesUploads,
    body: tool?.schema ?? null,
    tool: tool?.name ?? null,
  };
}

function audienceOf(accounts: readonly string[]): Audience {
  return {
    accounts: accounts.filter((each) => !each.startsWith(TAG)),
    tags: accounts.flatMap((each) => (each.startsWith(TAG) ? each.slice(TAG.length) : [])),
  };
}

/**
 * Returns the tool of an offer with a body.
 * @param name name of the offer. Null when `OFFERS` states none.
 */
function toolOf({ path, models, body, tool }: Entry, name: string | null): OfferedTool | null {
  const [model] = models;
  if (body == null || path == null || model === undefined) return null;
  // Agents of accounts read the name, so that it has nothing of the connection.
  const standard = name ?? model.replaceAll(/[^\w-]/g, "-").slice(0, MAX_NAME_CHARS);
  return { name: tool ?? standard, path, model, schema: body };
}

function limitOf(pointer: string, { values, min, max, optional }: Rule): Limit {
  return {
    pointer,
    values: values ?? null,
    min: lowestOf({ min, max }),
    max: max ?? null,
    isOptional: optional ?? false,
  };
}

/** The members `min` and `max` of a limit as they are written in `OFFERS`, before the default of `min` is set. */
interface Bounds {
  readonly min?: number | null | undefined;
  readonly max?: number | null | undefined;
}

/**
 * Returns the smallest number that a limit permits; null when it has no lower bound. A limit with only a `max` has the
 * lower bound 0, because negative numbers have a special meaning for some providers: with a `duration` of -1, Ark lets
 * the model choose the duration, and the job may cost more than the offer
 * (https://www.volcengine.com/docs/82379/1520757).
 */
function lowestOf({ min, max }: Bounds): number | null {
  return min ?? (max == null ? null : 0);
}

function faultsOf(issue: z.core.$ZodIssue): readonly OfferFault[] {
  const { path, message } = issue;
  if (issue.code !== "unrecognized_keys") return [{ path, message }];
  return issue.keys.map((key) => ({ path: [...path, key], message: MESSAGES.unknown }));
}

function describeEntry(index: number, { path, message }: OfferFault): string {
  return describeFault({ path: [index, ...path], message });
}

function describeFault({ path, message }: OfferFault): string {
  return path.length === 0 ? message : `${message} at ${path.join(".")}`;
}
