import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";
import { readCopy } from "./stored-record.ts";

/** Directory of the Workers with which `wrangler dev` simulates the platform. */
const WORKERS = join(dirname(createRequire(import.meta.url).resolve("miniflare")), "workers");

/** Files of the Worker with which `wrangler dev` simulates R2, by the names that `BUCKET_PARTS` gives them. */
export const BUCKET_FILES = {
  "bucket.js": join(WORKERS, "r2/bucket.worker.js"),
  "bucket-entry.js": join(WORKERS, "shared/object-entry.worker.js"),
  "bucket-shared.js": join(WORKERS, "shared/index.worker.js"),
  "bucket-zod.js": join(WORKERS, "shared/zod.worker.js"),
};

const module = (name: string, file: keyof typeof BUCKET_FILES) =>
  `(name = "${name}", esModule = embed "${file}")`;

/** Parts of a configuration of workerd by which the relay has a bucket on the disk of its objects. */
export const BUCKET_PARTS = {
  services: [
    '(name = "bucket", worker = .bucket)',
    '(name = "bucket-entry", worker = .bucketEntry)',
  ],
  extensions: [
    `(modules = [${module("miniflare:shared", "bucket-shared.js")}, ${module("miniflare:zod", "bucket-zod.js")}])`,
  ],
  bindings: ['(name = "OUTPUTS", r2Bucket = "bucket-entry")'],
  workers: [
    `
const bucket :Workerd.Worker = (
  modules = [(name = "bucket.js", esModule = embed "bucket.js")],
  compatibilityDate = "2023-07-24",
  compatibilityFlags = ["nodejs_compat", "experimental"],
  durableObjectNamespaces = [(className = "R2BucketObject", uniqueKey = "buckets")],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [(name = "MINIFLARE_BLOBS", service = "disk")],
);
`,
    `
const bucketEntry :Workerd.Worker = (
  modules = [(name = "bucket-entry.js", esModule = embed "bucket-entry.js")],
  compatibilityDate = "2023-07-24",
  bindings = [
    (name = "MINIFLARE_NAMESPACE", text = "blobs"),
    (name = "MINIFLARE_OBJECT", durableObjectNamespace = (className = "R2BucketObject", serviceName = "bucket")),
  ],
);
`,
  ],
};

/** Content of a bucket: the keys of its objects, and the number of parts of uploads that have not ended. */
export interface BucketContent {
  readonly keys: readonly string[];
  readonly parts: number;
}

const Key = z.object({ key: z.string() });
const Count = z.object({ count: z.int() });

/** Reads what is in the buckets whose files are in a directory. */
export function inBucket({ buckets }: { readonly buckets: string }): BucketContent {
  const files = globSync("**/*.sqlite", { cwd: buckets }).filter(
    (file) => !file.endsWith("metadata.sqlite"),
  );
  const found = files.map((file) =>
    readCopy(join(buckets, file), (database) => {
      const rows = database.prepare("SELECT key FROM _mf_objects").all();
      const parts = database
        .prepare("SELECT COUNT(*) AS count FROM _mf_multipart_parts WHERE object_key IS NULL")
        .get();
      return { keys: rows.map((row) => Key.parse(row).key), parts: Count.parse(parts).count };
    }),
  );
  return {
    keys: found.flatMap((each) => each?.keys ?? []).toSorted(),
    parts: found.reduce((sum, each) => sum + (each?.parts ?? 0), 0),
  };
}
