import { AwsClient } from "aws4fetch";
import pMap from "p-map";
import type { S3Config } from "../../config/output-config.ts";
import { SECOND_MS } from "../../core/time.ts";
import { errorText } from "../../lib/log.ts";
import { readBodyUpTo } from "../../lib/stream.ts";
import { sleep, withDeadline } from "../../lib/timeout.ts";
import type {
  AskedRange,
  FileOptions,
  OpenedOutput,
  OutputStore,
  PartUpload,
  StoredOutput,
} from "./output-store.ts";

/** Time in milliseconds within which the store must begin to answer a request without a body. */
const ANSWER_MS = 10 * SECOND_MS;
/** Time in milliseconds within which the store must have taken a body that is no stream, e.g. a part of an upload. */
const TAKE_MS = 30 * SECOND_MS;
/** Waits in milliseconds before a request is repeated whose failure may pass. */
const REPEAT_WAITS_MS = [100, 400];
/** Largest number of bytes that are read of an answer in XML. */
const MAX_XML_BYTES = 65_536;
/** Number of files that are deleted at once. A Worker has six connections. */
const DELETIONS_AT_ONCE = 4;
/** Key under which nothing is stored. */
const UNUSED_KEY = "outputs/check";

/** Function that sends a request to the store. */
export type SendToStore = (request: Request) => Promise<Response>;

interface StoreRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ReadableStream | Uint8Array | string;
}

/** Error of a store that does not do what it was asked for. */
class StoreFault extends Error {
  /** Status of the answer, and the word with which the store has explained it. Null when the store did not answer. */
  readonly answer: { readonly status: number; readonly code: string | null } | null;
  /** True when the same request may succeed a moment later. */
  readonly mayPass: boolean;

  constructor(message: string, answer: StoreFault["answer"], mayPass: boolean) {
    super(`the store of outputs ${message}`);
    this.answer = answer;
    this.mayPass = mayPass;
  }
}

/**
 * Store of outputs in a bucket that is reached by the protocol of S3. A request whose failure may pass is repeated
 * twice, unless its body is a stream.
 */
export class S3Store implements OutputStore {
  readonly #bucketUrl: string;
  readonly #signer: AwsClient;
  readonly #send: SendToStore;

