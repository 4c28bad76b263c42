import { expect, it } from "vitest";
import { attemptCurl } from "../../../src/console/parts/attempt-curl.ts";

it("the console quotes the URL, headers and body in the curl command that repeats a callback attempt, so that a shell expands nothing in it", () => {
  const attempt = {
    method: "POST",
    url: "https://client.example.com/hook?a=$(id)",
    headers: { "webhook-id": "msg_`id`" },
    body: '{"it\'s":"$HOME"}',
    exact: true,
    signed_by: [],
  } as const;
  const sent = ["-H 'webhook-id: msg_`id`'", `--data-binary '{"it'\\''s":"$HOME"}'`];
  const command = (url: string) => [`curl -gi ${url}`, ...sent].join(" \\\n  ");
  expect(attemptCurl(attempt)).toBe(command("'https://client.example.com/hook?a=$(id)'"));
  expect(attemptCurl(attempt, "http://localhost:3000/")).toBe(command("http://localhost:3000/"));
});
