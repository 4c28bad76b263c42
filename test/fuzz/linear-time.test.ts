import { expect, it } from "vitest";
import { readJson, validate } from "../../src/api/http/body.ts";
import { listOf, TaskId } from "../../src/api/http/fields.ts";
import { readQuery } from "../../src/api/http/query.ts";
import { TaskPage } from "../../src/api/search/filters.ts";
import { TaskFinishEvent } from "../../src/api/tasks/event-schema.ts";
import { Attachment, Registration } from "../../src/api/tasks/task-schemas.ts";
import { waitMsOf } from "../../src/api/tasks/wait.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { callbackBody, sameResult } from "../../src/core/record/callback-body.ts";
import { metadataOf } from "../../src/core/output-metadata/metadata.ts";
import { storedBytes } from "../../src/core/stored-bytes.ts";
import { outputLinks } from "../../src/providers/output-search.ts";
import { openLinks } from "../../src/providers/shared/gateway-links.ts";
import { numberAt, percentAt, urlsOf } from "../../src/providers/json-fields.ts";
import { hasPromptParameters } from "../../src/providers/shared/prompt-parameters.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { failureOf } from "../../src/providers/failure.ts";
import { REDACTIONS } from "../../src/providers/redaction.ts";
import { checkCallbackUrl } from "../../src/security/url-rules.ts";
import { codeTokens } from "../../src/console/parts/code.tsx";
import { searchTarget } from "../../src/console/search/search-page.ts";
import { readBulkRedelivery } from "../../src/console/bulk-redelivery/bulk-redelivery-state.ts";
import { readPastedHeaders } from "../../src/security/doctor/pasted-headers.ts";
import { aCompletion, anOpenTask, ID, NOW } from "../core/builders.ts";
import { expectLinear, repeated, withNames, type Work } from "./linear-time.ts";
import { parsedBy } from "./refusal.ts";

function anEvent(output: object): unknown {
  return { id: ID, status: "completed", output };
}

function members(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]));
}

/** Parts of texts. A pattern that searches in a text made of one of them goes through most of its branches. */
const PARTS = [
  ..."a-|a.|1|?|@|:|://|https://|http://a:|https://a@|a://b:c/|?a|?a=|#|/hooks/|/hooks/a-".split(
    "|",
  ),
  ..."eyJ-|eyJa.|eyJ|-eyJa|authorization|authorization: |authorization:a |key |key a|token|token=|".split(
    "|",
  ),
  ..."token: a,|api_key|secret-|sk-|sk_a,|AKIA|akia0 |whsec_|polic|polic violat|time|content |\ufffd".split(
    "|",
  ),
].filter(Boolean);

it.each(withNames([...PARTS, " ", "\t", '"', "'", "="]))(
  "a text from a provider is redacted and classified in linear time when %s is repeated in it",
  (_, part) => {
    for (const before of ["", "key ", "token", "authorization", "https://a:"]) {
      for (const { redact } of REDACTIONS) {
        expectLinear((length) => {
          const text = before + repeated(part, length);
          return () => redact(text);
        }, 2_048);
      }
    }
    const errorText = { isGeneric: false, secrets: ["s3cr3t"] };
    expectLinear((length) => {
      const error = { code: null, text: repeated(part, length) };
      return () => failureOf("failed", error, errorText);
    }, 65_536);
  },
);

