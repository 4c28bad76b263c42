import { connect } from "node:net";
import { expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));

/** Sends an event over a socket, because `fetch` sets the length itself, and returns the answer as text. */
async function answerTo(contentLength: string, body: string): Promise<string> {
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1").setEncoding("utf8");
  const headers = ["Host: localhost", `Authorization: Bearer ${OPERATOR_KEY}`, "Connection: close"];
  const lines = ["POST /v1/events HTTP/1.1", ...headers, `Content-Length: ${contentLength}`];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return (await socket.toArray()).join("");
}

it("the body of a request ends at its Content-Length, whatever the sender writes after it", async () => {
  expect(await answerTo("8", '{"id":1}')).toContain('"code":"invalid_request"');
  expect(await answerTo("8", '{"id":1}garbage')).toContain('"code":"invalid_request"');
  expect(await answerTo("8", '{"id": 1}garbage')).toContain('"code":"invalid_json"');
});

it.each(["-1", "many", "8, 9"])(
  "the server refuses a request with the Content-Length %j before the relay sees it",
  async (contentLength) => {
    const answer = await answerTo(contentLength, '{"id":1}');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).not.toContain("X-Request-Id");
  },
);
