import { expect, it } from "vitest";
import { operatorBody } from "../../src/outbound/operator-body.ts";

it("a message for Slack escapes the characters with which a text would give orders to the chat, and is one line for each fact", () => {
  const event = { type: "host.failing", host: "<!channel>\n&" } as const;
  const body = operatorBody(event, 0, { isOperatorOnSlack: true, publicUrl: null });
  expect(JSON.parse(body)).toEqual({ text: "*host.failing*\nhost: &lt;!channel&gt; &amp;" });
});
