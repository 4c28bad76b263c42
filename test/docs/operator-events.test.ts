import { expect, it } from "vitest";
import INDEX_PAGE from "../../docs/index.md?raw";
import { OPERATOR_EVENT_TYPES, parseOperatorEvents } from "../../src/config/operator-events.ts";
import { operatorBody } from "../../src/outbound/operator-body.ts";
import { NOW } from "../core/builders.ts";

it("docs/index.md has a table row for each type of operator event, and for no other", () => {
  const [, section = ""] = INDEX_PAGE.split("## Operator events");
  const documented = Array.from(section.matchAll(/^\| `([\w.]+)` \|/gm), ([, type]) => type);
  expect(new Set(documented)).toEqual(new Set(OPERATOR_EVENT_TYPES));
});

it.each([
  ["", "every type of operator event, because it names none", []],
  [OPERATOR_EVENT_TYPES.join(" "), "every type of operator event, because it names all", []],
  [
    "host.failing,index.full",
    "only the types of operator events that it names",
    ["callback.failed", "refund.delayed"],
  ],
])("with OPERATOR_EVENTS=%j the relay sends %s", (value, _, left) => {
  const parsed = parseOperatorEvents(value);
  const others = parsed.ok ? [...parsed.value] : ["refused"];
  expect(others).toHaveLength(left.length === 0 ? 0 : OPERATOR_EVENT_TYPES.length - 2);
  expect(others).toEqual(expect.arrayContaining(left));
});

const HOST = "a&b.example.com:8443";

it.each([
  [
    "of one task",
    { taskId: "t", account: "a&b", host: HOST, task: "{}", details: null },
    `task: t\naccount: a&amp;b\nhost: a&amp;b.example.com:8443`,
  ],
  [
    "of two tasks to one host, which it only counts",
    { host: HOST, since: 1, failed: 2, tasks: ["t", "u"] },
    "host: a&amp;b.example.com:8443\nsince: 1\nfailed: 2",
  ],
])(
  "in a Slack message about failed callbacks %s, the characters of Slack's markup are escaped",
  (_, facts, lines) => {
    const event = { type: "callback.failed", ...facts } as const;
    const publicUrl = "https://relay.example.com/<&>";
    const body = operatorBody(event, NOW, { isOperatorOnSlack: true, publicUrl });
    const relay = "relay: https://relay.example.com/&lt;&amp;&gt;";
    expect(JSON.parse(body)).toEqual({ text: `*callback.failed*\n${lines}\n${relay}` });
  },
);

it("the Slack message upstream.unclear shows the upstream's unknown word for the job's state, escaped and on one line, and nothing of the job's result", () => {
  const event = {
    type: "upstream.unclear",
    taskId: "t",
    account: "acme",
    host: null,
    task: '{"secret":"s"}',
    details: { status_code: 200, word: "<!channel>\n&", output: { urls: ["secret"] } },
  } as const;
  const body = operatorBody(event, NOW, { isOperatorOnSlack: true, publicUrl: null });
  expect(JSON.parse(body)).toEqual({
    text: "*upstream.unclear*\ntask: t\naccount: acme\nstatus_code: 200\nword: &lt;!channel&gt; &amp;",
  });
});
