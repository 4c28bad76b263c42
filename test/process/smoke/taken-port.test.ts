import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { LoopbackServer } from "../harness/loopback.ts";

const occupant = await forThisFile(new LoopbackServer(() => {}).listen());
const { port } = new URL(occupant.origin);

it.each(["start", "demo", "receive"])(
  "scripts/%s.ts, started with a port that is already in use, prints one line that names the port and ends with exit code 1",
  (script) => {
    const args = [`scripts/${script}.ts`, "--port", port];
    const { status, stdout, stderr } = spawnSync("node", args, { cwd: ROOT, encoding: "utf8" });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: expect.stringMatching(`^Port ${port} of 127\\.0\\.0\\.1 is taken: [^\\n]+\\n$`),
    });
  },
);
