import type {
  Authenticity,
  Connection,
  UpstreamProvider,
} from "../../../src/providers/provider.ts";
import { aConnection, aHook, NOW, NOW_S, rfc8032Keys, type SentHeaders } from "../hook.ts";

/** The way in which a provider signs its hooks, with an example (vector) that was composed by hand. */
export interface Scheme {
  readonly provider: UpstreamProvider;
  /** Settings of the connection that verify the example. */
  readonly connection: Partial<Connection>;
  /** Settings of connections that must refuse the example: with an empty secret or another one. */
  readonly wrongConnections: readonly Partial<Connection>[];
  readonly proves: Authenticity;
  /** States that the signature covers the body. */
  readonly isOverBody: boolean;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Signs the example with another time or body. */
  readonly sign: (time: string, body?: string) => Promise<SentHeaders>;
  /** Other spellings of the example's time, which must be refused. */
  readonly otherTimes: readonly string[];
  /** Body with a character beyond ASCII in the part that is signed. */
  readonly unicodeBody: string;
  /** Headers with a signature that must be refused, by what is wrong. */
  readonly refused: Readonly<Record<string, SentHeaders>>;
  /** Headers with the valid signature as the second of two, where the scheme allows several. */
  readonly rotated: SentHeaders | null;
}

/** Spellings of `NOW_S` that some readers of numbers accept. */
export const OTHER_SECONDS = [
  `0${NOW_S}`,
  `+${NOW_S}`,
  `${NOW_S}.0`,
  `${NOW_S}e0`,
  `${NOW_S}000`,
  "now",
];

export interface Changes {
  /** Headers in place of those of the example; undefined means that a header is not sent. */
  readonly headers?: SentHeaders;
  readonly body?: string | Uint8Array;
  readonly path?: string;
  readonly query?: string;
  readonly connection?: Partial<Connection>;
  /** Time of the check, in Unix milliseconds. */
  readonly now?: number;
  /** Is called when the body is read. */
  readonly onRead?: () => void;
}

/** Verifies the example of a scheme with some changes. */
export async function authenticity(
  { provider, connection, headers, body }: Scheme,
  changes: Changes = {},
): Promise<Authenticity | undefined> {
  const { path = `/hooks/${provider.name}`, query = "", now = NOW } = changes;
  const sent = aHook({ ...headers, ...changes.headers }, changes.body ?? body, { path, query });
  const readBody = async () => {
    changes.onRead?.();
    return await sent.readBody();
  };
  const hook = { ...sent, readBody };
  const { verify } = await rfc8032Keys();
  return provider.hooks?.authenticate(hook, aConnection({ ...connection, ...changes.connection }), {
    now,
    publicKeys: async () => [verify],
  });
}
