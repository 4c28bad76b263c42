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
  const known = BY_OUTCOME[outcome ?? ""];
  if (known !== undefined) return known;
  if (code === null) return OTHER;
  const [, cause] = BY_CODE.find(([codes]) => codes.includes(code)) ?? [];
  return cause ?? (code >= 500 ? SERVER_FAULT : OTHER);
}
