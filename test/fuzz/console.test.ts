import * as fc from "fast-check";
import { safeReturnTo } from "../../src/console/session/return-to.ts";
import { type Session, sessionIn, sessionText } from "../../src/console/session/session.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import { fuzz } from "./fuzz.ts";
import { changedText } from "./text.ts";

const ORIGIN = "https://relay.example.com";
const PAGES = [
  "/",
  "/tasks?status=failed&host=a.example",
  "/tasks/1/../2",
  "//evil.example/",
  "/.//x",
];

fuzz(
  "whatever return path the form of a login to the console has, the login redirects to a path of the relay and never to another host",
  {
    inputs: changedText(fc.constantFrom(...PAGES, "https://evil.example/a", "/\\evil.example")),
    cases: 20_000,
    subject: safeReturnTo,
    defects: {
      "returns whatever it was given": (text) => text,
      "looks only at the first character": (text) => (text.startsWith("/") ? text : "/"),
    },
    check: (text, subject) => {
      const path = subject(text, ORIGIN);
      if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(path)) throw new Error(`leads to ${path}`);
      if (new URL(path, ORIGIN).origin !== ORIGIN) throw new Error(`leads away: ${path}`);
      return path !== "/";
    },
  },
);

const KEYS = [await hmacKey(new Uint8Array(32).fill(7))];
const session: Session = {
  id: "A".repeat(22),
  accountId: "acme",
  hash: "ab".repeat(32),
  startedAt: 1_795_255_355_000,
  renewedAt: 1_795_255_356_000,
};
const TEXT = await sessionText(session, KEYS);

fuzz("a session cookie of the console is not accepted once any part of it was changed", {
  inputs: changedText(TEXT, 2),
  cases: 20_000,
  subject: sessionIn,
  defects: {
    "accepts any cookie": async () => session,
    "reads another account": async (text, keys) => {
      const read = await sessionIn(text, keys);
      return read === null ? null : { ...read, accountId: "globex" };
    },
  },
  check: async (text, subject) => {
    const read = await subject(text, KEYS);
    // The last of 43 characters of base64 has two bits that are ignored.
    const isSame = text.slice(0, -1) === TEXT.slice(0, -1) && text.length === TEXT.length;
    if (read !== null && !isSame) throw new Error("a changed cookie was accepted");
    if (text === TEXT && JSON.stringify(read) !== JSON.stringify(session))
      throw new Error("the session is read otherwise than it was written");
    return read !== null;
  },
});
