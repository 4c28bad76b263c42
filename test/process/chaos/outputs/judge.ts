import * as z from "zod";
import type { OutputEnd } from "./plan.ts";
import {
  type Evidence,
  type ExpectedOutput,
  type OpenedLink,
  OUTPUTS_URL,
  type Recording,
} from "./recording.ts";

const Callback = z.looseObject({ output: z.looseObject({ urls: z.array(z.string()) }) });

/** Statuses of the links to outputs that are not kept: the upstream's link is not known to have died yet. */
const STATUS_OF: Readonly<Record<Exclude<OutputEnd, "kept">, number>> = {
  too_large: 302,
  deleted: 410,
};

/** Lists what in a recording contradicts the promises about outputs. */
export function faultsIn(recording: Recording): readonly string[] {
  if (recording.open.length > 0) return recording.open.map((id) => `${id}: not ended`);
  return [...recording.evidence.flatMap(taskFaults), ...bucketFaults(recording)];
}

/** Returns the links in the body of a callback. */
export function linksIn(body: string): readonly string[] {
  return Callback.parse(JSON.parse(body)).output.urls;
}

/** Lists what is wrong with the callbacks and links of a task. */
function taskFaults({ id, outputs, bodies, opened }: Evidence): readonly string[] {
  const [body, ...others] = new Set(bodies);
  if (body === undefined || others.length > 0)
    return [`${id}: no callback, or several that differ`];
  const links = linksIn(body);
  const areOwn = links.every((link) => link.startsWith(`${OUTPUTS_URL}/outputs/`));
  if (!areOwn || links.length !== outputs.length) return [`${id}: other links than the relay's`];
  return outputs.flatMap((output, index) => {
    const link = opened[index];
    const isRight = link !== undefined && isAsExpected(link, output);
    return isRight ? [] : [`${id}: output ${index + 1} does not open as one that is ${output.end}`];
  });
}

/** Tells whether a link has opened as the end of its output says, and with exactly the bytes of the file. */
function isAsExpected(link: OpenedLink, { end, digest, tail }: ExpectedOutput): boolean {
  if (end !== "kept") return link.status === STATUS_OF[end];
  const isWhole = link.status === 200 && link.mediaType === "video/mp4" && link.digest === digest;
  return isWhole && link.partStatus === 206 && link.tail === tail;
}

/** Lists what is wrong with the bucket, and with what is left of erased tasks. */
function bucketFaults(recording: Recording): readonly string[] {
  const { evidence, bucket, bucketAfterErasure: left, statusAfterErasure: status } = recording;
  const rules = {
    "the bucket has not exactly one object for each output that is kept":
      bucket.keys.map(outputAt).toSorted().join() === keptOutputs(evidence).join(),
    [`the bucket has ${bucket.parts} parts of unfinished uploads`]: bucket.parts === 0,
    "something of erased tasks is left in the bucket": left.keys.length + left.parts === 0,
    [`a link of an erased task is answered with ${status}`]: status === 404,
  };
  return Object.entries(rules).flatMap(([fault, holds]) => (holds ? [] : [fault]));
}

/** Returns the task and the number of each output that must be kept. */
export function keptOutputs(tasks: readonly Pick<Evidence, "id" | "outputs">[]): readonly string[] {
  const kept = tasks.flatMap(({ id, outputs }) =>
    outputs.flatMap(({ end }, index) => (end === "kept" ? `${id} ${index + 1}` : [])),
  );
  return kept.toSorted();
}

/** Returns the task and the number of an output by the key of its copy. */
function outputAt(key: string): string {
  const [, id, , number] = key.split("/");
  return `${id} ${number}`;
}
