import { type Domain, type WithDomain } from "../../src/config/readers.ts";
import { Variables } from "../../src/config/variables.ts";

type Shape = typeof Variables.shape;

/**
 * Name of a variable or secret that has a description. The bindings that the schema reads have none; `CONNECTIONS` is
 * added, because it is not read by the schema.
 */
type VariableName =
  | Exclude<keyof Shape, "INDEX_DB" | "INDEX_OBJECT" | "OUTPUTS" | "OUTPUTS_S3">
  | "CONNECTIONS";

/** Describes a variable for the documentation. The code that reads the variable states its default and its values. */
interface Entry {
  /** Effect of the variable, in Markdown, with links as in `docs`. */
  readonly meaning: string;
  /**
   * Word for what holds while the variable is not set, where no value has the same effect: e.g. `required` when
   * the relay does not work without it, or `derived` when the value is derived from another secret.
   */
  readonly without?: string;
}

/**
 * Describes a variable for the documentation. The code that reads the variable does not state the form of its values,
 * so the description does.
 */
interface FormEntry extends Entry {
  /** Form of the values, in words. */
  readonly values: string;
  /**
   * Further names under which the same kind of value is read, such as `CONNECTIONS_2` beside `CONNECTIONS`.
   */
  readonly aliases?: readonly string[];
}

type EntryOf<Name> = Name extends keyof Shape
  ? Shape[Name] extends WithDomain
    ? Entry
    : FormEntry
  : FormEntry;

/** Descriptions of some of the variables for the documentation, by the name of the variable. */
type Entries = { readonly [Name in VariableName]?: EntryOf<Name> };

/** Description of a variable: its entry, with its default and its values. */
export interface VariableDescription extends Entry {
  readonly fallback: string | null;
  readonly values: Domain["values"] | string;
  readonly aliases?: readonly string[];
}

/** Descriptions of the variables that decide when a task is called back, ends and is erased. */
const TASKS = {
  CALLBACK_SCHEDULE_S: {
    meaning:
      "wait before each attempt, counted from the end of the previous one, of tasks without [waits of their own](api.md#the-schedule-of-a-task). The first attempt of a series that a crash interrupts is followed after 5 s instead, and takes no wait",
  },
  CALLBACK_TIMEOUT_S: {
    meaning:
      "time limit of a whole attempt of a callback, a test callback or one to a listener included, and of a call to `SETTLEMENT_URL`; operator events have it too, but at most 5 s. It is at most 24 s, because the platform stops what [sends callbacks](../CONTRIBUTING.md#six-walks) 30 s after a task's object has ceased to wait for it, and the end must still be reported. Five seconds after it (15 s after the start where it is less than 10) the watchdog looks for an interrupted attempt. Polls have a limit of 10 s of their own, and 30 s more for a [content path](providers.md#the-content-path)",
  },
  RETENTION_DAYS: {
    meaning: "how long a finished task is kept after its last change",
  },
  TASK_DEADLINE_HOURS: {
    meaning: "when an open task fails, unless its `deadline_at` says otherwise",
  },
  POLL_LATENESS: {
    meaning:
      "how late a poll may find a result, as a part of the job's age: the wait after a poll is this part of the age, as [providers.md](providers.md#when-the-upstream-is-polled) says. A smaller part costs more polls",
  },
  MAX_BODY_KB: {
    meaning: "largest request body; [storage.md](storage.md) limits what is stored of it",
  },
  ERROR_TEXT: {
    meaning:
      "`generic` hides the upstream's own error text from clients. It does not apply to the answer of a submission, which an account gets verbatim",
  },
  SETTLEMENT_URL: {
    values: "URL",
    meaning:
      "refunds go to your own billing instead of the relay's ledger: a `POST {task_id, account, credits, reason}` with `webhook-id: refund_<task id>`, and for what a completed task [does not cost](accounts.md#a-price-by-usage) `settle_<task id>`, signed with the `settlement` secret of `GET /v1/signing-secrets` and repeated until it answers 2xx; the relay charges nothing then. Keep it set while tasks with credits are open, and never use a task id twice",
  },
  PAUSED: {
    meaning:
      "stops callbacks and polls, and counts no attempts. Everything else goes on, deadlines and test callbacks included. After the pause the tasks start spread over a quarter of its length, at most 30 minutes; `POST /v1/wake` starts them at once",
  },
  SANDBOX: {
    meaning: "enables the provider `sandbox`, which needs no upstream",
  },
  LISTEN: {
    meaning:
      "accounts may [listen](listen.md): `callback_url` may be `listen:` for a task with an account, whose callbacks then go over a WebSocket to a receiver without a public address",
  },
} satisfies Entries;

