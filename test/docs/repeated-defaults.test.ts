import { expect, it } from "vitest";
import MIGRATE_PAGE from "../../docs/migrate.md?raw";
import SELF_HOST_PAGE from "../../docs/self-host.md?raw";
import { VARIABLE_DESCRIPTIONS } from "../../scripts/docs/variables.ts";

const defaultOf = (name: string) => VARIABLE_DESCRIPTIONS[name]?.fallback ?? null;

it.each([
  [
    "docs/migrate.md",
    "TASK_DEADLINE_HOURS",
    MIGRATE_PAGE,
    (hours: string) => `by default ${hours} hours`,
  ],
  [
    "docs/migrate.md",
    "CALLBACK_TIMEOUT_S",
    MIGRATE_PAGE,
    (s: string) => `within ${s} s (\`CALLBACK_TIMEOUT_S\``,
  ],
  [
    "docs/migrate.md",
    "RETENTION_DAYS",
    MIGRATE_PAGE,
    (days: string) => `${days} days (\`RETENTION_DAYS\`)`,
  ],
  [
    "docs/migrate.md",
    "CALLBACK_SCHEDULE_S",
    MIGRATE_PAGE,
    (schedule: string) => {
      const [, second = NaN, third = NaN, ...more] = schedule.split(",").map((s) => Number(s) / 60);
      return `${3 + more.length}: at once, then ${second} min and ${third} min after the end of the attempt before`;
    },
  ],
  [
    "docs/self-host.md",
    "RETENTION_DAYS",
    SELF_HOST_PAGE,
    (days: string) => `(\`RETENTION_DAYS\`, ${days})`,
  ],
  [
    "docs/self-host.md",
    "MAX_BODY_KB",
    SELF_HOST_PAGE,
    (kb: string) => `${kb} KB (\`MAX_BODY_KB\`)`,
  ],
])(
  "%s states the same default as the configuration for the variable %s",
  (_path, name, page, textOf) => {
    expect(page).toContain(textOf(defaultOf(name) ?? ""));
  },
);
