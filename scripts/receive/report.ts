import type { Received } from "./verdict.ts";

/** Returns the lines that are printed for one attempt. */
export function reportOf(received: Received, verdict: string, answer: string): string {
  const { path, headers, body } = received;
  const header = (name: string) => String(headers[name] ?? "none");
  const lines = [
    `POST ${path}  attempt ${header("x-attempt")} of ${header("webhook-id")}`,
    `   signature: ${verdict}`,
    `   answer:    ${answer}`,
    `   body:      ${body}`,
  ];
  // Control characters are escaped, because a sender could otherwise move the cursor of the terminal.
  return lines.map((line) => line.replaceAll(/\p{Cc}/gu, "�")).join("\n");
}
