import { expect, it } from "vitest";
import { parseOperatorKeys } from "../../src/config/operator-keys.ts";

const [A, B] = ["tok_aaaaaaaaaaaa", "tok_bbbbbbbbbbbb"];
const BASE64 = "bGFiZWwtb3Ita2V5cw==";

it.each([
  ["a key alone", A, ["all", null, A]],
  ["a role", `read:${A}`, ["read", null, A]],
  ["a label", `grafana=${A}`, ["all", "grafana", A]],
  ["a role and a label", `operate:ci-2=${A}`, ["operate", "ci-2", A]],
  ["a key that contains =", `all:alice=x=${A}`, ["all", "alice", `x=${A}`]],
  ["a key that contains a colon", `all:${A}:${B}`, ["all", null, `${A}:${B}`]],
  ["a colon behind a word with a digit", `a1:${A}`, ["all", null, `a1:${A}`]],
  ["a base64 key, which ends in =", `metrics:${BASE64}`, ["metrics", null, BASE64]],
  [
    "= before less than 16 characters",
    `abcdef=${A.slice(1)}`,
    ["all", null, `abcdef=${A.slice(1)}`],
  ],
  ["capital letters before =", `Alice=${A}`, ["all", null, `Alice=${A}`]],
  ["33 characters before =", `${"l".repeat(33)}=${A}`, ["all", null, `${"l".repeat(33)}=${A}`]],
] as const)("an entry of OPERATOR_KEYS with %s is read", (_, entry, [role, label, secret]) => {
  const other = { role: "all", label: null, secret: B };
  expect(parseOperatorKeys(` ${entry}\t${B}`)).toEqual({
    ok: true,
    value: [{ role, label, secret }, other],
  });
});

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
  "OPERATOR_KEYS with %s is refused with the position of the entry and no part of it",
  (_, entry, error) => {
    expect(parseOperatorKeys(`${B} ${entry}`)).toEqual({ ok: false, error });
  },
);
