import { expect, it } from "vitest";
import { aReceiver } from "./receiver.ts";
import { invalid, post, refusal } from "./client.ts";
import { START, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { aCompletion, aFailure, register, report, VIDEO } from "./tasks.ts";

useClock();

const output = (fields: object) => ({ output: { urls: [VIDEO], ...fields } });
const metadata = (fields: object) => output({ metadata: fields });
const error = { code: "a", message: "b" };
const failed = (fields: object) => ({ status: "failed", output: null, ...fields });
const processing = (fields: object) => ({ status: "processing", output: null, ...fields });
const META = "/output/metadata";

const FIELDS: readonly [string, object, string][] = [
  ["an unknown status", { status: "done" }, "/status"],
  ["a status in upper case", { status: "COMPLETED" }, "/status"],
  ["the status pending, which only a registration gives", { status: "pending" }, "/status"],
  ["a missing status", { status: undefined }, "/status"],
  ["an id that is no UUID", { id: "42" }, "/id"],
  ["a missing id", { id: undefined }, "/id"],
  ["an id that is a number", { id: 42 }, "/id"],
  ["a completion without output", { output: undefined }, "/output"],
  ["an output that is a list", { output: [] }, "/output"],
  ["an output without urls", { output: {} }, "/output/urls"],
  ["an output with empty urls", output({ urls: [] }), "/output/urls"],
  ["an output whose urls are text", output({ urls: VIDEO }), "/output/urls"],
  ["an ftp output URL", output({ urls: [VIDEO, "ftp://a.example/b"] }), "/output/urls/1"],
  ["a javascript output URL", output({ urls: ["javascript:alert(1)"] }), "/output/urls/0"],
  ["a relative output URL", output({ urls: ["/video.mp4"] }), "/output/urls/0"],
  ["an empty output URL", output({ urls: [""] }), "/output/urls/0"],
  ["an output URL that is null", output({ urls: [null] }), "/output/urls/0"],
  ["metadata that is a list", output({ metadata: [] }), META],
  ["a seed as text", metadata({ seed: "42" }), `${META}/seed`],
  ["a seed with a fraction", metadata({ seed: 1.5 }), `${META}/seed`],
  ["a ratio as a number", metadata({ ratio: 1 }), `${META}/ratio`],
  ["a duration as text", metadata({ duration: "5" }), `${META}/duration`],
  ["a resolution as a number", metadata({ resolution: 7 }), `${META}/resolution`],
  ["generate_audio as text", metadata({ generate_audio: "true" }), `${META}/generate_audio`],
  ["framespersecond 23.976", metadata({ framespersecond: 23.976 }), `${META}/framespersecond`],
  ["an error on a completed event", { error }, "/error"],
  ["a completed_at with a fraction", { completed_at: START_S + 0.5 }, "/completed_at"],
  ["a negative completed_at", { completed_at: -1 }, "/completed_at"],
  ["a completed_at in milliseconds", { completed_at: START }, "/completed_at"],
  ["a completed_at as text", { completed_at: "now" }, "/completed_at"],
  ["a created_at in milliseconds", { created_at: 100_000_000_000 }, "/created_at"],
  ["a created_at with a fraction", { created_at: 0.5 }, "/created_at"],
  ["a negative created_at", { created_at: -5 }, "/created_at"],
  ["a model that is a number", { model: 5 }, "/model"],
  ["an empty model", { model: "" }, "/model"],
  ["a callback_url that is a number", { callback_url: 5 }, "/callback_url"],
  ["an account with a space", { account: "a b" }, "/account"],
  ["a failure without error", failed({}), "/error"],
  ["a failure whose error is text", failed({ error: "x" }), "/error"],
  ["a failure without error.code", failed({ error: { message: "b" } }), "/error/code"],
  ["a failure without error.message", failed({ error: { code: "a" } }), "/error/message"],
  ["an empty error.code", failed({ error: { ...error, code: "" } }), "/error/code"],
  ["output on a failed event", { status: "failed", error }, "/output"],
  ["output on a processing event", { status: "processing" }, "/output"],
  ["completed_at on a failed event", failed({ error, completed_at: 5 }), "/completed_at"],
  ["completed_at on a processing event", processing({ completed_at: 5 }), "/completed_at"],
  ["an error on a processing event", processing({ error }), "/error"],
];

it.each(FIELDS)(
  "POST /v1/events rejects %s, names the field and changes nothing",
  async (_, fields, path) => {
    const received = aReceiver();
    const [known, unknown] = [await register(), crypto.randomUUID()];
    await expectUnchanged(known, async () => {
      for (const id of [known, unknown]) {
        const response = await report(aCompletion(id, { model: "m", ...fields }));
        expect(await refusal(response)).toEqual(invalid(path));
      }
    });
    expect(await stored(unknown)).toEqual(NOTHING);
    expect(received).toEqual([]);
  },
);

it("POST /v1/events names every fault of an event with several", async () => {
  const event = aFailure("x", { error: { code: 1 }, created_at: -1 });
  const { paths } = await refusal(await report(event));
  expect(paths?.toSorted()).toEqual(["/created_at", "/error/code", "/error/message", "/id"]);
});

it.each([
  ["an empty body", "", "invalid_request"],
  ["an empty object", "{}", "invalid_request"],
  ["a list", "[]", "invalid_request"],
  ["text in JSON", '"completed"', "invalid_request"],
  ["null", "null", "invalid_request"],
  ["a number", "7", "invalid_request"],
  ["5,000 nested lists", `{"output":${"[".repeat(5000)}${"]".repeat(5000)}}`, "invalid_request"],
  ["a body that ends early", '{"id":', "invalid_json"],
  ["text after the object", "{} {}", "invalid_json"],
  ["single quotes", "{'id':1}", "invalid_json"],
  ["NaN", '{"id":NaN}', "invalid_json"],
  ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_json"],
  ["a form", "id=1&status=completed", "invalid_json"],
])("POST /v1/events rejects %s as a body with one issue", async (_, body, code) => {
  const problem = await refusal(await post("/v1/events", body));
  expect(problem).toEqual({ status: 400, code, paths: [expect.any(String)] });
});
