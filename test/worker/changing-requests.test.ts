import { expect, it, onTestFinished } from "vitest";
import { get, post, send, sendChangesThrough, submit, upload } from "../../src/outbound/http.ts";
import { answering, intercept } from "./outside.ts";

const { signal } = new AbortController();
const at = (name: string) => ({ url: `https://api.example.net/${name}`, headers: {} });

it("submissions, uploads, callbacks and cancellations are sent through the service that opens new connections, and polls are not", async () => {
  const onKeptConnections = intercept(answering({}));
  const onNewConnections: string[] = [];
  sendChangesThrough({
    fetch: async (input) => {
      onNewConnections.push(new Request(input).url);
      return Response.json({});
    },
  });
  onTestFinished(() => sendChangesThrough(null));

  await submit({ ...at("submission"), headers: new Headers(), body: null, isLarge: false }, 1_000);
  await upload({ ...at("upload"), headers: new Headers(), body: null, isLarge: false }, signal);
  await post({ ...at("callback"), body: "{}" }, 1_000);
  await send({ ...at("cancel"), method: "POST" }, signal);
  await get(at("poll"), signal);
  await get({ ...at("poll-with-body"), body: {} }, signal);

  const changing = ["submission", "upload", "callback", "cancel"];
  expect(onNewConnections).toEqual(changing.map((name) => at(name).url));
  const polls = ["poll", "poll-with-body"];
  expect(onKeptConnections.map(({ url }) => url)).toEqual(polls.map((name) => at(name).url));
});