const VALIDATED: readonly (readonly [string, number, Work])[] = [
  [
    "an event with many invalid output URLs",
    16_000,
    (count) => {
      const event = anEvent({ urls: Array.from({ length: count }, () => "x") });
      return () => parsedBy(() => validate(TaskFinishEvent, event));
    },
  ],
  [
    "an event with many fields in its metadata",
    4_000,
    (count) => {
      const event = anEvent({ urls: ["https://a.example"], metadata: members(count) });
      return () => validate(TaskFinishEvent, event);
    },
  ],
  [
    "a registration with many unknown fields",
    7_000,
    (count) => () => parsedBy(() => validate(Registration, members(count))),
  ],
  [
    "a long list of invalid task ids",
    16_000,
    (count) => {
      const ids = Array.from({ length: count }, () => "x");
      return () => parsedBy(() => validate(listOf(TaskId, 500), ids));
    },
  ],
  [
    "a long endpoint in a request to attach a provider's job",
    16_384,
    (length) => {
      const endpoint = `${repeated("a/", length)}!`;
      return () => parsedBy(() => validate(Attachment, { provider: "fal", id: "a", endpoint }));
    },
  ],
  [
    "a query with many parameters",
    4_000,
    (count) => {
      const url = new URL("https://relay.example.com/v1/tasks");
      for (let i = 0; i < count; i++) url.searchParams.append(`name-${i % 1_000}`, "a");
      return () => parsedBy(() => readQuery(TaskPage, url));
    },
  ],
  [
    "a deeply nested body",
    16_384,
    (length) => {
      const body = new TextEncoder().encode(repeated("[", length) + repeated("]", length));
      return () => parsedBy(() => readJson(body));
    },
  ],
];

it.each(VALIDATED)("%s is validated in linear time", (_, length, work) => {
  expectLinear(work, length);
});

it.each(withNames(["wait = ", " ", ",", ", ", "wait=1 ", "wait=1", '"', "1"]))(
  "a Prefer header that repeats %s is read in linear time",
  (_, part) => {
    expectLinear((length) => {
      const prefer = `wait=${repeated(part, length)}x`;
      return () => waitMsOf(undefined, prefer);
    }, 8_192);
  },
);

it.each(
  withNames(["a", "a.", ".", "localhost.", "@", "/", "\\", " ", "%41", "1.", "[", "ä", "\u00ad"]),
)("a callback_url that repeats %s is checked in linear time", (_, part) => {
  const policy = { allowLocal: true, allowIp: false, ownOrigin: "https://relay.example.com" };
  expectLinear((length) => {
    const url = `https://${repeated(part, length)}`;
    return () => checkCallbackUrl(url, policy);
  }, 4_096);
});

it("a URL whose host has many different letters is checked in linear time", () => {
  const policy = { allowLocal: true, allowIp: false, ownOrigin: "https://relay.example.com" };
  expectLinear((length) => {
    const letters = Array.from({ length }, (_, i) => 0xac00 + ((i * 7_919) % 11_172));
    const url = `https://${String.fromCodePoint(...letters)}`;
    const event = anEvent({ urls: [url] });
    return () => [
      checkCallbackUrl(url, policy),
      parsedBy(() => validate(TaskFinishEvent, event)),
      urlsOf([url]),
    ];
  }, 1_024);
});

it.each(withNames(["1", "1.", "0", " ", "s"]))(
  "a number or a duration in a provider's text that repeats %s is read in linear time",
  (_, part) => {
    expectLinear((length) => {
      const text = `1${repeated(part, length)}x`;
      const metadata = { duration: text, ratio: text, resolution: text };
      return () => [numberAt(text), percentAt(text), metadataOf(metadata)];
    }, 16_384);
  },
);

it.each(
  withNames([",", " ,", "http", "https://a,", "[", '{"a":', '\\"', "_", "aB", "AB", "cover", "s"]),
)("an answer whose texts and names repeat %s is searched for outputs in linear time", (_, part) => {
  expectLinear((length) => {
    const text = repeated(part, length);
    const answer = { a: text, b: `https://a.example/${text}`, [text]: "https://a.example/b" };
    return () => outputLinks({ main: [answer.b], part: [answer, { type: text }] });
  }, 16_384);
});

it.each(["/v1/videos/", "/v1/tasks/a", "/content", "/", "?access="])(
  "an output URL of a gateway in which %j is repeated is examined in linear time",
  (part) => {
    expectLinear((length) => {
      const path = repeated(part, length);
      return () => openLinks([`https://cdn.example${path}`, `/${path}`], "https://a.example");
    }, 16_384);
  },
);

