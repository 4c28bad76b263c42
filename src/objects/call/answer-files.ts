import { errorText, log } from "../../lib/log.ts";
import {
  type CopyBucket,
  type CopyTarget,
  optionsOf,
  SourceFault,
  storeParts,
} from "../output/store-copy.ts";
import { AnswerFault } from "./answer-fault.ts";
import { type SlotCaller, takeAnswerSlot } from "./answer-slots.ts";

/** Largest number of files in one answer. */
const MAX_FILES = 32;

/** A file of an answer that was read. */
export interface AnswerFile {
  readonly number: number;
  readonly bytes: number;
  readonly mediaType: string;
}

/** Where the files of an answer are stored, and their limits. */
export interface FilesTarget extends Pick<CopyTarget, "onProgress" | "signal"> {
  /** Bucket for the files. Null when they are only left out of the answer, and not stored. */
  readonly bucket: CopyBucket | null;
  /** The caller who reads the answer while it arrives. Null when nobody does. */
  readonly caller: SlotCaller | null;
  /** Returns the key of a file in the bucket. */
  readonly keyOf: (number: number) => string;
  /** Largest length of a file in bytes. */
  readonly maxFileBytes: number;
  /**
   * Function that is called with the id of a multipart upload before its first part is stored, so that the upload can
   * be aborted after a crash.
   */
  readonly onUpload: (number: number, uploadId: string) => void;
}

/** Numbers the files of an answer, and stores them one after another. */
export class AnswerFiles {
  readonly #target: FilesTarget;
  #list: readonly AnswerFile[] = [];
  #begun = 0;
  #source = "";

  constructor(target: FilesTarget) {
    this.#target = target;
  }

  get list(): readonly AnswerFile[] {
    return this.#list;
  }

  /** The largest number under which a file was begun; 0 when there is none. */
  get begun(): number {
    return this.#begun;
  }

  /**
   * Returns the number of the next file. Files from another source take the place of those before.
   * @param source where in the answer the file stands, e.g. the type of its event.
   * @throws AnswerFault when there are too many files.
   */
  next(source: string): number {
    if (source !== this.#source) this.#list = [];
    this.#source = source;
    const number = this.#list.length + 1;
    if (number > MAX_FILES) throw new AnswerFault("too_many");
    this.#begun = Math.max(this.#begun, number);
    return number;
  }

  /** Leaves out all files but these. Their numbers become free. */
  keepOnly(files: readonly AnswerFile[]): void {
    this.#list = this.#list.filter((file) => files.includes(file));
  }

  /**
   * Stores a file.
   * @param next returns the next bytes of the file; null at its end. The first bytes must be all or enough to find the
   * media type by.
   * @param typeOf returns the media type of the file by its first bytes.
   * @throws AnswerFault when the file is empty or too large, or the bucket does not take it.
   */
  async store(
    number: number,
    next: () => Promise<Uint8Array | null>,
    typeOf: (start: Uint8Array) => string,
  ): Promise<void> {
    let length = 0;
    const counted = async () => {
      const piece = await next();
      length += piece?.length ?? 0;
      if (length > this.#target.maxFileBytes) throw new AnswerFault("too_large");
      return piece;
    };
    const start = await counted();
    if (start === null || start.length === 0) throw new AnswerFault("broken");
    const type = typeOf(start);
    const bytes = await this.#stored(number, start, counted, type);
    this.#list = [...this.#list, { number, bytes, mediaType: type }];
  }

  async #stored(
    number: number,
    start: Uint8Array,
    next: () => Promise<Uint8Array | null>,
    mediaType: string,
  ): Promise<number> {
    const { bucket, caller, keyOf, onUpload, ...target } = this.#target;
    if (bucket === null) return await lengthOf(start, next);
    const slot = await takeAnswerSlot(caller, target.signal).catch(() => {
      throw new AnswerFault("unreachable");
    });
    const read = async () => {
      slot.renew();
      return await next();
    };
    const key = keyOf(number);
    const place = { ...target, bucket, key, onUpload: (id: string) => onUpload(number, id) };
    try {
      return await storeParts(start, { read }, optionsOf(mediaType), place);
    } catch (error) {
      if (error instanceof AnswerFault || error instanceof SourceFault) throw error;
      log({ event: "answer.not_stored", key, error: errorText(error) }, "warn");
      throw new AnswerFault("not_stored");
    } finally {
      slot.giveBack();
    }
  }
}

/** Reads a file that is not stored. @returns its length. */
async function lengthOf(
  start: Uint8Array,
  next: () => Promise<Uint8Array | null>,
): Promise<number> {
  let length = start.length;
  for (let piece = await next(); piece !== null; piece = await next()) length += piece.length;
  return length;
}