/** Descriptions of the variables about jobs that are submitted through the relay. */
const SUBMITS = {
  MAX_SUBMIT_MB: {
    meaning:
      "largest JSON body of a submission, a request that the relay passes on to an upstream. One of an account has at most 16 MB. A form (multipart) has this limit only where it is [read](submit.md#one-call)",
  },
  SUBMIT_TIMEOUT_S: {
    meaning:
      "time limit of the upstream's answer to a submission. When it passes, the outcome is unknown: the relay never submits again by itself. An answer that is the result itself is still awaited for `ASYNC_TIMEOUT_S`. An upstream behind Cloudflare's proxy, as many gateways are, ends a call that has got no byte for [120 s](new-api.md#unknown-outcomes) with 524: a longer time helps nothing there",
  },
  ASYNC_TIMEOUT_S: {
    meaning:
      "time limit of the upstream's answer to a submission with `Prefer: respond-async`, whose caller does not wait for it. When it passes, the outcome is unknown",
  },
  MAX_ASYNC_MB: {
    meaning:
      "largest form (multipart body) of a submission with `Prefer: respond-async`, which the relay stores and reads. A JSON body of such a submission has the limit of any other",
  },
  QUEUE_MINUTES: {
    meaning:
      "how long the call of a submission with `Prefer: respond-async` waits to be sent, unless its header `Relay-Start-By` states a time. Then the task fails with `queue_timeout`, and its credits are refunded",
  },
  SUBMIT_UNKNOWN_MINUTES: {
    meaning:
      "how long a task waits for a hook or a poll that shows its job after a submission whose outcome is unknown. Then it fails with `submit_unknown`, and its credits are refunded. Where no hook can come it fails at once",
  },
  OFFERS: {
    without: "nothing",
    values: "JSON",
    meaning:
      'what accounts may submit, and for how many credits: `[{"connection": "ark", "models": ["doubao-seedance-*"], "limits": {"/duration": {"max": 10}}, "price": {"credits": 60}}]`, also at a [price by usage](accounts.md#a-price-by-usage); operators may submit everything. With `"uploads": true` accounts may [upload files](accounts.md#offers) to the connection. With `body` an offer is a [tool for agents](mcp.md#offer-a-tool). Cloudflare limits a variable to 5 KB. Where it is not set, the relay [stores the offers](accounts.md#offers); where it is, even as `[]`, it has all of them',
  },
} satisfies Entries;

/** Descriptions of the variables about outputs, i.e. the files that tasks have generated. */
const OUTPUTS = {
  OUTPUTS_S3_URL: {
    without: "none",
    values: "URL without a path",
    meaning:
      "keeps outputs in an [S3-compatible store](outputs.md#a-store-of-your-own) in place of the bucket `OUTPUTS`: the endpoint of the store. Where the host begins with the name of the bucket and a dot, the bucket is not named in the path. `OUTPUTS_S3_BUCKET` and the secrets `OUTPUTS_S3_KEY` and `OUTPUTS_S3_SECRET` are then required",
  },
  OUTPUTS_S3_REGION: {
    without: "`us-east-1`",
    values: "name of a region",
    meaning: "region of the bucket of outputs, by which requests to it are signed",
  },
  OUTPUTS_S3_BUCKET: {
    without: "none",
    values: "name of a bucket",
    meaning: "bucket in which outputs are kept, below `outputs/`; it may hold other files",
  },
  OUTPUTS_URL: {
    without: "`PUBLIC_URL`",
    values: "URL without a path",
    meaning:
      "origin of the relay's links to outputs. Strangers have made these files, so give them a host of their own; the relay serves nothing else there but its reference and the files of its pages, which hold nothing secret",
  },
  OUTPUT_DAYS: {
    meaning:
      "how long the relay's links to outputs work and their copies are kept; at most `RETENTION_DAYS`, which is the default where it is less than 3 days",
  },
  MAX_OUTPUT_MB: {
    meaning: "largest output of which the relay keeps a copy",
  },
} satisfies Entries;

/**
 * Descriptions of the variables about places: the public URL of the relay, the region in which its data is
 * stored, and the addresses to which it may send requests.
 */
