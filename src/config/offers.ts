import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { failure, type Result, success } from "../core/result.ts";
import type { Price } from "../core/record/price-rule.ts";
import { at } from "../providers/json-fields.ts";
import type { Connection } from "../providers/provider.ts";
import { submitTargetOf } from "../providers/submit-target.ts";
import type { ConfigIssue } from "./issue.ts";
import { isModelOf } from "./model-glob.ts";
import { priceForm, priceOf, usageNamesWithout } from "./price.ts";
import { ToolInput } from "./tool-input.ts";

/**
 * The owner of the upstream's key with which a job is submitted: the connection, or the customer, who then sends the
 * key in the header that the upstream uses for keys.
 */
export type UpstreamKeyOwner = "connection" | "customer";

/** An entry of `OFFERS`. It states which jobs accounts may submit, within which limits and for how many credits. */
export interface Offer {
  /** Name of the connection under which the jobs are submitted. */
  readonly connection: string;
  readonly keyOwner: UpstreamKeyOwner;
  /**
   * Path of the submission below the base URL of the connection, e.g. `/v1/predictions`. Null means that the offer is
   * for every path.
   */
  readonly path: string | null;
  /** Names of models, in which `*` stands for any number of any characters. */
  readonly models: readonly string[];
  readonly limits: readonly Limit[];
  /** Price of a submission. Null when the submission is free. */
  readonly price: Price | null;
  /**
   * True when accounts may upload files to the connection, free of charge. An upload uses a key of the same owner
   * (connection or customer) as a job.
   */
  readonly takesUploads: boolean;
  /** Tool by which AI agents (clients of MCP at `POST /mcp`) submit such jobs. Null when there is none. */
  readonly tool: OfferedTool | null;
}

/**
 * Tool by which AI agents (clients of MCP) submit the jobs of an offer. An offer with a tool is for one model at one
 * path.
 */
export interface OfferedTool {
  readonly name: string;
  /** Path of the submission below the base URL of the connection. */
  readonly path: string;
  readonly model: string;
  /**
   * Schema of the members that a caller of the tool may set in the body of the call. It comes from the member `body` of
   * the offer's entry in `OFFERS`.
   */
  readonly input: ToolInput;
}

/**
 * Names of the tools for tasks that the relay offers without any entry in `OFFERS`. A further name needs an entry in
 * api/mcp/task-tools.ts, tests (test/worker/mcp/tools.test.ts, test/process/mcp/clients.test.ts,
 * test/browser/mcp.test.ts, test/fuzz/requests.ts), and a line in docs/mcp.md.
 */
const OWN_TOOLS = ["read_task", "list_tasks", "cancel_task"] as const;
export type OwnTool = (typeof OWN_TOOLS)[number];

/** Limit of one value in the request of an account. It has either `values`, or one or both of `min` and `max`. */
export interface Limit {
  /**
   * Where the request has the value: `/a/b` is a JSON Pointer to a member of the body, `?a` is a parameter of the
   * query.
   */
  readonly pointer: string;
  /** The permitted values. Null when the value must be a number within bounds. */
  readonly values: readonly (string | number | boolean)[] | null;
  /** Smallest permitted number. Null when there is no lower bound; a limit with only a `max` has the lower bound 0. */
  readonly min: number | null;
  /** Largest permitted number. Null when there is no upper bound. */
  readonly max: number | null;
  /** True when the limited value may be missing in a request. */
  readonly isOptional: boolean;
}

/** Largest length of a tool's name in characters. The language models of some providers accept no longer names. */
const MAX_NAME_CHARS = 64;

