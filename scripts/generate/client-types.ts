import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Product } from "./product.ts";

const ROOT = join(import.meta.dirname, "../..");
const GENERATOR = "client/node_modules/openapi-typescript";
const MAX_BYTES = 16 * 1024 * 1024;

/** The types of the API, of which the client's types are made. */
export const clientTypes = typesOf("client-types", "openapi.json", "client/src/schema.d.ts");

/**
 * The types of the kept release's API, with which the present ones are compared. States of a submission that only calls
 * with `Prefer: respond-async` have are added to them, because no client of the kept release makes such calls; and the
 * problems of such calls, of monthly limits, of changes of offers and of pauses of hosts, which the kept release does not know. So is the
 * statuses `retrying` and `paused` of a callback, which the kept release calls `sending`.
 */
export const keptTypes = typesOf(
  "kept-types",
  "test/kept-release/openapi.json",
  "client/compatibility/kept-schema.d.ts",
  (types) =>
    types
      .replaceAll(
        'state: "sending" | "accepted" | "unknown";',
        'state: "queued" | "sending" | "accepted" | "unknown" | "refused" | "unsent";',
      )
      .replaceAll(
        '"sending" | "delivered" | "failed"',
        '"sending" | "retrying" | "paused" | "delivered" | "failed"',
      )
      .replaceAll(
        '"invalid_request"',
        '"invalid_request" | "prefer_required" | "task_failed" | "unknown_endpoint"',
      )
      .replaceAll('"insufficient_credits"', '"insufficient_credits" | "monthly_limit"')
      .replaceAll(
        '"reference_reused"',
        '"reference_reused" | "host_paused" | "pauses_full" | "endpoints_full" | "offers_in_configuration" | "offers_full" | "offer_changed"',
      ),
);

/** The types of a description of an API. */
function typesOf(
  name: string,
  description: string,
  output: string,
  adapt: (types: string) => string = (types) => types,
): Product {
  return {
    name,
    sources: [description, "package-lock.json"],
    needs: [GENERATOR],
    make: async () => {
      const args = [join(ROOT, GENERATOR, "bin/cli.js"), description];
      const options = { cwd: ROOT, maxBuffer: MAX_BYTES };
      const { stdout } = await promisify(execFile)(process.execPath, args, options);
      return { [output]: adapt(stdout) };
    },
  };
}
