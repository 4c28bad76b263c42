import type { BucketContent } from "../../harness/bucket.ts";
import type { OutputEnd } from "./plan.ts";

/** Origin of the links to outputs in the test, which no name server knows. */
export const OUTPUTS_URL = "https://outputs.example.com";

/** An output of a task as the plan has it. `digest` and `tail` are those of the file at the upstream. */
export interface ExpectedOutput extends Content {
  readonly end: OutputEnd;
}

/** Bytes of a file: the SHA-256 of all, and the last ones, both in hex. */
export interface Content {
  readonly digest: string;
  readonly tail: string;
}

/** What the link to an output has given, at first as a whole and then in part. */
export interface OpenedLink extends Content {
  readonly status: number;
  readonly mediaType: string | null;
  /** Status of the answer with a part; null where the link has not opened, and no part was asked for. */
  readonly partStatus: number | null;
}

/** What is known of a task that was not erased. */
export interface Evidence {
  readonly id: string;
  readonly outputs: readonly ExpectedOutput[];
  /** Bodies of the callbacks that came. */
  readonly bodies: readonly string[];
  /** What the links in the first of them have given, in their order, once the upstream had died. */
  readonly opened: readonly OpenedLink[];
}

/** Everything that a round has recorded, from which its faults are found. */
export interface Recording {
  /** Ids of the tasks whose outputs or callbacks have not ended in time. Nothing else is recorded then. */
  readonly open: readonly string[];
  readonly evidence: readonly Evidence[];
  /** The bucket once each output had its end, and once all tasks were erased. */
  readonly bucket: BucketContent;
  readonly bucketAfterErasure: BucketContent;
  /** Status of the answer to a link of an erased task; null where no callback had a link. */
  readonly statusAfterErasure: number | null;
}
