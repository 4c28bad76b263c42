import type { ConformanceCase } from "./cases.ts";
import { respelt, UNKNOWN_SECRET } from "./genuine-cases.ts";
import { type RequestBuilder, type SentRequest, withHeader, withSignature } from "./requests.ts";

const TEN_MINUTES_S = 600;
const HOUR_S = 3_600;

/** Requests that a receiver must refuse. */
export const FORGED: readonly ConformanceCase[] = [
  forged(
    "changed-body",
    "its body was changed after it was signed",
    "it does not compute the signature of the body that arrived",
    async (builder) => changedBody(await builder.signed()),
  ),
  forged(
    "respelt-body",
    "its JSON was written anew after it was signed, with other white space",
    "it verifies JSON that it has parsed and written again, not the bytes that arrived",
    async (builder) => {
      const request = await builder.signed();
      return { ...request, body: respelt(request.body) };
    },
  ),
  forged(
    "empty-body",
    "its body was removed after it was signed",
    "it does not verify an empty body",
    async (builder) => ({ ...(await builder.signed()), body: "" }),
  ),
  forged(
    "changed-id",
    "its webhook-id was changed after it was signed, so that an old request looks like a new one",
    "it leaves the webhook-id out of the signed content",
    async (builder) => withHeader(await builder.signed(), "webhook-id", "msg_changed"),
  ),
  forged(
    "changed-timestamp",
    "it was signed an hour ago and got a new timestamp afterwards",
    "it leaves the timestamp out of the signed content",
    async (builder) => {
      const { headers } = await builder.signed();
      const now = headers["webhook-timestamp"] ?? "";
      return withHeader(await builder.signed({ ageS: HOUR_S }), "webhook-timestamp", now);
    },
  ),
  forged(
    "changed-signature",
    "one character of its signature was changed",
    "it does not compare the whole signature",
    async (builder) =>
      withSignature(await builder.signed(), (signature, version) => {
        return `${version},${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
      }),
  ),
  forged(
    "cut-signature",
    "only the first ten characters of its signature were sent",
    "it compares only as many characters as it was given",
    async (builder) =>
      withSignature(await builder.signed(), (text, version) => `${version},${text.slice(0, 10)}`),
  ),
  forged(
    "empty-signature",
    "its signature is empty",
    "it compares only as many characters as it was given",
    async (builder) => withSignature(await builder.signed(), (_, version) => `${version},`),
  ),
  forged(
    "other-version",
    "its signature has the name of a scheme that does not exist",
    "it does not look at the name of the scheme before the comma",
    async (builder) => withSignature(await builder.signed(), (text) => `v9,${text}`),
  ),
  forged("wrong-secret", UNKNOWN_SECRET.when, UNKNOWN_SECRET.reason, async (builder) =>
    builder.signed({ keys: builder.scheme.unknown }),
  ),
  forged(
    "public-key-as-secret",
    "it was signed with HMAC under the public key, which everybody knows",
    "it lets the request choose the scheme",
    async (builder) => builder.signedWithPublicKey(),
  ),
  forged(
    "old",
    "it was signed ten minutes ago",
    "it does not check the age of the timestamp, so that a recorded request works for ever",
    async (builder) => builder.signed({ ageS: TEN_MINUTES_S }),
  ),
  forged(
    "future",
    "its timestamp lies ten minutes ahead",
    "it checks only that the timestamp is not too old",
    async (builder) => builder.signed({ ageS: -TEN_MINUTES_S }),
  ),
  forged(
    "malformed-timestamp",
    "its timestamp is no number",
    "it computes with a timestamp that is no number, for which no comparison is true",
    async (builder) => builder.signed({ timestamp: "soon" }),
  ),
  ...["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    forged(
      `missing-${name.slice("webhook-".length)}`,
      `the header ${name} is missing`,
      "it does not require all three headers",
      async (builder) => withHeader(await builder.signed(), name, null),
    ),
  ),
  forged(
    "unsigned",
    "all three headers of the signature are missing",
    "it does not require the headers",
    async (builder) => {
      const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
      return names.reduce(
        (request, name) => withHeader(request, name, null),
        await builder.signed(),
      );
    },
  ),
];

function forged(
  name: string,
  when: string,
  reason: string,
  request: (builder: RequestBuilder) => Promise<SentRequest>,
): ConformanceCase {
  const requests: ConformanceCase["requests"] = async (builder) => [
    { expected: "refuse", request: await request(builder) },
  ];
  return { name, when, reason, requests };
}

function changedBody(request: SentRequest): SentRequest {
  return { ...request, body: request.body.replace("conformance.mp4", "somebody-elses.mp4") };
}
