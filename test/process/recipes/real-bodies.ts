import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";

const RealBody = z.object({ job: z.string().default(""), body: z.looseObject({}) });

/** Reads a real answer of an upstream; `job` is empty where it is about none. @param folder folder of the adapter or declaration in `src/providers`. */
export function realBody(folder: string, name: string): z.infer<typeof RealBody> {
  const file = join(ROOT, "src/providers", folder, "corpus", `${name}.json`);
  return RealBody.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** Returns the behaviour of a server that answers with this JSON. */
export function answering(body: unknown, status = 200) {
  const headers = { "Content-Type": "application/json" };
  return { kind: "answer", status, headers, body: JSON.stringify(body) } as const;
}
