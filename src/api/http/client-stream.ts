import { MINUTE_MS } from "../../core/time.ts";
import { bytesOf } from "../../security/encoding.ts";

/** Longest time in milliseconds for which a client may leave a piece of an answer unread. */
export const MAX_UNREAD_MS = MINUTE_MS;
/**
 * Time in milliseconds after which an answer whose bytes are all held gets no further piece, so that a client that reads
 * each piece late does not have it held for hours.
 */
export const MAX_READ_MS = 5 * MINUTE_MS;
/** Longest time in milliseconds for which such an answer is held: its last piece, and then its end, may be read late. */
export const MAX_SENT_MS = MAX_READ_MS + 2 * MAX_UNREAD_MS;
/**
 * Size in bytes of the pieces in which a long answer is sent, so that a client that reads slowly takes each in time. An
 * answer of at most this size is given to the platform as a whole, which costs less.
 */
const PIECE_BYTES = 64 * 1024;

/** Returns the next piece of an answer. Null means that the answer is complete. */
export type NextPiece = () => Promise<Uint8Array | null>;

/** An answer that is sent in pieces. */
interface PiecedAnswer {
  readonly next: NextPiece;
  /**
   * Number of bytes of all pieces; the answer fails with fewer or more, so that the client can tell that it is not complete.
   * Null for a stream of unknown length.
   */
  readonly bytes: number | null;
  /**
   * Runs once, at the end of the answer: null when it was sent, otherwise the error of `next`, or that the client has gone
   * away or left a piece unread for a minute.
   */
  readonly onEnd: (error: unknown) => void;
}

/** The body of an answer, and the promise that is fulfilled once it has ended, however it has. */
export interface SentBody {
  readonly body: ReadableStream<Uint8Array>;
  /**
   * The platform must wait for this promise (`waitUntil`) where something is given back at the end: otherwise it runs no
   * further code when the client goes away.
   */
  readonly ended: Promise<void>;
}

/**
 * Returns the body of an answer that a client must read: one that leaves a piece unread for a minute gets no further one.
 * Every answer that may be long is sent by this function, so that nothing is held for a client that does not read.
 */
export function streamToClient({ next, bytes, onEnd }: PiecedAnswer): SentBody {
  const { readable, writable } =
    bytes === null ? new IdentityTransformStream() : new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  let isEnded = false;
  const end = (error: unknown) => {
    if (!isEnded) onEnd(error);
    isEnded = true;
  };
  // The client has gone away, perhaps while no piece is there to be sent.
  writer.closed.catch(end);
  const ended = sendPieces(next, writer).then(() => end(null), end);
  return { body: readable, ended };
}

async function sendPieces(
  next: NextPiece,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  try {
    for (let piece = await next(); piece !== null; piece = await next()) {
      await inTime(writer.write(piece));
    }
    await inTime(writer.close());
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  }
}

/** Waits until a client has read. @throws Error when that takes longer than a minute. */
async function inTime(read: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unreadError()), MAX_UNREAD_MS);
  try {
    await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the body of an answer whose bytes are all there. It ends incomplete when the client has not taken them in five
 * minutes.
 * @param onEnd runs once, when the body has ended.
 */
export function bytesToClient(content: Uint8Array, onEnd: () => void): SentBody {
  let at = 0;
  const lastPieceAt = Date.now() + MAX_READ_MS;
  const next = async () => {
    if (at >= content.length) return null;
    if (Date.now() > lastPieceAt) throw new Error("the client reads the answer too slowly");
    // A copy, because a piece that the client leaves unread would keep all of the content in memory.
    const piece = content.slice(at, at + PIECE_BYTES);
    at += piece.length;
    return piece;
  };
  return streamToClient({ next, bytes: content.length, onEnd });
}

/** Returns a text, or bytes, as the body of an answer: where they are many, as a stream that the client must read. */
export function contentToClient<Content extends string | Uint8Array<ArrayBuffer>>(
  content: Content,
): Content | ReadableStream<Uint8Array> {
  if (content.length <= PIECE_BYTES) return content;
  return bytesToClient(bytesOf(content), () => undefined).body;
}

/**
 * Returns a stream of events, each of which is asked for only when the client can receive it. The stream ends when the events
 * do, when the client is gone or leaves an event unread for a minute, and when the next event fails.
 * @param onEnd runs when the stream has ended, perhaps while an event is awaited.
 */
export function eventsToClient(
  events: AsyncIterator<Uint8Array, unknown>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let unread: ReturnType<typeof setTimeout> | null = null;
  const noteRead = () => {
    if (unread !== null) clearTimeout(unread);
  };
  const end = async () => {
    noteRead();
    onEnd();
    await events.return?.();
  };
  const nextEvent = async () => {
    try {
      return await events.next();
    } catch (error) {
      onEnd();
      throw error;
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        noteRead();
        const next = await nextEvent();
        if (next.done === true) {
          onEnd();
          controller.close();
          return;
        }
        controller.enqueue(next.value);
        unread = setTimeout(() => {
          controller.error(unreadError());
          void end();
        }, MAX_UNREAD_MS);
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

function unreadError(): Error {
  return new Error("the client does not read the stream");
}
