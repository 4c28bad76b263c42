/**
 * Tokens in hook URLs, which keep strangers from sending hooks. A token is an HMAC over the name of a connection
 * (configured credentials for a provider) and the id of a task, so it is valid only for this connection and this task.
 * In the hook URL of a submission, the token also contains the id of the submission, which the HMAC covers too; only
 * the upstream has seen such a token. It begins with `c.` when the job was submitted with a customer's key, because the
 * relay cannot verify the signatures of such hooks. The relay checks the token of a hook before anything else
 * (api/hooks/hook-url.ts).
 */
import { type Bytes, bytesOf, fromBase64, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/**
 * Pattern of a token in a hook URL: an HMAC-SHA-256 in base64url without padding. In the token of a submission, the id
 * of the submission and a dot stand before the HMAC; with a customer's key, `c.` stands before both.
 */
const TOKEN = /^(?:(c\.)?([A-Za-z0-9_-]{22})\.)?([A-Za-z0-9_-]{43})$/;
const OF_CUSTOMER = "c.";

/** Facts about a task that the token in its hook URL states. */
export interface HookToken {
  /** Id of the submission in whose hook URL the token is; null for a task whose job the relay has not submitted. */
  readonly submissionId: string | null;
  /** True when the job was submitted with a key of the customer, and not with that of the connection. */
  readonly hasCustomerKey: boolean;
}

/** Content of the token of a task whose job the relay does not submit. */
export const NO_SUBMISSION: HookToken = { submissionId: null, hasCustomerKey: false };

/**
 * Returns the token for the URL to which a provider sends hooks about a task. It is made with the newest of `keys`.
 * @param connection name of the configured connection to the provider.
 * @throws Error for a customer's key without a submission.
 */
export async function hookToken(
  connection: string,
  taskId: string,
  { submissionId, hasCustomerKey }: HookToken,
  keys: readonly CryptoKey[],
): Promise<string> {
  const head = hasCustomerKey ? OF_CUSTOMER : "";
  if (submissionId === null && hasCustomerKey) throw new Error("a key without a submission");
  const content = contentOf(connection, taskId, submissionId, head);
  const mac = toBase64Url(await signWithNewest(keys, content));
  return submissionId === null ? mac : `${head}${submissionId}.${mac}`;
}

/**
 * Returns what a token states, if it was made for this connection and this task with one of `keys`; null for any other
 * token. The token is compared in constant time.
 */
export async function readHookToken(
  token: string,
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<HookToken | null> {
  const [, head = "", submissionId = null, mac] = TOKEN.exec(token) ?? [];
  if (mac === undefined) return null;
  const content = contentOf(connection, taskId, submissionId, head);
  const isValid = await verifyAny(keys, fromBase64(mac), content);
  return isValid ? { submissionId, hasCustomerKey: head === OF_CUSTOMER } : null;
}

function contentOf(
  connection: string,
  taskId: string,
  submissionId: string | null,
  head: string,
): Bytes {
  const submission = submissionId === null ? "" : `\n${head}${submissionId}`;
  return bytesOf(`${connection}\n${taskId}${submission}`);
}
