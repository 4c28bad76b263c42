/**
 * The rules of the contract for request bodies, written without the relay's code, so that its parsers
 * can be compared with them. Each predicate takes parsed JSON.
 */
type Test = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Test>>;

const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const ACCOUNT = /^[\w-]{1,64}$/;
const MAX_DEPTH = 64;

const isText: Test = (value) => typeof value === "string";
/** Counts characters, as the limits of a schema do in OpenAPI: one outside the BMP is one, and not two units. */
const isTextOf =
  (min: number, max: number): Test =>
  (value) => {
    if (typeof value !== "string") return false;
    const { length } = Array.from(value);
    return length >= min && length <= max;
  };
const isNameOf =
  (min: number, max: number): Test =>
  (value) =>
    isTextOf(min, max)(value) && hasWholeCharacters(value);
const isLike =
  (pattern: RegExp): Test =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const isBetween =
  (min: number, max: number): Test =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
/** Tells whether a value is the text of an integer that a number cannot hold. */
const isLongInteger: Test = (value) =>
  typeof value === "string" &&
  /^(?:-?[1-9]\d*)$/.test(value) &&
  !Number.isSafeInteger(Number(value));
const isTime = isBetween(0, 99_999_999_999);
const isCreatedAt: Test = (value) =>
  isTime(value) && Number(value) * 1000 <= Date.now() + 86_400_000;
const isObject: Test = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isMissing: Test = (value) => value === undefined || value === null;
const orMissing =
  (test: Test): Test =>
  (value) =>
    isMissing(value) || test(value);
const oneOf =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value);

/** Returns an own member of an object; undefined for an inherited one. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

function fits(shape: Shape, value: unknown): boolean {
  return (
    isObject(value) && Object.entries(shape).every(([name, test]) => test(memberOf(value, name)))
  );
}

function fitsExactly(shape: Shape, value: unknown): boolean {
  return (
    fits(shape, value) && Object.keys(Object(value)).every((name) => Object.hasOwn(shape, name))
  );
}

export function isShallow(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}

/** Largest length of a host in characters; a longer one is refused before it is parsed. */
const MAX_HOST_CHARS = 512;

