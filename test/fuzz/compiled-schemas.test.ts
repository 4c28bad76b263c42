import { expect, it } from "vitest";
import * as z from "zod/mini";
import { NoQuery } from "../../src/api/operation.ts";
import { TaskFinishEvent } from "../../src/api/tasks/event-schema.ts";
import { Attachment, Registration } from "../../src/api/tasks/task-schemas.ts";
import { LinkQuery, ReadQuery } from "../../src/api/tasks/read-task.ts";
import { CallbackBody, StoredRecord } from "../../src/core/record/record-schema.ts";
import { fuzz } from "./fuzz.ts";
import { mutated } from "./mutations.ts";
import { STORED_RECORDS } from "./stored-records.ts";
import { ATTACHMENTS, EVENTS, REGISTRATIONS } from "./valid-bodies.ts";

interface Compiled {
  readonly schema: z.ZodMiniType;
  readonly valid: readonly unknown[];
}

const COMPILED: Readonly<Record<string, Compiled>> = {
  "the body of an event": { schema: TaskFinishEvent, valid: EVENTS },
  "the body of a registration": { schema: Registration, valid: REGISTRATIONS },
  "the body that attaches a job": { schema: Attachment, valid: ATTACHMENTS },
  "the query of a read": {
    schema: ReadQuery,
    valid: [{}, { wait: "30", known: ['"1-operator"'] }],
  },
  "the query of a status link": { schema: LinkQuery, valid: [{}, { wait: "30", token: "st_1" }] },
  "an absent query": { schema: NoQuery, valid: [{}] },
  "the body of a callback": {
    schema: CallbackBody,
    valid: [
      { id: "0199f3a2", completed_at: 1_792_497_700, output: {} },
      { id: "0199f3a2", error: { code: "moderation", message: "Refused." } },
    ],
  },
  "the stored record of a task": { schema: StoredRecord, valid: STORED_RECORDS },
};

/** Returns what parsing has found: the value that is read, or the faults. */
function found({ data, error }: ReturnType<z.ZodMiniType["safeParse"]>): unknown {
  return error === undefined ? { data } : { issues: error.issues };
}

for (const [what, { schema, valid }] of Object.entries(COMPILED)) {
  // Zod interprets a clone, which has the same definition.
  const interpreted = z.clone(schema);
  const compiled = (value: unknown) => {
    return { result: found(schema.safeParse(value)), isValid: z.validate(schema, value) };
  };

  it(`the schema of ${what} validates by generated code, and a clone of the schema, with which the next test compares it, does not`, () => {
    expect([schema, interpreted].map(({ _zod }) => "validator" in _zod.bag)).toEqual([true, false]);
    expect(() => z.compile(interpreted, { strict: true })).not.toThrow();
  });

  fuzz(
    `for any value, the compiled schema of ${what} gives the same result and names the same faults as the interpreted schema`,
    {
      cases: 20_000,
      inputs: mutated(valid),
      subject: compiled,
      defects: {
        "accepts every value": (value) => ({
          result: found({ success: true, data: value }),
          isValid: true,
        }),
        "refuses every value": () => ({
          result: found(schema.safeParse(undefined)),
          isValid: false,
        }),
        "reads a valid value as another one": (value) => {
          const { result, isValid } = compiled(value);
          return { isValid, result: isValid ? { data: { value } } : result };
        },
        "only the check without a value accepts more": (value) => ({
          ...compiled(value),
          isValid: true,
        }),
      },
      check: (value, subject) => {
        const { result, isValid } = subject(value);
        const wanted = interpreted.safeParse(value);
        expect(result).toStrictEqual(found(wanted));
        expect(isValid).toBe(wanted.success);
        return wanted.success;
      },
    },
  );
}