const ADDRESSES = {
  PUBLIC_URL: {
    without: "none",
    values: "URL without a path",
    meaning:
      "public origin of the relay, used in `hook_url` and links; a `callback_url` on its host is refused. Without it they begin with the host that the caller has used, and that counts as the host of the relay. Cloudflare brings only requests to hosts that you have routed to the Worker; elsewhere any caller may choose the `Host` header. A registration with a provider that has hooks is therefore refused (503 `not_configured`) unless it has come over HTTPS from Cloudflare or was sent to this machine (`localhost`, `127.0.0.0/8`, `[::1]`), and always over a [service binding](binding.md). `npm run deploy:first` sets it to the address of the deployment, `npm start` to the address that it prints, unless `.dev.vars` or `--var` sets it",
  },
  JURISDICTION: {
    meaning:
      "every object is kept in that jurisdiction, but not what passes the [queue, Analytics Engine and logs](../SECURITY.md#where-data-is-kept). Decide before the first task: each jurisdiction has objects of its own, so that tasks stored outside it could not be found. The relay notes the value at its first request and refuses any other: each isolate compares the two at its start, without a request waiting for it, and logs the tasks that it has stored until then (`task.misplaced`)",
  },
  LOCATION_HINT: {
    without: "near the caller that creates the object",
    meaning:
      "region near which new objects are created. It may change at any time and moves no existing object",
  },
  ALLOW_LOCAL_CALLBACKS: {
    meaning:
      "development only: allows http and loopback in `callback_url`, loopback IP addresses such as 127.0.0.1 included, and loopback base URLs of providers, for [integration tests](providers.md#through-a-proxy-and-in-tests)",
  },
  ALLOW_IP_CALLBACKS: {
    meaning:
      "allows public IP addresses in `callback_url`, and any IP address in `SETTLEMENT_URL` and `OPERATOR_CALLBACK_URL`. For your own workerd only: Cloudflare refuses a Worker's requests to IP addresses (error 1003), so there they are refused at registration and before each attempt",
  },
  EXTRA_BASE_HOSTS: {
    values: "`host[:port]`, space-separated",
    meaning:
      "hosts of proxies and AI gateways that the base URL of any provider may name too, by https only; a private one only for a [declared upstream](../src/providers/generic/README.md), by http too: see [providers.md](providers.md#through-a-proxy-and-in-tests)",
  },
} satisfies Entries;

/** Descriptions of the variables of the index, the log, operator events, status links and Cloudflare Access. */
const OPERATORS = {
  LOG: {
    meaning: "`all` logs every step of a task and every refused request; see [the log](#the-log)",
  },
  PLAN: {
    meaning:
      "the plan of the Cloudflare account: with `free` a run of the cron trigger makes at most 50 queries of D1 in place of 1,000, and leaves the rest to the next runs, and the index counts as full at 500 MB in place of 10 GB. `npm run setup -- --plan free` sets it",
  },
  RATE_LIMITS: {
    without: "`off`",
    values: "`off`, or `default` and `NAME=number`, space-separated",
    meaning:
      "[rate limits](api.md#limits) for a relay without the platform's: `default` limits as the table says, `default LIMIT_SUBMITS=600` permits an account 600 submissions within 60 s. Each process counts by itself, exactly, from the first request of a key on. Where a rate limit is bound, the binding counts",
  },
  INDEX_RETENTION_DAYS: {
    meaning:
      "how long a settled task stays in the [index](index.md); at most `RETENTION_DAYS`, which is the default where it is less than 7 days. A task whose callback failed stays for `RETENTION_DAYS`",
  },
  INDEX_DELAY_S: {
    meaning:
      "age at which an open task gets its first row in the [index](index.md#how-a-row-is-written): lists, counts and metrics lack younger open tasks. A task that settles before is written once, which [costs less](cost.md#first-rows). `npm start` sets 1",
  },
  INDEX_SHARD_HOURS: {
    meaning:
      "required with `INDEX_DB_1`: hours of creation times that one database of the index takes before the next one does",
  },
  OPERATOR_CALLBACK_URL: {
    values: "URL",
    meaning:
      "receives [operator events](index.md#operator-events): failed callbacks, failing hosts, late refunds, refused keys; signed with the `operator` secret of `GET /v1/signing-secrets`",
  },
  OPERATOR_EVENTS: {
    without: "all",
    values: "types, space-separated",
    meaning:
      "the types of [operator events](index.md#operator-events) that are sent; events about a task that are not chosen when they happen are not sent later either",
  },
  OPERATOR_CALLBACK_FORMAT: {
    meaning:
      "`slack` posts a short text to an incoming webhook of Slack or a chat that takes the same, such as Mattermost, Rocket.Chat or, with `/slack` at the end of the URL, Discord. The URL of such a webhook is a secret: set `OPERATOR_CALLBACK_URL` as one, not under `[vars]`",
  },
  OPERATOR_DIGEST_MINUTES: {
    meaning:
      "gathers the operator events `callback.failed` of a host for so long into [one event](index.md#operator-events)",
  },
  SILENCE_MINUTES: {
    meaning:
      "sends the operator event `events.silent` when no task has ended for so long; needs the index",
  },
  BRAND_NAME: {
    without: "`Task Relay`",
    values: "at most 40 characters",
    meaning: "your name at the head of the pages of [status links](status-links.md#the-page)",
  },
  BRAND_LOGO: {
    without: "none",
    values: "name of a PNG, WebP or SVG file in `public/brand`",
    meaning: "your logo beside `BRAND_NAME`, which is required with it",
  },
  BRAND_COLOR: {
    without: "that of the console",
    values: "`#rrggbb`",
    meaning:
      "colour of the buttons and the bar of progress on these pages. It must stand out from light and from dark pages: a contrast of at least 3:1 to both ([WCAG 2.2](https://www.w3.org/TR/WCAG22/#non-text-contrast)), or the relay refuses it",
  },
  ACCESS_TEAM: {
    values: "name of the team",
    meaning:
      "with `ACCESS_AUD`: users whom Cloudflare Access lets through are operators in the [console](console.md#cloudflare-access)",
  },
  ACCESS_AUD: {
    values: "AUD tag of the application",
    meaning: "required with `ACCESS_TEAM`",
  },
  ACCESS_ROLE: {
    meaning: "role of the users of Cloudflare Access",
  },
} satisfies Entries;

