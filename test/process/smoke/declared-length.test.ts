import { connect } from "node:net";
import { expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));

/** Sends an event over a socket, because `fetch` sets the length itself, and returns the answer as text. */
function answerTo(contentLength: string, body: string): Promise<string> {
  return answer(`Content-Length: ${contentLength}`, body, false);
}

/**
 * Sends a body and returns the answer. @param isEnded true to send nothing more after the body, false to wait
 * for the answer first.
 */
async function answer(framing: string, body: string, isEnded: boolean): Promise<string> {
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1").setEncoding("utf8");
  const headers = ["Host: localhost", `Authorization: Bearer ${OPERATOR_KEY}`, "Connection: close"];
  const lines = ["POST /v1/events HTTP/1.1", ...headers, framing];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  if (isEnded) socket.end();
  return (await socket.toArray()).join("");
}

it("the body of a request ends at its Content-Length, whatever the sender writes after that", async () => {
  expect(await answerTo("8", '{"id":1}')).toContain('"code":"invalid_request"');
  expect(await answerTo("8", '{"id":1}garbage')).toContain('"code":"invalid_request"');
  expect(await answerTo("8", '{"id": 1}garbage')).toContain('"code":"invalid_json"');
});

it.each(["-1", "many", "8, 9"])(
  "a request with the Content-Length %j is refused by the server before the relay sees it",
  async (contentLength) => {
    const refusal = await answerTo(contentLength, '{"id":1}');
    expect(refusal).toMatch(/^HTTP\/1\.1 400 /);
    expect(refusal).not.toContain("X-Request-Id");
  },
);

it.each([
  ["Content-Length: 80", '{"id":1}'],
  ["Transfer-Encoding: chunked", '8\r\n{"id":1}\r\n'],
])(
  "a body with %s whose sender stops before its end is refused as incomplete, although the part that arrived is valid JSON",
  async (framing, body) => {
    expect(await answer(framing, body, true)).toContain("The body ended before it was complete.");
  },
);