it.each(withNames(["-", "--", String.raw`\u002d`, "--framespersecon", "--d", "\\", "a"]))(
  "the text of a request is searched for the parameters of a Seedance prompt in linear time when %s is repeated in it",
  (_, part) => {
    expectLinear((length) => {
      const text = repeated(part, length);
      return () => hasPromptParameters(text);
    }, 65_536);
  },
);

it.each(["/", "a/", "a", "/v1/models/a/", ".", "-", "/requests"])(
  "whether a path with many repetitions of %j is that of a submission is decided in linear time",
  (part) => {
    const adapters = [...PROVIDERS.values()].flatMap(({ submits }) => submits ?? []);
    expectLinear((length) => {
      const path = `/v1/models/${repeated(part, length)}`;
      return () => adapters.map(({ target }) => target(path));
    }, 16_384);
  },
);

it("for a result with many fields, computing its stored size, writing its callback body and comparing it with the stored result take linear time", () => {
  expectLinear((count) => {
    const result = aCompletion({ metadata: members(count) });
    const body = callbackBody(anOpenTask(), result, NOW);
    const task = { ...anOpenTask(), body, outputs: null };
    return () => [storedBytes(task), callbackBody(task, result, NOW), sameResult(task, result)];
  }, 2_000);
});

it.each(
  withNames([
    " ",
    "\n",
    "a",
    "a.",
    "a-",
    "1.",
    ":",
    "/hooks/",
    "/hooks/a",
    "/tasks/",
    "webhook-id",
    "msg_",
  ]),
)(
  "a text that repeats %s in the search field of the console is parsed in linear time",
  (_, part) => {
    for (const before of ["", "webhook-id", "x-task-id:", "account:", "https://", "["]) {
      expectLinear((length) => {
        const text = `${before}${repeated(part, length)}a\nb!`;
        return () => searchTarget(text);
      }, 8_192);
    }
  },
);

it.each(withNames(["a", "a:", "a:1", ":1", "1", ",", "a:1,", "\n"]))(
  "the state of a bulk redelivery in the console's form is read in linear time when its list of skipped tasks repeats %s",
  (_, part) => {
    const run = crypto.randomUUID();
    expectLinear((length) => {
      const state = new URLSearchParams({ run, skipped: repeated(part, length) });
      return () => readBulkRedelivery(state);
    }, 16_000);
  },
);

it.each(withNames(['"', '\\"', "\\", '"a"', '"a" ', '"a":', "1", "1e", "-"]))(
  "a text that repeats %s is divided into the tokens of JSON in linear time",
  (_, part) => {
    expectLinear((length) => {
      const text = `"${repeated(part, length)}\n`;
      return () => codeTokens(text);
    }, 8_192);
  },
);

it.each(
  withNames([
    " ",
    "> ",
    "\n ",
    "\n v1,",
    "webhook-id",
    "webhook-id ",
    "webhook-id:",
    "[",
    "b'",
    '\\"',
    "v1,a ",
  ]),
)(
  "the headers of a callback that a user pastes into the console to check its signature are read in linear time when they repeat %s",
  (_, part) => {
    for (const before of ["", "webhook-id", "webhook-signature: "]) {
      expectLinear((length) => {
        const text = `${before}${repeated(part, length)}x`;
        return () => readPastedHeaders(text);
      }, 16_000);
    }
  },
);

const searches = (pattern: RegExp) => (length: number) => {
  const text = repeated("a", length);
  return () => pattern.test(text);
};

it("the function that measures linear time in these tests lets a linear search pass, and fails for a pattern that takes cubic time on the same texts", () => {
  expectLinear(searches(/b/), 128);
  expect(() => expectLinear(searches(/a+a+b/), 128)).toThrow("less than");
});