  constructor({ bucketUrl, region, keyId, secret }: S3Config, send: SendToStore) {
    this.#bucketUrl = bucketUrl;
    this.#signer = new AwsClient({
      accessKeyId: keyId,
      secretAccessKey: secret,
      service: "s3",
      region,
    });
    this.#send = send;
  }

  async put(
    key: string,
    body: ReadableStream | Uint8Array,
    { httpMetadata }: FileOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const headers = { "Content-Type": httpMetadata.contentType };
    await this.#ask({ method: "PUT", key, headers, body }, success, signal);
  }

  async createMultipartUpload(
    key: string,
    { httpMetadata }: FileOptions,
    signal: AbortSignal,
  ): Promise<PartUpload> {
    const headers = { "Content-Type": httpMetadata.contentType };
    const asked = { method: "POST", key, query: { uploads: "" }, headers } as const;
    const [, id] =
      /<UploadId>([^<]+)<\/UploadId>/.exec(await this.#ask(asked, success, signal)) ?? [];
    if (id === undefined) throw new StoreFault("did not name the upload", null, false);
    return this.#upload(key, unescaped(id), signal);
  }

  resumeMultipartUpload(key: string, uploadId: string): Pick<PartUpload, "abort"> {
    return this.#upload(key, uploadId);
  }

  /**
   * Deletes files one by one, because the request that deletes several needs a checksum that not all stores take.
   */
  async delete(keys: readonly string[]): Promise<void> {
    const deleteOne = (key: string) => this.#ask({ method: "DELETE", key }, successOr("NoSuchKey"));
    await pMap(keys, deleteOne, { concurrency: DELETIONS_AT_ONCE });
  }

  async head(key: string): Promise<StoredOutput | null> {
    return await this.#ask({ method: "HEAD", key }, async (answer) => {
      // An answer to HEAD has no body that could say what is missing.
      if (answer.status === 404) return null;
      await success(answer);
      return storedIn(answer);
    });
  }

  async get(
    key: string,
    { range, onlyIf }: Parameters<OutputStore["get"]>[1],
  ): Promise<OpenedOutput | null> {
    const headers = {
      ...(range !== undefined && { Range: rangeText(range) }),
      ...(onlyIf !== undefined && { "If-None-Match": `"${onlyIf.etagDoesNotMatch}"` }),
    };
    const opened = await this.#ask({ method: "GET", key, headers }, async (answer) => {
      const { status, body } = answer;
      if (status === 304) return "known" as const;
      if (status !== (range === undefined ? 200 : 206)) {
        await successOr("NoSuchKey")(answer);
        if (!answer.ok) return null;
        throw new StoreFault(`answered a request for a range with ${status}`, null, false);
      }
      return { ...storedIn(answer), ...(body !== null && { body }) };
    });
    // An answer with the status 304 does not state the length.
    return opened === "known" ? await this.head(key) : opened;
  }

  /** Returns what is wrong with the store or its settings, as far as a read of an unused key shows it. */
  async fault(): Promise<string | null> {
    try {
      const opened = await this.get(UNUSED_KEY, {});
      await opened?.body?.cancel();
      return null;
    } catch (error) {
      return error instanceof StoreFault ? error.message : errorText(error);
    }
  }

  #upload(key: string, uploadId: string, signal?: AbortSignal): PartUpload {
    const query = { uploadId };
    return {
      uploadId,
      uploadPart: async (partNumber, body) => {
        const part = {
          method: "PUT",
          key,
          query: { partNumber: `${partNumber}`, ...query },
          body,
        } as const;
        const etag = await this.#ask(part, etagAfterSuccess, signal);
        return { partNumber, etag };
      },
      complete: async (parts) => {
        const headers = { "Content-Type": "application/xml" };
        const body = partList(parts);
        await this.#ask({ method: "POST", key, query, headers, body }, completed, signal);
      },
      abort: async () => {
        await this.#ask({ method: "DELETE", key, query }, successOr("NoSuchUpload"));
      },
    };
  }

  /**
   * Sends a request, and again after a wait when its failure may pass.
   * @param read reads the answer, within the time for the request.
   */
  async #ask<T>(
    request: StoreRequest,
    read: (answer: Response) => Promise<T>,
    aborted: AbortSignal = new AbortController().signal,
  ): Promise<T> {
    const waits = request.body instanceof ReadableStream ? [] : REPEAT_WAITS_MS;
    for (const waitMs of waits) {
      try {
        return await this.#askOnce(request, read, aborted);
      } catch (error) {
        if (!(error instanceof StoreFault && error.mayPass)) throw error;
        await sleep(waitMs, aborted);
      }
    }
    return await this.#askOnce(request, read, aborted);
  }

  async #askOnce<T>(
    request: StoreRequest,
    read: (answer: Response) => Promise<T>,
    aborted: AbortSignal,
  ): Promise<T> {
    const { body } = request;
    const ask = async (signal: AbortSignal) => await read(await this.#answer(request, signal));
    // The source of a stream decides how long it takes, and whoever reads it ends it.
    if (body instanceof ReadableStream) return await ask(aborted);
    return await withDeadline(body === undefined ? ANSWER_MS : TAKE_MS, ask, aborted);
  }

  /** @throws StoreFault when no answer comes, and when the answer says that the store fails at present. */
  async #answer(request: StoreRequest, signal: AbortSignal): Promise<Response> {
    const signed = await this.#signed(request, signal);
    const answer = await this.#send(signed).catch((error: unknown) => {
      if (signal.aborted) throw new StoreFault("has not answered in time", null, false);
      throw new StoreFault(`cannot be reached (${errorText(error)})`, null, true);
    });
    if (answer.status >= 500 || answer.status === 429) throw await refusalOf(answer, true);
    return answer;
  }

  async #signed(
    { method, key, query = {}, headers = {}, body }: StoreRequest,
    signal: AbortSignal,
  ): Promise<Request> {
    const url = new URL(`${this.#bucketUrl}/${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const init = { method, headers, body: body ?? null, signal, redirect: "manual" } as const;
    // In place of a hash of the body the signer signs `UNSIGNED-PAYLOAD` (`X-Amz-Content-Sha256`), as S3 permits: a
    // stream cannot be hashed before it is sent.
    const signed = await this.#signer.sign(url.href, init);
    // Proxies may change this header, so the signature leaves it out. The length of a packed body would not be that of the file.
    signed.headers.set("Accept-Encoding", "identity");
    return signed;
  }
}

/** Reads an answer to its end. @returns its text. @throws StoreFault when it is not a success. */
async function success(answer: Response): Promise<string> {
  if (!answer.ok) throw await refusalOf(answer, false);
  return await textOf(answer);
}

/** Returns a reader of answers that takes also the answer that what should go is gone already. */
function successOr(missing: string): (answer: Response) => Promise<void> {
  return async (answer) => {
    if (answer.ok) return await answer.body?.cancel();
    const fault = await refusalOf(answer, false);
    if (fault.answer?.code !== missing) throw fault;
  };
}

async function etagAfterSuccess(answer: Response): Promise<string> {
  await success(answer);
  return etagOf(answer);
}

/** The answer to the completion of an upload may begin with the status 200 before it is known whether it succeeds. */
async function completed(answer: Response): Promise<void> {
  const text = await success(answer);
  if (text.includes("<CompleteMultipartUploadResult")) return;
  throw new StoreFault(
    `answered ${answer.status} ${codeIn(text) ?? "without a result"}`,
    null,
    true,
  );
}

async function refusalOf(answer: Response, mayPass: boolean): Promise<StoreFault> {
  const { status } = answer;
  const text = await textOf(answer);
  const code = codeIn(text);
  const message = `answered ${status}${code === null ? "" : ` ${code}`}`;
  return new StoreFault(message, { status, code }, mayPass);
}

async function textOf(answer: Response): Promise<string> {
  const { bytes } = await readBodyUpTo(answer, MAX_XML_BYTES);
  return new TextDecoder().decode(bytes);
}

/** Returns the word with which a store explains a refusal. The rest of its answer may name keys. */
function codeIn(text: string): string | null {
  return /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? null;
}

function storedIn(answer: Response): StoredOutput {
  const { headers } = answer;
  const [length = headers.get("Content-Length")] =
    /\/(\d+)$/.exec(headers.get("Content-Range") ?? "")?.slice(1) ?? [];
  if (length === null) throw new StoreFault("did not state the length of a file", null, false);
  const contentType = headers.get("Content-Type");
  return {
    size: Number(length),
    // A proxy may have made the tag of the store a weak one.
    httpEtag: etagOf(answer).replace(/^W\//, ""),
    ...(contentType !== null && { httpMetadata: { contentType } }),
  };
}

function etagOf({ headers }: Response): string {
  const etag = headers.get("ETag");
  if (etag === null) throw new StoreFault("did not state the entity tag of a file", null, false);
  return etag;
}

function rangeText(range: AskedRange): string {
  if ("suffix" in range) return `bytes=-${range.suffix}`;
  const { offset, length } = range;
  return `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
}

function partList(parts: Parameters<PartUpload["complete"]>[0]): string {
  const list = parts.map(
    ({ partNumber, etag }) =>
      `<Part><PartNumber>${partNumber}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
  );
  const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
  return `<CompleteMultipartUpload xmlns="${namespace}">${list.join("")}</CompleteMultipartUpload>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}
