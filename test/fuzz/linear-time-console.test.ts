import { it } from "vitest";
import { codeTokens } from "../../src/console/code-tokens.ts";
import { searchTarget } from "../../src/console/search.ts";
import { readRun } from "../../src/console/send-again.ts";
import { readPastedHeaders } from "../../src/security/doctor/pasted-headers.ts";
import { expectLinear, repeated, withNames } from "./linear.ts";

it.each(
  withNames([
    " ",
    "\n",
    "a",
    "a.",
    "a-",
    "1.",
    ":",
    "/hooks/",
    "/hooks/a",
    "/tasks/",
    "webhook-id",
    "msg_",
  ]),
)(
  "a text that repeats %s in the search field of the console is parsed in linear time",
  (_, part) => {
    for (const before of ["", "webhook-id", "x-task-id:", "account:", "https://", "["]) {
      expectLinear((length) => {
        const text = `${before}${repeated(part, length)}a\nb!`;
        return () => searchTarget(text);
      }, 8_192);
    }
  },
);

it.each(withNames(["a", "a:", "a:1", ":1", "1", ",", "a:1,", "\n"]))(
  "the state of a run that sends callbacks again is read in linear time when its skipped tasks repeat %s",
  (_, part) => {
    const run = crypto.randomUUID();
    expectLinear((length) => {
      const state = new URLSearchParams({ run, skipped: repeated(part, length) });
      return () => readRun(state);
    }, 16_000);
  },
);

it.each(withNames(['"', '\\"', "\\", '"a"', '"a" ', '"a":', "1", "1e", "-"]))(
  "a text that repeats %s is divided into the tokens of JSON in linear time",
  (_, part) => {
    expectLinear((length) => {
      const text = `"${repeated(part, length)}\n`;
      return () => codeTokens(text);
    }, 8_192);
  },
);

it.each(
  withNames([
    " ",
    "> ",
    "\n ",
    "\n v1,",
    "webhook-id",
    "webhook-id ",
    "webhook-id:",
    "[",
    "b'",
    '\\"',
    "v1,a ",
  ]),
)(
  "headers that a user pastes to have the signature of a callback checked, and that repeat %s, are read in linear time",
  (_, part) => {
    for (const before of ["", "webhook-id", "webhook-signature: "]) {
      expectLinear((length) => {
        const text = `${before}${repeated(part, length)}x`;
        return () => readPastedHeaders(text);
      }, 16_000);
    }
  },
);
