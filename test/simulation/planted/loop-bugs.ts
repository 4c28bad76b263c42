import { type Bug, bug } from "./bug.ts";

const LOOP = "task/work-loop.ts";

export const LOOP_BUGS: readonly Bug[] = [
  bug("the alarm is not set again when the loop comes to rest", [
    LOOP,
    "if (this.#armedFor !== wake) this.#platform.setAlarm(this.#arm(wake, now));",
    "",
  ]),
  bug("the alarm returns because the loop is busy", [
    LOOP,
    "      await this.runUntilIdle();\n    } finally {",
    "      if (!this.#running) await this.runUntilIdle();\n    } finally {",
  ]),
  bug("the running flag is cleared after an await", [
    LOOP,
    "      this.#running = false;",
    "      await Promise.resolve();\n      this.#running = false;",
  ]),
  bug(
    "a record that was read before a call is written back after it",
    [
      LOOP,
      "    const before = this.#platform.load();\n",
      "    const before = event.type.endsWith('_ended') ? this.#stale : this.#platform.load();\n",
    ],
    [
      LOOP,
      "        if (record === null) return last;\n",
      "        if (record === null) return last;\n        this.#stale = record;\n",
    ],
    [LOOP, "  #running = false;\n", "  #running = false;\n  #stale: TaskRecord | null = null;\n"],
  ),
  bug(
    "the index is written before the commit",
    [
      LOOP,
      "    this.#platform.commit(record, this.#arm(alarmAt, now));\n",
      "    if (policy.isIndexed && record.status !== 'charging') void this.#platform.publish(rowOf(record)).catch(() => {});\n    this.#platform.commit(record, this.#arm(alarmAt, now));\n",
    ],
    [
      LOOP,
      "import { transition }",
      "import { rowOf } from '../core/views/index-row.ts';\nimport { transition }",
    ],
  ),
  bug("an attempt of a dead instance is sent again", [
    LOOP,
    "const isOwn = this.#ownAttempt === number;",
    "const isOwn = true;",
  ]),
  bug("an own attempt counts as interrupted", [
    LOOP,
    "if (opened !== null && opened !== openAttempt(before)) this.#ownAttempt = opened;",
    "",
  ]),
  bug("a poll under way delays the first attempt", [
    LOOP,
    "if (!isOpen(record)) this.#callInFlight?.abort();",
    "",
  ]),
  bug("the watchdog is late", [
    LOOP,
    "isDue ? now + this.#platform.watchdogMs :",
    "isDue ? now + 60 * this.#platform.watchdogMs :",
  ]),
  bug("an alarm that came is taken for one that is set", [
    LOOP,
    "    this.#alarmTime = scheduledTime;\n    this.#armedFor = null;\n",
    "    this.#alarmTime = scheduledTime;\n",
  ]),
  bug("an alarm is set for now", [LOOP, "Math.max(at, now + 1)", "at"]),
  bug("an alarm is set farther ahead than the platform can", [
    LOOP,
    "return Math.min(Math.max(at, now + 1), now + MAX_ALARM_AHEAD_MS);",
    "return Math.max(at, now + 1);",
  ]),
  bug("the clock of the loop forgets the alarm that runs", [
    LOOP,
    "Math.max(this.#clock, this.#platform.now(), this.#alarmTime)",
    "Math.max(this.#clock, this.#platform.now())",
  ]),
  bug("the clock of the loop goes back", [
    LOOP,
    "Math.max(this.#clock, this.#platform.now(), this.#alarmTime)",
    "Math.max(this.#platform.now(), this.#alarmTime)",
  ]),
  bug("a later life of an id looks older than the one erased", [
    LOOP,
    "this.#clock = Math.max(this.#clock, decision.record.version + 1);",
    "",
  ]),
  bug("a reader sets the alarm of whatever is due", [
    LOOP,
    "if (wake < now - OVERDUE_MS)",
    "if (wake <= now)",
  ]),
  bug("the caller of a charge hears the answer to an earlier one", [
    LOOP,
    "last = await this.#perform(step);",
    "const decision = await this.#perform(step);\n        last ??= decision;",
  ]),
];
