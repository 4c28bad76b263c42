import { it } from "vitest";
import { searchTarget } from "../../src/console/search.ts";
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
