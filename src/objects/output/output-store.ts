/** Media type with which a file is stored. The form is that of R2. */
export interface FileOptions {
  readonly httpMetadata: { readonly contentType: string };
}

/** Part of an upload as the store has taken it. */
interface StoredPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** Upload of a file in parts. All parts except the last have the same size. */
export interface PartUpload {
  readonly uploadId: string;
  readonly uploadPart: (number: number, part: Uint8Array) => Promise<StoredPart>;
  /** Makes the parts one file, which only then can be read. */
  readonly complete: (parts: StoredPart[]) => Promise<unknown>;
  readonly abort: () => Promise<void>;
}

/** The calls of a store of outputs that change what is stored. */
export interface StoreWriter {
  /**
   * Stores a file. A stream must state its length.
   * @param signal ends the call, where the store knows how to; the file may still be stored. R2 knows no signal.
   */
  readonly put: (
    key: string,
    value: ReadableStream | Uint8Array,
    options: FileOptions,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** @param signal ends the calls of the upload other than `abort`, as that of `put`. */
  readonly createMultipartUpload: (
    key: string,
    options: FileOptions,
    signal: AbortSignal,
  ) => Promise<PartUpload>;
  /** Returns an upload that was created earlier, without asking the store. */
  readonly resumeMultipartUpload: (key: string, uploadId: string) => Pick<PartUpload, "abort">;
  /** Deletes files. Those that do not exist are no failure. */
  readonly delete: (keys: string[]) => Promise<void>;
}

/** A file in the store. `size` is that of the whole file. */
export interface StoredOutput {
  readonly size: number;
  /** Strong entity tag, in quotation marks. */
  readonly httpEtag: string;
  readonly httpMetadata?: { readonly contentType?: string };
}

/** A file whose bytes, or those of the part that was asked for, can be read. */
export type OpenedOutput = StoredOutput & { readonly body?: ReadableStream };

/**
 * A range of bytes of which it is not known whether the file has them: `length` bytes from `offset` on, all bytes from
 * `offset` on, or the last bytes.
 */
export type AskedRange =
  | { readonly offset: number; readonly length?: number }
  | { readonly suffix: number };

/** The calls of a store of outputs that read. */
export interface StoreReader {
  readonly head: (key: string) => Promise<StoredOutput | null>;
  /**
   * Reads a file, or the part of it that `range` names; bytes behind its end are left out.
   * @returns a file without a body when its entity tag is `etagDoesNotMatch`; null when there is no such file.
   * @throws Error also when the file has no byte of the range.
   */
  readonly get: (
    key: string,
    options: {
      readonly range?: AskedRange;
      readonly onlyIf?: { readonly etagDoesNotMatch: string };
    },
  ) => Promise<OpenedOutput | null>;
}

/**
 * Store of the files that tasks have generated. A bucket of R2 is one as it is; `S3Store` is one in any store that
 * speaks the protocol of S3.
 */
export interface OutputStore extends StoreWriter, StoreReader {}
