/** A way in which callback attempts to a host fail: the outcome and status code that the index has for them. */
interface FailureKind {
  readonly outcome: string | null;
  readonly status_code: number | null;
}

/** Likely cause of failed callback attempts, with advice what to check. */
interface Cause {
  /** Rank of a cause by the effort of checking it; 1 for the least effort. */
  readonly rank: number;
  readonly text: string;
}

const BY_CODE: readonly (readonly [codes: readonly number[], Cause])[] = [
  [
    [401, 403],
    {
      rank: 1,
      text: "The receiver refuses the callback: most often its verification of the signature fails. Judge a request that it received with the signature doctor of the task, and compare its secret.",
    },
  ],
  [[404, 405, 410], { rank: 2, text: "The path is wrong, or takes no POST. Compare the URL." }],
  [[429], { rank: 3, text: "The receiver limits the rate. Send again at a slower pace." }],
  [[413], { rank: 3, text: "The receiver or its proxy takes no body of this size." }],
];

const BY_OUTCOME: Readonly<Record<string, Cause>> = {
  redirected: {
    rank: 2,
    text: "The URL has moved, and redirects are not followed. Its Location header, in the attempts of the task, has the new one.",
  },
  blocked: {
    rank: 2,
    text: "The relay itself does not call this URL: its rules forbid local addresses, some ports, and plain http.",
  },
  timeout: {
    rank: 4,
    text: "The receiver takes longer than the callback may. Let it answer at once and work afterwards.",
  },
  unreachable: {
    rank: 5,
    text: "No connection: the name has no address, its certificate is not valid, the server is down, or no listener is connected.",
  },
  interrupted: { rank: 6, text: "The relay stopped before the answer came; it tries again." },
};

/** Causes of the outcome `unreachable` by the HTTP status that says why, in place of the receiver. */
const BY_UNREACHABLE_CODE: Readonly<Record<number, Cause>> = {
  403: {
    rank: 2,
    text: "The URL has an IP address, or its name leads to one, that is not called.",
  },
  521: { rank: 5, text: "Nothing listens at the port, or a firewall refuses the connection." },
  522: {
    rank: 5,
    text: "The host does not answer: it is down, or a firewall drops the connection.",
  },
  525: {
    rank: 3,
    text: "The TLS handshake fails: the port speaks no TLS, or the certificate is not valid.",
  },
  526: { rank: 3, text: "The certificate is not valid: expired, of another name, or not trusted." },
  530: { rank: 3, text: "The name leads to no address that may be called, or its tunnel is down." },
};

const OTHER: Cause = {
  rank: 4,
  text: "The receiver answers, but not with a status from 200 to 299.",
};
const SERVER_FAULT: Cause = {
  rank: 3,
  text: "The receiver's own code or its proxy fails. Its log has the error.",
};

/** Returns the likely cause of callback attempts that failed with this outcome and HTTP status. */
export function likelyCauseOf({ outcome, status_code: code }: FailureKind): Cause {
  const told = outcome === "unreachable" ? BY_UNREACHABLE_CODE[code ?? 0] : undefined;
  const known = told ?? BY_OUTCOME[outcome ?? ""];
  if (known !== undefined) return known;
  if (code === null) return OTHER;
  const [, cause] = BY_CODE.find(([codes]) => codes.includes(code)) ?? [];
  return cause ?? (code >= 500 ? SERVER_FAULT : OTHER);
}