/** Descriptions of the secrets. In a secret that can contain several values, the newest stands first. */
const SECRETS = {
  RELAY_SECRET: {
    without: "required",
    values: "at least 32 random bytes, one or more, space-separated",
    meaning:
      "hook URLs, API keys of accounts, callback secrets and signing keys are derived from it",
  },
  OPERATOR_KEYS: {
    without: "required",
    values: "at least 16 characters, one or more, space-separated",
    meaning:
      "keys of the operator; an entry may have a role and a label: see [operator keys](#operator-keys)",
  },
  CONNECTIONS: {
    values: "JSON",
    aliases: ["CONNECTIONS_2", "CONNECTIONS_3"],
    meaning:
      'further accounts and regions of providers: `{"ark-intl": {"provider": "ark", "key": "…", "base_url": "…"}}`; each name can be used as `provider` of a task. Cloudflare limits a secret to 5 KB, about 20 connections: put more into the next one. [providers.md](providers.md#several-connections) has the fields, [queue.md](queue.md) those that limit jobs in flight and make pools',
  },
  OUTPUTS_S3_KEY: {
    without: "none",
    values: "id of an access key",
    meaning: "id of the access key of the [store of outputs](outputs.md#a-store-of-your-own)",
  },
  OUTPUTS_S3_SECRET: {
    without: "none",
    values: "secret access key",
    meaning: "secret of that access key",
  },
  SIGNING_SECRETS: {
    without: "derived",
    values: "`whsec_…`, space-separated",
    meaning: "replaces the derived callback secrets; accounts keep their derived secrets",
  },
  EVENTS_SECRETS: {
    without: "derived",
    values: "`whsec_…`, space-separated",
    meaning: "replaces the derived secrets that events are signed with",
  },
  SIGNING_KEYS: {
    without: "derived",
    values: "JWK, space-separated",
    meaning: "replaces the derived Ed25519 private keys",
  },
} satisfies Entries;

/** The variables in the groups in which the documentation shows them. */
export const VARIABLE_GROUPS = {
  tasks: described(TASKS),
  submits: described(SUBMITS),
  outputs: described(OUTPUTS),
  addresses: described(ADDRESSES),
  operators: described(OPERATORS),
  secrets: described(SECRETS),
};

/** The description of every variable, by its name. A variable without an entry does not compile. */
export const VARIABLE_DESCRIPTIONS = described({
  ...TASKS,
  ...SUBMITS,
  ...OUTPUTS,
  ...ADDRESSES,
  ...OPERATORS,
  ...SECRETS,
} satisfies Required<Entries>);

function described(entries: Entries): Readonly<Record<string, VariableDescription>> {
  const domains = new Map(
    Object.entries(Variables.shape).flatMap(([name, reader]) =>
      "domain" in reader ? [[name, reader.domain] as const] : [],
    ),
  );
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => {
      const domain = domains.get(name);
      if (domain !== undefined) return [name, { ...entry, ...domain }];
      if ("values" in entry) return [name, { ...entry, fallback: null }];
      throw new Error(`the values of ${name} are not described`);
    }),
  );
}
