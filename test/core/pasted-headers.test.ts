import { expect, it } from "vitest";
import { readPastedHeaders } from "../../src/security/doctor/pasted-headers.ts";

const READ = { id: "msg_1", timestamp: "1792497600", signature: "v1,a+b/c= v1a,d==" };
const HEADERS = {
  "webhook-id": READ.id,
  "webhook-timestamp": READ.timestamp,
  "webhook-signature": READ.signature,
};
const ENTRIES = Object.entries(HEADERS);
const LINES = ENTRIES.map(([name, value]) => `${name}: ${value}`);
const [ID_LINE = "", TIME_LINE = ""] = LINES;

const written = (write: (name: string, value: string) => string, separator = "\n") =>
  ENTRIES.map(([name, value]) => write(name, value)).join(separator);
const capital = (name: string) => name.replaceAll(/\b\w/g, (letter) => letter.toUpperCase());
const constant = (name: string) => `HTTP_${name.toUpperCase().replace("-", "_")}`;

it.each([
  ["an object", HEADERS],
  [
    "an object with names in capitals",
    Object.fromEntries(ENTRIES.map(([name, value]) => [name.toUpperCase(), value])),
  ],
  [
    "an object with lists as values",
    Object.fromEntries(ENTRIES.map(([name, value]) => [name, value.split(" ")])),
  ],
  ["lines of a request", `POST /hook HTTP/1.1\r\nHost: a.example\r\n${LINES.join("\r\n")}\r\n\r\n`],
  ["a quoted mail", written((name, value) => `> ${name}: ${value}`, "\r\n")],
  ["the output of curl -v", written((name, value) => `< ${name}: ${value}`)],
  ["-H options of curl", written((name, value) => `-H '${name}: ${value}' \\`)],
  ["JSON", JSON.stringify(HEADERS, null, 2)],
  ["JSON inside a JSON string", JSON.stringify(JSON.stringify(HEADERS))],
  [
    "a printed map of Go",
    `map[Host:[a] ${written((name, value) => `${capital(name)}:[${value}]`, " ")}]`,
  ],
  [
    "a printed dictionary of Python",
    `{${written((name, value) => `'${name}': '${value}'`, ", ")}}`,
  ],
  ["a printed list of tuples", `[${written((name, value) => `(b'${name}', b'${value}')`, ", ")}]`],
  ["a printed array of PHP", written((name, value) => `[${constant(name)}] => ${value}`)],
  ["environment variables of CGI", written((name, value) => `${constant(name)}=${value}`)],
  [
    "lines of which a long one was wrapped",
    `${ID_LINE}\n${TIME_LINE}\nwebhook-signature: v1,a+b/c=\n  v1a,d==`,
  ],
])("the signature check reads the webhook headers that a user pastes as %s", (_, pasted) => {
  expect(readPastedHeaders(pasted)).toEqual(READ);
});

it.each([
  ["headers with other names", "Host: a.example\nContent-Type: application/json"],
  ["a header without a value", "webhook-id:\nwebhook-timestamp: "],
  ["a value that is no object", 7],
  [
    "an object whose values are no text",
    { "webhook-id": { toString: 1 }, "webhook-timestamp": [{ toString: 1 }] },
  ],
  ["a text that only mentions a header", "the webhook-id was missing"],
])("the signature check reads no webhook header when a user pastes %s", (_, pasted) => {
  expect(readPastedHeaders(pasted)).toEqual({ id: null, timestamp: null, signature: null });
});
