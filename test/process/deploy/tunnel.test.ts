import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tunnelledCallback } from "../../../scripts/deploy/verified-callback.ts";
import { Relay } from "../../../scripts/doctor/relay.ts";
import { ENVIRONMENTS } from "../../../scripts/environments.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const ADDRESS = "https://three-odd-words.trycloudflare.com";
const other = await forThisFile(Receiver.start());
const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));

/** URLs that cannot be reached, each used once in place of the tunnel. */
const unreached = [await closedPort()];

/** The relay, whose callbacks to the address of the tunnel reach what a function names. */
class RelayBeforeTunnel extends Relay {
  readonly #target: () => string;

  constructor(origin: string, target: () => string) {
    super(origin, OPERATOR_KEY);
    this.#target = target;
  }

  override ask(path: string, body?: object) {
    if (body === undefined) return super.ask(path);
    const sent: object = JSON.parse(JSON.stringify(body).replace(ADDRESS, this.#target()));
    return super.ask(path, sent);
  }
}

it.each([
  [
    "delivered and verified, when the tunnel leads to this machine",
    (target: string) => target,
    "callback: delivered to this machine, signature valid",
  ],
  [
    "delivered and verified after a repetition, when the tunnel could not be reached at first",
    (target: string) => unreached.pop() ?? target,
    "callback: delivered to this machine, signature valid",
  ],
  [
    "a problem, when another server answers in place of this machine",
    () => other.at("/", { kind: "answer", status: 204 }),
    "callback: delivered, but not to this machine",
  ],
])(
  "npm run deploy:first sends a test callback through a tunnel of cloudflared and reports its result: %s",
  async (_, targetOf, expected) => {
    const directory = mkdtempSync(join(tmpdir(), "task-relay-tunnel-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const cloudflared = join(directory, "cloudflared");
    const told = join(directory, "url");
    const script = `#!/bin/sh\nprintf %s "$4" > ${told}\necho "INF | ${ADDRESS} |" >&2\nexec sleep 60\n`;
    writeFileSync(cloudflared, script);
    chmodSync(cloudflared, 0o755);
    const before = new RelayBeforeTunnel(relay.url, () => targetOf(readFileSync(told, "utf8")));
    const finding = await tunnelledCallback(before, cloudflared, ENVIRONMENTS.production);
    expect(finding?.text).toContain(expected);
  },
);
