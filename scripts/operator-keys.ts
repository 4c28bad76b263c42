import { parseEnv } from "node:util";
import { parseOperatorKeys } from "../src/config/operator-keys.ts";
import { mayOperator, type Permission } from "../src/security/roles.ts";

/**
 * Returns the first key in the `OPERATOR_KEYS` of a file of secrets whose role has the permission, without
 * its role and label; null when the file has none.
 */
export function operatorKeyIn(content: string, permission: Permission): string | null {
  const keys = parseOperatorKeys(parseEnv(content)["OPERATOR_KEYS"] ?? "");
  if (!keys.ok) return null;
  return keys.value.find(({ role }) => mayOperator(role, permission))?.secret ?? null;
}
