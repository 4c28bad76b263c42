import { expect, it } from "vitest";
import { startArguments } from "../../../scripts/dev/start-arguments.ts";
import { settingLines } from "../../../scripts/dev/summary.ts";

const DEV = '[dev]\nip = "127.0.0.1"\nport = 9000\nlocal_protocol = "https"\n';

const SOON = ["--var", "INDEX_DELAY_S:1"];

it.each([
  ["no arguments", "", "", "--port 8787", "http://localhost:8787"],
  ["the option --port", "--port 9001 --live-reload", "", "", "http://localhost:9001"],
  [
    "the options --ip and --local-protocol",
    "--ip ::1 --local-protocol=https",
    "",
    "--port 8787",
    "https://[::1]:8787",
  ],
  [
    "the option --ip 0.0.0.0, which means every address of the machine,",
    "--ip 0.0.0.0 --port=80",
    "",
    "",
    "http://127.0.0.1:80",
  ],
  ["the table [dev] in wrangler.toml", "", DEV, "", "https://127.0.0.1:9000"],
  [
    "the table [dev] in wrangler.toml and the option --port",
    "--port 9001",
    DEV,
    "",
    "https://127.0.0.1:9001",
  ],
])(
  "npm start with %s sets PUBLIC_URL to the address that wrangler prints, and lists a new task after a second",
  (_, given, toml, listen, origin) => {
    const args = words(given);
    const added = [...words(listen), "--var", `PUBLIC_URL:${origin}`, ...SOON];
    expect(startArguments(args, { toml, devVars: "" })).toMatchObject({
      args: [...args, ...added],
      address: { origin, port: Number(new URL(origin).port || 80) },
    });
  },
);

it.each([
  ["when --var sets it", "--var PUBLIC_URL:https://a.example", ""],
  ["when --var= sets it", "--var=PUBLIC_URL:https://a.example --port 9001", ""],
  ["with --tunnel", "--tunnel", ""],
  ["with --remote", "--remote", ""],
  ["with -r", "-r", ""],
  ["with --port 0", "--port 0", ""],
  ["when .dev.vars sets it", "", 'RELAY_SECRET="x"\nPUBLIC_URL="https://a.example"\n'],
])(
  "npm start does not set PUBLIC_URL %s, and makes wrangler use port 8787 unless --port is given",
  (_, given, devVars) => {
    const listen = given.includes("--port") ? "" : " --port 8787";
    const { args } = startArguments(words(given), { toml: "", devVars });
    const soon = given.includes("--port 0") ? [] : SOON;
    expect(args).toEqual([...words(given + listen), ...soon]);
  },
);

it("npm start names the connections and pools that work, and the faults of those that do not", () => {
  const lines = settingLines({
    configuration: { SANDBOX: true, LISTEN: false },
    connections: { "kling-a": {}, "kling-b": {} },
    pools: { kling: {} },
    disabled: [{ issues: [{ path: "CONNECTIONS.ark-0.in_flight", message: "is wrong" }] }],
  });
  expect(lines).toEqual([
    "Switched on: SANDBOX, connection kling-a, connection kling-b, pool kling",
    "Disabled by faults: CONNECTIONS.ark-0.in_flight is wrong",
  ]);
});

it.each([
  ["--var sets it", "--var INDEX_DELAY_S:30", ""],
  [".dev.vars sets it", "", "INDEX_DELAY_S=30"],
])("npm start does not set INDEX_DELAY_S when %s", (_, given, devVars) => {
  const { args } = startArguments(words(given), { toml: "", devVars });
  expect(args).not.toContain("INDEX_DELAY_S:1");
});

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
