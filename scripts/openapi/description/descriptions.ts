import type { RouteId } from "../../../src/api/routes.ts";
import { ACCOUNT_KEY_ROUTES } from "./account-keys.ts";
import { ACCOUNT_ROUTES } from "./accounts.ts";
import { DELIVERY_ROUTES } from "./delivery.ts";
import type { RouteDescription } from "./description.ts";
import { LEDGER_ROUTES } from "./ledger.ts";
import { MCP_ROUTES } from "./mcp.ts";
import { MONITORING_ROUTES } from "./monitoring.ts";
import { OPERATOR_ROUTES } from "./operators.ts";
import { SEARCH_ROUTES } from "./search.ts";
import { TASK_ROUTES } from "./tasks.ts";
import { UPSTREAM_ROUTES } from "./upstream.ts";

/** The description of every route, by its id. A route without one does not compile. */
export const DESCRIPTIONS: Readonly<Record<RouteId, RouteDescription>> = {
  ...TASK_ROUTES,
  ...DELIVERY_ROUTES,
  ...UPSTREAM_ROUTES,
  ...ACCOUNT_ROUTES,
  ...LEDGER_ROUTES,
  ...ACCOUNT_KEY_ROUTES,
  ...SEARCH_ROUTES,
  ...MCP_ROUTES,
  ...MONITORING_ROUTES,
  ...OPERATOR_ROUTES,
};
