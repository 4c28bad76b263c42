import { newsRulesOf } from "../../config/news-rules.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { SubmitOutcome } from "../../core/events/event.ts";
import { parseJson } from "../../core/json.ts";
import type { StoredFile, StoredAnswer } from "../../core/record/upstream.ts";
import { errorText, log } from "../../lib/log.ts";
import { answerSecrets, bytesWithout } from "../../outbound/answer-secrets.ts";
import { outcomeOf } from "../../outbound/submit-outcome.ts";
import { toNews } from "../../providers/observation.ts";
import type { Connection } from "../../providers/provider.ts";
import { plainReadingOf, type SubmitAdapter, type SubmitTarget } from "../../providers/submit.ts";
import { bytesOf } from "../../security/encoding.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import { outputKey } from "../output/output-key.ts";
import type { StoreWriter } from "../output/output-store.ts";
import { type CopyBucket, optionsOf } from "../output/store-copy.ts";
import type { CallEnd, StoredCall } from "./call-plan.ts";
import { type AnswerTarget, storeAnswer } from "./store-answer.ts";
import type { WaitingCaller } from "./waiting-caller.ts";

const JSON_TYPE = "application/json";

/** Where a call goes, and how its answer is read. */
export interface CallPlace {
  readonly connection: Connection;
  readonly adapter: SubmitAdapter;
  readonly target: SubmitTarget;
}

/** The calls of a store of outputs that are used to store the files of an answer. */
export type FileBucket = CopyBucket & Pick<StoreWriter, "delete">;

/** Where the files of an answer are stored. */
export interface FileStore {
  /** Bucket for the files. Null when the relay keeps no outputs: the files are then only left out of the answer. */
  readonly bucket: FileBucket | null;
  readonly place: Parameters<typeof outputKey>[0];
  readonly onUpload: (upload: LeftUpload) => void;
  /**
   * The caller who gets the answer as it comes: then only files are taken out of it, and an answer without any is not
   * stored. Null when nobody waits for the answer.
   */
  readonly caller: WaitingCaller | null;
  /** Ends the reading of the answer. */
  readonly signal: AbortSignal;
}

type AnswerHead = Pick<Response, "status" | "headers">;
type ReadAnswer = Extract<Awaited<ReturnType<typeof storeAnswer>>, { readonly kind: "read" }>;

/**
 * Reads an answer that should be the result of a call, stores the files in it and the rest of it, and returns how the
 * call has ended.
 */
export async function storedResult(
  response: AnswerHead & Pick<Response, "body">,
  call: StoredCall,
  place: CallPlace,
  runtime: Runtime,
  store: FileStore,
): Promise<CallEnd> {
  const { status: statusCode, headers, body } = response;
  const unknown = { kind: "unknown", statusCode } as const;
  if (body === null) return { outcome: unknown, hasFiles: false };
  // A gateway may state any type for its JSON. Callers who wait get no other answers than JSON.
  const contentType = store.caller === null ? (headers.get("Content-Type") ?? "") : JSON_TYPE;
  const read = await storeAnswer(body, contentType, targetOf(call, runtime, store));
  if (read.kind === "failed") {
    log({ event: "call.unread", task_id: call.taskId, reason: read.reason }, "warn");
    return { outcome: { ...unknown, unread: read.reason }, hasFiles: read.begun > 0 };
  }
  await deleteReplaced(read, call, store);
  const outcome =
    read.skeleton === null
      ? plainOutcome(read, statusCode, place, runtime)
      : await jsonOutcome(read, read.skeleton, response, call, place, runtime, store);
  return { outcome: outcome ?? unknown, hasFiles: true };
}

/**
 * Deletes the files of a stream that files of later events have replaced: those with a larger number than the last file of
 * the answer.
 */
async function deleteReplaced(
  { files, begun }: ReadAnswer,
  { taskId }: StoredCall,
  { bucket, place }: FileStore,
): Promise<void> {
  const count = begun - files.length;
  if (bucket === null || count === 0) return;
  const keys = Array.from({ length: count }, (_, i) => outputKey(place, files.length + 1 + i));
  try {
    await bucket.delete(keys);
  } catch (error) {
    log({ event: "outputs.not_deleted", task_id: taskId, detail: errorText(error) }, "error");
  }
}

function targetOf(
  { submissionId }: StoredCall,
  { config }: Runtime,
  { bucket, caller, place, onUpload, signal }: FileStore,
): AnswerTarget {
  return {
    bucket,
    caller,
    keyOf: (number) => outputKey(place, number),
    maxFileBytes: config.maxOutputBytes,
    onUpload: (number, uploadId) => onUpload({ number, uploadId }),
    onProgress: () => undefined,
    signal,
    token: submissionId,
  };
}

/** Returns the outcome of a call whose answer as a whole is a file. Null when it is not the output. */
function plainOutcome(
  { contentType, files }: ReadAnswer,
  statusCode: number,
  { connection, target }: CallPlace,
  { config }: Runtime,
): SubmitOutcome | null {
  const [file] = files;
  const reading = plainReadingOf(target, contentType);
  if (file === undefined || reading.kind !== "result") return null;
  const rules = { ...newsRulesOf(config, connection), isAnswerStored: true };
  const news = toNews(reading.observation, rules);
  if (news?.status !== "completed") return null;
  const storedAnswer = { number: 1, contentType, bytes: file.bytes } as const;
  return withStored(
    { kind: "result", statusCode, job: null, news, answer: null },
    files,
    storedAnswer,
  );
}

/**
 * Returns the outcome of a call whose answer is JSON. If the answer is a result, what is left of it without its files
 * is stored: as the only output if the result has no file and no link. Of an answer that is passed on, nothing is stored
 * if it has no file.
 * @param skeleton the answer, in which placeholders stand for its files.
 */
async function jsonOutcome(
  { contentType, files }: ReadAnswer,
  skeleton: string,
  { status, headers }: AnswerHead,
  call: StoredCall,
  place: CallPlace,
  { config }: Runtime,
  { bucket, caller, place: task, signal }: FileStore,
): Promise<SubmitOutcome> {
  const bytes = bytesWithout(answerSecrets(place.connection, call.secrets), bytesOf(skeleton));
  const answer = { status, headers, bytes, json: parseJson(skeleton), isCut: false };
  const isKept = bucket !== null && (files.length > 0 || caller === null);
  const outcome = outcomeOf(answer, place, call, config, isKept);
  if (!isKept || outcome.kind !== "result" || outcome.news.status !== "completed") return outcome;
  const isOutput = files.length === 0 && outcome.news.urls.length === 0;
  const number = isOutput ? 1 : 0;
  await bucket.put(outputKey(task, number), bytes, optionsOf(JSON_TYPE), signal);
  const all = isOutput ? [{ bytes: bytes.length, mediaType: JSON_TYPE }] : files;
  return withStored(outcome, all, { number, contentType, bytes: bytes.length });
}

/** Returns a result with the files that the answer has left in the bucket. */
function withStored(
  outcome: Extract<SubmitOutcome, { readonly kind: "result" }>,
  files: readonly StoredFile[],
  storedAnswer: StoredAnswer,
): SubmitOutcome {
  const { news } = outcome;
  if (news.status !== "completed") return outcome;
  const stored = files.map(({ bytes, mediaType }) => ({ bytes, mediaType }));
  // With placeholders in place of links, the answer would mislead whoever repeats the call.
  return { ...outcome, news: { ...news, files: stored, storedAnswer }, answer: null };
}