/** Messages about invalid entries of `OFFERS`. Each is followed by the path of the member at fault. */
const MESSAGES = {
  offers:
    'must be JSON like [{"connection": "ark", "models": ["doubao-seedance-*"], "limits": {"/duration": {"max": 10}}, "price": {"credits": 60}}]',
  offer: "must have an offer",
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
  for (const fault of parsed.error.issues.flatMap(faultsOf)) {
    issues.push({ code: "custom", input: value, ...fault });
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
        connection: z.string(MESSAGES.connection),
        key: z.nullish(z.literal("customer", MESSAGES.key)),
        path: z.nullish(z.string(MESSAGES.path).check(z.refine(isPath, MESSAGES.path))),
        models: z
          .array(z.string(MESSAGES.model).check(z.minLength(1, MESSAGES.model)), MESSAGES.models)
          .check(z.minLength(1, MESSAGES.models)),
        limits: z.nullish(Limits),
        price: z.nullish(priceForm("have")),
        uploads: z.nullish(z.boolean(MESSAGES.uploads)),
        body: z.nullish(ToolInput),
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

/**
 * Parses `OFFERS`, a JSON list of offers, in the order in which a request is compared with them. The error names the
 * path of each member at fault, e.g. `0.limits./duration.max`, and contains no values.
 */
export function parseOffers(value: unknown): Result<readonly Offer[], string> {
  const written = typeof value === "string" ? value.trim() : value;
  if (written === undefined || written === null || written === "") return success([]);
  const parsed = Entries.safeParse(typeof written === "string" ? parseJson(written) : written);
  if (!parsed.success) {
    return failure(parsed.error.issues.flatMap(faultsOf).map(describeFault).join("; "));
  }
  const offers = parsed.data.map(offerOf);
  const faults = offers.flatMap((offer, i) => toolFaults(offer, i, offers));
  return faults.length === 0 ? success(offers) : failure(faults.map(describeFault).join("; "));
}

/**
 * Returns the faults of an offer's tool. Its name may be taken already. Or an earlier offer may apply to the calls of
 * the tool, so that the price and limits of that offer would count and not those that the tool states.
 */
function toolFaults({ tool, ...offer }: Offer, i: number, offers: readonly Offer[]): Fault[] {
  if (tool === null) return [];
  const earlier = offers.slice(0, i);
  const taken: readonly (string | undefined)[] = [...OWN_TOOLS, ...earlier.map(nameOfTool)];
  const isPreceded = earlier.some(
    ({ connection, keyOwner, path, models }) =>
      connection === offer.connection &&
      keyOwner === offer.keyOwner &&
      (path === null || path === tool.path) &&
      models.some((glob) => isModelOf(glob, tool.model)),
  );
  return [
    ...(taken.includes(tool.name) ? [{ path: [i, "tool"], message: MESSAGES.sameTool }] : []),
    ...(isPreceded ? [{ path: [i, "body"], message: MESSAGES.bodyOrder }] : []),
  ];
}

function nameOfTool({ tool }: Offer): string | undefined {
  return tool?.name;
}

/**
 * Returns a fault for each offer that does not fit its connection. An offer does not fit when the relay has no such
 * connection (a disabled one counts as existing), when it is for customers with a key of their own but the connection
 * uses no key, or when its price depends on a usage that the jobs of the connection do not state. Also returns a fault
 * for a tool whose calls would start no job at the connection, or could set the model.
 */
export function unconnectedOffers(
  offers: readonly Offer[],
  connections: ReadonlyMap<string, Connection>,
  disabled: readonly { readonly name: string }[],
): ConfigIssue[] {
  return offers.flatMap(({ connection: name, keyOwner, price, tool }, i) => {
    const connection = connections.get(name);
    if (connection === undefined && disabled.some((each) => each.name === name)) return [];
    if (connection === undefined) return offerIssue(i, "connection", MESSAGES.connection);
    const { provider } = connection;
    const { polls } = provider;
    const isKeyless = keyOwner === "customer" && (polls === null || polls.takesNoKey === true);
    if (isKeyless) return offerIssue(i, "key", MESSAGES.keyless);
    if (keyOwner === "customer" && connection.pool !== null) {
      return offerIssue(i, "key", MESSAGES.pool);
    }
    const known = price === null ? null : usageNamesWithout(price, provider);
    if (known !== null) return offerIssue(i, "price.per.usage", unknownUsage(known));
    return tool === null ? [] : toolIssues(i, tool, connection);
  });
}

function toolIssues(
  i: number,
  { input, path }: OfferedTool,
  connection: Connection,
): ConfigIssue[] {
  const target = submitTargetOf(connection, path);
  if (target === null) return [offerIssue(i, "path", MESSAGES.bodyTarget)];
  if (!("pointer" in target.model)) return [];
  const [, member = ""] = target.model.pointer.split("/");
  const isSettable = Object.hasOwn(input.schema.properties, member);
  return isSettable ? [offerIssue(i, `body.properties.${member}`, MESSAGES.bodyModel)] : [];
}

function unknownUsage(known: readonly string[]): string {
  return known.length === 0
    ? "must be left out, because jobs of this connection state no usage,"
    : `must name a number of the usage that jobs of this connection state (${known.join(", ")})`;
}

function offerIssue(index: number, member: string, message: string): ConfigIssue {
  return { path: "OFFERS", message: describeFault({ path: [index, member], message }) };
}

/** Tells whether a text is the path of a URL, in exactly the spelling that a parsed URL has. */
function isPath(text: string): boolean {
  return URL.parse(text, "https://upstream.example")?.pathname === text && !text.includes("//");
}

function offerOf(entry: Entry): Offer {
  const { connection, key, path, models, limits, price, uploads } = entry;
  return {
    connection,
    keyOwner: key ?? "connection",
    path: path ?? null,
    models,
    limits: Object.entries(limits ?? {}).map(([pointer, rule]) => limitOf(pointer, rule)),
    price: price == null ? null : priceOf(price),
    takesUploads: uploads ?? false,
    tool: toolOf(entry),
  };
}

function toolOf({ connection, path, models, body, tool }: Entry): OfferedTool | null {
  const [model] = models;
  if (body == null || path == null || model === undefined) return null;
  // E.g. `ark_doubao-seedance-2-0-260128`.
  const standard = `${connection}_${model}`.replaceAll(/[^\w-]/g, "-").slice(0, MAX_NAME_CHARS);
  return { name: tool ?? standard, path, model, input: body };
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

type Fault = Pick<z.core.$ZodIssue, "path" | "message">;

function faultsOf(issue: z.core.$ZodIssue): readonly Fault[] {
  const { path, message } = issue;
  if (issue.code !== "unrecognized_keys") return [{ path, message }];
  return issue.keys.map((key) => ({ path: [...path, key], message: MESSAGES.unknown }));
}

function describeFault({ path, message }: Fault): string {
  return path.length === 0 ? message : `${message} at ${path.join(".")}`;
}
