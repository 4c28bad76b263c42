import { MAX_READ_MS, MAX_UNREAD_MS, readInTime, unreadError } from "../../lib/stream.ts";
import { bytesOf } from "../../security/encoding.ts";

/**
 * Longest time in milliseconds for which a response is held in memory until its client has read it: `MAX_READ_MS`, plus
 * the time for which the last piece and the end of the response may be left unread.
 */
export const MAX_SENT_MS = MAX_READ_MS + 2 * MAX_UNREAD_MS;
/**
 * Size in bytes of the pieces in which a long response is sent. It is small, so that even a slow client reads each
 * piece in time. A response of at most this size is given to the platform as a whole, which costs less.
 */
const PIECE_BYTES = 64 * 1024;

/** Function that returns the next piece of a response, or null when there is none left. */
export type NextPiece = () => Promise<Uint8Array | null>;

/** A response that is sent to a client piece by piece. */
interface PiecedAnswer {
  readonly next: NextPiece;
  /**
   * Number of bytes of all pieces together. When the pieces have fewer or more bytes, sending the response fails, so
   * that the client can tell that it is not complete. Null for a stream whose length is not known in advance.
   */
  readonly bytes: number | null;
  /**
   * Function that is called once, at the end of the response. Its argument is null when everything was sent, and
   * otherwise the error: that of `next`, or one saying that the client has gone away or has left a piece unread for a
   * minute.
   */
  readonly onEnd: (error: unknown) => void;
}

/** The body of a response, with a promise that is fulfilled when the sending has ended, completely or not. */
export interface SentBody {
  readonly body: ReadableStream<Uint8Array>;
  /**
   * Promise that is fulfilled when the sending has ended. It must be passed to `waitUntil` if code is to run after the
   * end, because otherwise the platform runs no further code when the client goes away.
   */
  readonly ended: Promise<void>;
}

/**
 * Returns the body of a response as a stream, which ends when the client leaves a piece unread for a minute. Every
 * response that may be long is sent by this function, so that no memory is held for a client that does not read.
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
      await readInTime(writer.write(piece));
    }
    await readInTime(writer.close());
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  }
}

/**
 * Returns the body of a response that is in memory as a whole. The body is broken off when the client has not read it
 * within five minutes.
 * @param onEnd called once, when the body has ended.
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

/**
 * Returns a text, or bytes, as the body of a response. If it is longer than one piece, it becomes a stream, which ends
 * when the client does not read it.
 */
export function contentToClient<Content extends string | Uint8Array<ArrayBuffer>>(
  content: Content,
): Content | ReadableStream<Uint8Array> {
  if (content.length <= PIECE_BYTES) return content;
  return bytesToClient(bytesOf(content), () => undefined).body;
}

/**
 * Returns a stream of events. Each event is asked for only when the client can receive it. The stream ends after the
 * last event, when the next event fails, and when the client has gone away or leaves an event unread for a minute.
 * @param onEnd called when the stream has ended, perhaps while an event is awaited.
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
