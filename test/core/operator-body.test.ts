import { expect, it } from "vitest";
import { operatorBody } from "../../src/outbound/operator-body.ts";

it("an operator event that is sent to Slack has one line for each fact, and escapes the characters with which a text could contain Slack's own markup", () => {
  const event = { type: "host.failing", host: "<!channel>\n&" } as const;
  const body = operatorBody(event, 0, { isOperatorOnSlack: true, publicUrl: null });
  expect(JSON.parse(body)).toEqual({ text: "*host.failing*\nhost: &lt;!channel&gt; &amp;" });
});
