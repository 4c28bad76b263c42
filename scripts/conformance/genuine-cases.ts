import type { ConformanceCase, Expected, Particular } from "./cases.ts";
import type { RequestBuilder, SentRequest } from "./requests.ts";

const FOUR_MINUTES_S = 240;

const COMPLETED: Particular = {
  when: "its task has completed",
  reason: "it verifies with another secret, or verifies something else than the bytes that arrive",
};

/** Description of a request that is signed with a secret which the receiver does not know. */
export const UNKNOWN_SECRET: Particular = {
  when: "it was signed with another secret",
  reason: "it does not verify the signature",
};

/** Requests that a receiver must accept. */
export const GENUINE: readonly ConformanceCase[] = [
  {
    name: "completed",
    when: "its task has completed",
    reason:
      "it verifies with another secret, or verifies something else than the bytes that arrive",
    requests: async (builder) => [act(await builder.signed())],
  },
  {
    name: "failed",
    when: "its task has failed",
    reason: "it expects an output, which a failed task does not have",
    requests: async (builder) => [act(await builder.signed({ body: failed(builder) }))],
  },
  {
    name: "unicode",
    when: "its body has characters beyond ASCII",
    reason: "it does not verify the bytes of the body, but text in another encoding than UTF-8",
    requests: async (builder) => [act(await builder.signed({ body: unicode(builder) }))],
  },
  {
    name: "exact-bytes",
    when: "its JSON is spelt in a way that no library writes",
    reason: "it verifies JSON that it has parsed and written again, not the bytes that arrived",
    requests: async (builder) => [act(await builder.signed({ body: respelt(builder.body()) }))],
  },
  {
    name: "rotated-secret",
    when: "the first of its two signatures belongs to another secret, as during a rotation",
    reason: "it compares only the first signature",
    requests: async (builder) => {
      const { known, unknown } = builder.scheme;
      return [act(await builder.signedByAll([unknown, known]))];
    },
  },
  {
    name: "two-schemes",
    when: "a signature of the other scheme comes first",
    reason: "it does not skip the signatures of a scheme that it does not use",
    requests: async (builder) => {
      const { known, otherScheme } = builder.scheme;
      return [act(await builder.signedByAll([otherScheme, known]))];
    },
  },
  {
    name: "slow-clock",
    when: "it was signed four minutes ago",
    reason: "it allows less than five minutes between the clocks",
    requests: async (builder) => [act(await builder.signed({ ageS: FOUR_MINUTES_S }))],
  },
  {
    name: "fast-clock",
    when: "its timestamp lies four minutes ahead",
    reason: "it allows less than five minutes between the clocks",
    requests: async (builder) => [act(await builder.signed({ ageS: -FOUR_MINUTES_S }))],
  },
  {
    name: "repeated",
    when: "it has come before, byte for byte",
    reason: "a repetition has to be answered with 2xx, or the relay goes on sending it",
    requests: async (builder) => {
      const request = await builder.signed();
      return [first(request), acknowledge(request)];
    },
  },
  {
    name: "later-attempt",
    when: "it has come before, as an earlier attempt with another timestamp",
    reason: "a repetition has to be answered with 2xx, or the relay goes on sending it",
    requests: async (builder) => [
      first(await builder.signed({ ageS: 30 })),
      acknowledge(await builder.signed({ attempt: 2 })),
    ],
  },
  {
    name: "after-forgery",
    when: "a forged request with its webhook-id has come before",
    reason: "it stores the webhook-id of a request that it must refuse",
    requests: async (builder) => {
      const request = await builder.signed({ keys: builder.scheme.unknown });
      const forged: Expected = { expected: "refuse", request, preparation: UNKNOWN_SECRET };
      return [forged, act(await builder.signed())];
    },
  },
];

/** Writes JSON again with other white space and escapes; its meaning stays the same. */
export function respelt(json: string): string {
  return json
    .replaceAll(`":`, `" : `)
    .replaceAll(`,"`, `,\n  "`)
    .replace("https://", String.raw`https:\/\/`)
    .replace(`"duration" : 5`, `"duration" : 5.0`);
}

function act(request: SentRequest): Expected {
  return { expected: "act", request };
}

/** Builds a genuine request that is going to be repeated. */
function first(request: SentRequest): Expected {
  return { ...act(request), preparation: COMPLETED };
}

function acknowledge(request: SentRequest): Expected {
  return { expected: "acknowledge", request };
}

function failed(builder: RequestBuilder): string {
  const error = { code: "upstream_error", message: "The prompt was refused." };
  return builder.body({ status: "failed", error });
}

function unicode(builder: RequestBuilder): string {
  return builder.body().replace(`"16:9"`, `"16:9 – é 影片 🎬"`);
}
