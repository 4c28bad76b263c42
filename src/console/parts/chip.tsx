import { Icon, type IconName } from "./icon.tsx";

/**
 * Meaning of a status for the reader (good, bad, in need of attention, in progress, idle), which decides its colour.
 */
export type Tone = "ok" | "bad" | "warn" | "busy" | "idle";

/** Icon and colour of every status: of a task, of a callback, of an attempt, and of the API key of a connection. */
const STATUSES: Readonly<Record<string, readonly [Tone, IconName]>> = {
  pending: ["idle", "clock"],
  processing: ["busy", "sync"],
  completed: ["ok", "check"],
  failed: ["bad", "cross"],
  waiting: ["idle", "clock"],
  sending: ["busy", "sync"],
  retrying: ["warn", "sync"],
  paused: ["warn", "clock"],
  delivered: ["ok", "check"],
  rejected: ["bad", "cross"],
  redirected: ["bad", "arrow"],
  timeout: ["bad", "clock"],
  unreachable: ["bad", "cross"],
  blocked: ["warn", "block"],
  interrupted: ["warn", "warn"],
  set: ["ok", "check"],
  refused: ["bad", "block"],
  not_needed: ["ok", "check"],
  disabled: ["bad", "block"],
  missing: ["idle", "cross"],
  simulated: ["idle", "sync"],
};

interface ChipProps {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
  /** True to give the chip a background, which only the main status of a page has. False when absent. */
  readonly solid?: boolean;
}

/** Shows a state by an icon and a word, in a colour that says the same. */
export function Chip({ tone, icon, word, solid = false }: ChipProps) {
  return (
    <span class={`chip tone-${tone}${solid ? " chip-solid" : ""}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

/** Shows the status of a task or a callback, or the outcome of an attempt. */
export function Status({ of, solid = false }: { readonly of: string; readonly solid?: boolean }) {
  const [tone, icon] = STATUSES[of] ?? ["idle", "clock"];
  return <Chip tone={tone} icon={icon} word={of} solid={solid} />;
}
