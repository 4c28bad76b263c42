import { connect } from "node:net";
import { expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));

/** Sends a request over a socket, because `fetch` refuses such hosts, and returns the answer as text. */
async function answerTo(
  line: string,
  host: string,
  headers: readonly string[] = [],
  body = "",
): Promise<string> {
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1").setEncoding("utf8");
  const head = [`${line} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  return (await socket.toArray()).join("");
}

/** Returns a value of the header Host with its text in titles: as JSON, or its length when it is long. */
const named = (host: string) =>
  [host.length > 200 ? `of ${host.length} letters` : JSON.stringify(host), host] as const;

it.each(
  [
    "a b",
    "x:99999",
    "[::1",
    "%",
    "a\r\nHost: b",
    "relay.example.com/v1/tasks?",
    "relay.example.com?",
    "relay.example.com#",
    "relay.example.com\\",
    "user:password@relay.example.com",
    "relay\t.example.com",
    "a".repeat(261),
  ].map(named),
)(
  "a request with the Host header %s, which is not valid, gets 400 invalid_request with a request id, on any path and with any method",
  async (_, host) => {
    for (const line of ["GET /healthz", "GET /v1/tasks", "GET /nowhere", "PATCH /v1/tasks"]) {
      const [head = "", body = ""] = (await answerTo(line, host)).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 400 /);
      expect(head).toMatch(/^X-Request-Id: [-\da-f]{36}\r?$/m);
      expect(head).toMatch(/^Content-Type: application\/problem\+json\r?$/m);
      expect(JSON.parse(body)).toMatchObject({
        type: expect.stringMatching(
          /^(http:\/\/relay\.example\.com)?\/docs\/errors#invalid_request$/,
        ),
        code: "invalid_request",
        issues: [{ path: "/Host" }],
      });
    }
    expect(relay.output).not.toMatch(/request\.|exception/);
  },
);

it.each(
  ["relay.example.com", "relay.example.com:8443", "[::1]:8787", "127.0.0.1", "a".repeat(260)].map(
    named,
  ),
)(
  "a request with the Host header %s, which is valid, is answered by the route of its path",
  async (_, host) => {
    expect(await answerTo("GET /healthz", host)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await answerTo("GET /nowhere", host)).toMatch(/^HTTP\/1\.1 404 /);
  },
);

it.each(["/v1/tasks", "https://relay.example.com/v1/tasks"])(
  "on plain workerd without PUBLIC_URL, no header makes a host that the caller has chosen the origin of a hook URL, with %s as the target of the request",
  async (target) => {
    const body = JSON.stringify({ model: "m", provider: "ark" });
    const headers = [
      `Authorization: Bearer ${OPERATOR_KEY}`,
      `Content-Length: ${body.length}`,
      "X-Forwarded-Proto: https",
      'CF-Visitor: {"scheme":"https"}',
      "CF-Ray: 8f0000000000abcd-FRA",
      "CF-Connecting-IP: 203.0.113.7",
      'CF-Blob: {"colo":"FRA"}',
      'cf: {"colo":"FRA"}',
    ];
    const answer = await answerTo(`POST ${target}`, "relay.example.com", headers, body);
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toContain('"code":"not_configured"');
    expect(answer).not.toContain("/hooks/");
  },
);