/** Tells whether a text is an http(s) URL. U+FFFD stands for U+0000, which `URL` would drop at the beginning. */
const isHttpUrl: Test = (value) => {
  if (typeof value !== "string") return false;
  const text = value.replaceAll("\0", "\ufffd");
  const host = text.replace(/^[^:/\\?#]*:[/\\\s]*/, "");
  const isShort = host.search(/[/\\?#]|$/) <= MAX_HOST_CHARS;
  return isShort && /^https?:$/.test(URL.parse(text)?.protocol ?? "");
};

/** The six metadata fields of the contract; others may hold any value. */
export const METADATA: Shape = {
  seed: orMissing((value) => Number.isInteger(value) || isLongInteger(value)),
  ratio: orMissing(isText),
  duration: orMissing(Number.isInteger),
  resolution: orMissing(isText),
  generate_audio: orMissing((value) => typeof value === "boolean"),
  framespersecond: orMissing(Number.isInteger),
};
const OUTPUT: Shape = {
  urls: (urls) => Array.isArray(urls) && urls.length > 0 && urls.every(isHttpUrl),
  metadata: orMissing((metadata) => fits(METADATA, metadata)),
};
const FAILURE: Shape = { code: isTextOf(1, Infinity), message: isTextOf(1, Infinity) };
const CREATION: Shape = {
  id: isLike(ID),
  model: orMissing(isTextOf(1, 256)),
  created_at: orMissing(isCreatedAt),
  callback_url: orMissing(isText),
  account: orMissing(isLike(ACCOUNT)),
};
const EVENTS: Readonly<Record<string, Shape>> = {
  processing: { completed_at: isMissing, output: isMissing, error: isMissing },
  completed: {
    completed_at: orMissing(isTime),
    output: (output) => fits(OUTPUT, output),
    error: isMissing,
  },
  failed: {
    completed_at: isMissing,
    output: isMissing,
    error: (error) => fits(FAILURE, error),
  },
};

export function isEvent(value: unknown): boolean {
  const status = memberOf(value, "status");
  const shape = typeof status === "string" ? memberOf(EVENTS, status) : undefined;
  if (shape === undefined || typeof status !== "string") return false;
  return fits(CREATION, value) && fits(EVENTS[status] ?? {}, value);
}

/**
 * Returns the value of a JSON text. An integer that a number cannot hold is the text of its digits.
 * @throws SyntaxError when the text is not JSON.
 */
export function readAsWritten(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, { source = "" }: { source?: string } = {}) =>
    typeof value === "number" && isLongInteger(source) ? source : value,
  );
}

/** Returns a parsed JSON value as text in which U+FFFD stands for each lone surrogate and U+0000. */
export function mendedText(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /(?<=(?<!\\)(?:\\\\)*)\\u(?:d[89a-f][0-9a-f]{2}|0000)/g,
    "\ufffd",
  );
}

/** Tells whether no key and no text in a JSON value has a lone surrogate or U+0000. */
function hasWholeCharacters(value: unknown): boolean {
  const texts: string[] = [];
  JSON.stringify(value, (key, member: unknown) => {
    texts.push(key, typeof member === "string" ? member : "");
    return member;
  });
  return texts.every((text) => text.isWellFormed() && !text.includes("\0"));
}

const isLabels: Test = (value) =>
  isObject(value) &&
  new TextEncoder().encode(JSON.stringify(value)).length <= 4096 &&
  hasWholeCharacters(value);
const REGISTRATION: Shape = {
  id: orMissing(isLike(ID)),
  model: isNameOf(1, 256),
  callback_url: orMissing(isText),
  account: orMissing(isLike(ACCOUNT)),
  provider: orMissing(isText),
  parameters: orMissing(isObject),
  metadata: orMissing(isLabels),
  deadline_at: orMissing(isTime),
  credits: orMissing(isBetween(1, Number.MAX_SAFE_INTEGER)),
};

export function isRegistration(value: unknown): boolean {
  if (!fitsExactly(REGISTRATION, value)) return false;
  return isMissing(memberOf(value, "credits")) || !isMissing(memberOf(value, "account"));
}

const SEGMENT = "[A-Za-z0-9][A-Za-z0-9_.-]*";
const exactly =
  (shape: Shape): Test =>
  (value) =>
    fitsExactly(shape, value);

/** Tells whether a value is a schedule of a callback. */
function isSchedule(value: unknown): boolean {
  if (value === "day") return true;
  return isListOf(value, 10) && value.every(isBetween(0, 86_400));
}

/** Tells whether a value lists events of an endpoint. */
function isEvents(value: unknown): boolean {
  const isKnown = oneOf("completed", "failed", "progress");
  return isListOf(value, 3) && value.every(isKnown) && new Set(value).size === value.length;
}

function isListOf(value: unknown, max: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= max;
}

const RECEIVERS = { callback_url: orMissing(isText), endpoint: orMissing(isText) };

/** Counts the receivers that a body names. */
function receiversIn(value: unknown): number {
  return ["callback_url", "endpoint"].filter((name) => memberOf(value, name) != null).length;
}

export const SMALL_BODIES = {
  attachment: exactly({
    provider: isText,
    id: isLike(/^[A-Za-z0-9][A-Za-z0-9_.:~=/+-]{0,511}$/),
    endpoint: orMissing(
      (value) => isTextOf(1, 256)(value) && isLike(new RegExp(`^${SEGMENT}(/${SEGMENT})*$`))(value),
    ),
  }),
  redelivery: (value: unknown): boolean =>
    exactly({ attempts: orMissing(isBetween(1, 3)), ...RECEIVERS })(value) &&
    receiversIn(value) <= 1,
  sample: (value: unknown): boolean =>
    exactly({ ...RECEIVERS, status: orMissing(oneOf("completed", "failed")) })(value) &&
    receiversIn(value) === 1,
  endpoint: exactly({
    url: isText,
    schedule_s: orMissing(isSchedule),
    events: orMissing(isEvents),
    own_secret: orMissing((value) => typeof value === "boolean"),
  }),
  nothing: exactly({}),
  account: exactly({ id: isLike(ACCOUNT) }),
  grant: exactly({
    reference: isNameOf(1, 255),
    amount: isBetween(1, Number.MAX_SAFE_INTEGER),
  }),
  adjustment: exactly({
    reference: isNameOf(1, 255),
    amount: (value) => Number.isSafeInteger(value) && value !== 0,
    reason: isNameOf(1, 500),
  }),
  rotation: exactly({
    generation: orMissing(isBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
  }),
  key: exactly({
    label: orMissing(isNameOf(0, 100)),
    role: orMissing(oneOf("read", "full")),
    sha256: orMissing(isLike(/^[0-9a-f]{64}$/)),
  }),
};
