import { expect, it } from "vitest";
import { startArguments } from "../../../scripts/start-arguments.ts";

const PORT = 9123;
const DEV = '[dev]\nip = "127.0.0.1"\nport = 9000\nlocal_protocol = "https"\n';

it.each([
  ["no arguments", "", "", "--port 9123", "http://localhost:9123"],
  ["the option --port", "--port 9001 --live-reload", "", "", "http://localhost:9001"],
  [
    "the options --ip and --local-protocol",
    "--ip ::1 --local-protocol=https",
    "",
    "--port 9123",
    "https://[::1]:9123",
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
  "npm start with %s sets PUBLIC_URL to the address that wrangler prints",
  (_, given, toml, listen, origin) => {
    const args = words(given);
    const added = [...words(listen), "--var", `PUBLIC_URL:${origin}`];
    expect(startArguments(args, { toml, devVars: "" }, PORT)).toEqual([...args, ...added]);
  },
);

it.each([
  ["--var PUBLIC_URL:https://a.example", ""],
  ["--var=PUBLIC_URL:https://a.example", ""],
  ["--tunnel", ""],
  ["--remote", ""],
  ["-r", ""],
  ["--port 0", ""],
  ["", 'RELAY_SECRET="x"\nPUBLIC_URL="https://a.example"\n'],
])(
  "npm start with the arguments %j and a file .dev.vars with the content %j does not set PUBLIC_URL itself",
  (given, devVars) => {
    expect(startArguments(words(given), { toml: "", devVars }, PORT)).toEqual(words(given));
  },
);

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
