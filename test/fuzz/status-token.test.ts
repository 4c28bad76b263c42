import * as fc from "fast-check";
import { bytesOf } from "../../src/security/encoding.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import { statusToken, timesOfStatusToken } from "../../src/security/status-token.ts";
import { fuzz } from "./fuzz.ts";
import { changedText } from "./text.ts";

const [KEY, OLDER, WRONG] = await Promise.all(
  ["a", "b", "c"].map((letter) => hmacKey(bytesOf(letter.repeat(32)))),
);
const KEYS = [KEY, OLDER].filter((key) => key !== undefined);
const IDS = ["0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"];
const TIMES = [
  { createdAtS: 1_792_497_600, expiresAtS: 1_792_843_200, recordedAt: 1_792_497_600_250 },
  { createdAtS: 0, expiresAtS: 99_999_999_999, recordedAt: 0 },
];

/** Tokens of each key, with the task that each was made for. */
const MADE = await Promise.all(
  IDS.flatMap((id) =>
    TIMES.flatMap((times) =>
      [KEY, OLDER, WRONG].map(async (key) => {
        const token = await statusToken(id, times, key === undefined ? [] : [key]);
        return { id, times, token, isOurs: key !== WRONG };
      }),
    ),
  ),
);

/** Tokens with another last character. The decoder ignores some bits of this character. */
const respelled = fc
  .tuple(
    fc.constantFrom(...MADE),
    fc.constantFrom(...Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij-_")),
  )
  .map(([made, last]) => ({ made, text: made.token.slice(0, -1) + last }));
const changed = fc
  .constantFrom(...MADE)
  .chain((made) => changedText(made.token).map((text) => ({ made, text })));

fuzz(
  "a status token, with which a browser reads a task, is accepted only if unaltered, for its own task and under the secret that made it",
  {
    inputs: fc.tuple(fc.oneof(respelled, changed), fc.constantFrom(...IDS)),
    subject: timesOfStatusToken,
    defects: {
      "accepts the token of another task": async (text, _asked, keys) => {
        const times = await Promise.all(IDS.map((id) => timesOfStatusToken(text, id, keys)));
        return times.find((each) => each !== null) ?? null;
      },
      "accepts the token of another secret": async (text, asked, keys) =>
        timesOfStatusToken(text, asked, [...keys, ...(WRONG === undefined ? [] : [WRONG])]),
      "reads another end": async (text, asked, keys) => {
        const times = await timesOfStatusToken(text, asked, keys);
        return times === null ? null : { ...times, expiresAtS: times.expiresAtS + 1 };
      },
    },
    check: async ([{ made, text }, asked], subject) => {
      const times = await subject(text, asked, KEYS);
      const isRight = text === made.token && asked === made.id && made.isOurs;
      if ((times !== null) !== isRight) throw new Error(`${text} for ${asked}`);
      if (times === null) return false;
      if (JSON.stringify(times) !== JSON.stringify(made.times)) throw new Error("other times");
      return true;
    },
  },
);
