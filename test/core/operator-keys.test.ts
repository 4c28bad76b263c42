import { expect, it } from "vitest";
import { parseOperatorKeys } from "../../src/config/operator-keys.ts";

const [A, B] = ["tok_aaaaaaaaaaaa", "tok_bbbbbbbbbbbb"];
const BASE64 = "bGFiZWwtb3Ita2V5cw==";

it.each([
  ["that is only a key has the role all and no label", A, ["all", null, A]],
  ["with a role and a colon before the key has this role", `read:${A}`, ["read", null, A]],
  [
    "with a label and = before the key has this label and the role all",
    `grafana=${A}`,
    ["all", "grafana", A],
  ],
  ["with a role and a label before the key has both", `operate:ci-2=${A}`, ["operate", "ci-2", A]],
  ["may have a key that contains =", `all:alice=x=${A}`, ["all", "alice", `x=${A}`]],
  ["may have a key that contains a colon", `all:${A}:${B}`, ["all", null, `${A}:${B}`]],
  [
    "with a colon after a word that has a digit is read as a key, because no role has a digit",
    `a1:${A}`,
    ["all", null, `a1:${A}`],
  ],
  ["may have a base64 key, which ends in =", `metrics:${BASE64}`, ["metrics", null, BASE64]],
  [
    "with = before fewer than 16 characters is read as a key without a label, because a key is longer",
    `abcdef=${A.slice(1)}`,
    ["all", null, `abcdef=${A.slice(1)}`],
  ],
  [
    "with capital letters before = is read as a key without a label",
    `Alice=${A}`,
    ["all", null, `Alice=${A}`],
  ],
  [
    "with 33 characters before = is read as a key without a label, because a label is shorter",
    `${"l".repeat(33)}=${A}`,
    ["all", null, `${"l".repeat(33)}=${A}`],
  ],
] as const)(
  "an entry of the variable OPERATOR_KEYS has the form [role:][label=]key, with the role all when it names none: an entry %s",
  (_, entry, [role, label, secret]) => {
    const other = { role: "all", label: null, secret: B };
    expect(parseOperatorKeys(` ${entry}\t${B}`)).toEqual({
      ok: true,
      value: [{ role, label, secret }, other],
    });
  },
);

it.each([
  [
    "an unknown role",
    `admin:${A}`,
    "has a role that is none of read, metrics, operate, all in entry 2",
  ],
  [
    "a role in capital letters",
    `READ:${A}`,
    "has a role that is none of read, metrics, operate, all in entry 2",
  ],
  ["a role without a key", "read:", "has a role without a key in entry 2"],
  [
    "a label without a key",
    "all:deployments-of-production=",
    "has a label without a key in entry 2",
  ],
  ["a short key", A.slice(1), "has a key of less than 16 characters in entry 2"],
  [
    "a short key behind a role",
    `operate:${A.slice(1)}`,
    "has a key of less than 16 characters in entry 2",
  ],
  ["the key of another entry", `read:grafana=${B}`, "has the same key in entries 1 and 2"],
])(
  "the variable OPERATOR_KEYS with %s is refused with an error that states the position of the entry and contains no part of it",
  (_, entry, error) => {
    expect(parseOperatorKeys(`${B} ${entry}`)).toEqual({ ok: false, error });
  },
);
