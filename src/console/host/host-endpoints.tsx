import type { EndpointOwner } from "../../api/endpoints/endpoint-client.ts";
import { Problem } from "../../api/http/problem.ts";
import type { readHost } from "../../api/search/read-hosts.ts";
import { hostOf } from "../../core/url.ts";
import { may } from "../../objects/task/caller.ts";
import { listOf } from "../endpoints/endpoint-operations.ts";
import { endpointPath } from "../endpoints/endpoints-panel.tsx";
import type { ViewerVisit } from "../http/page.ts";
import { Panel } from "../parts/page-head.tsx";

/** An endpoint whose URL leads to the host. */
interface KnownEndpoint {
  readonly account: EndpointOwner;
  readonly name: string;
}

/**
 * Finds the endpoints whose URL leads to a host, among those of the accounts of its newest callbacks: to read those of
 * all accounts would take a call for each. Null for a viewer who may not see endpoints.
 */
export async function endpointsOf(
  { host, accounts }: Pick<Awaited<ReturnType<typeof readHost.perform>>, "host" | "accounts">,
  visit: ViewerVisit<unknown>,
): Promise<readonly KnownEndpoint[] | null> {
  if (!may(visit.viewer, "endpoints") || !may(visit.viewer, "operate")) return null;
  const found = await Promise.all(
    accounts.map(async ({ account }) => {
      const endpoints = await listOf(account, visit).catch(noneIfDeleted);
      const own = endpoints.filter(({ url }) => hostOf(url) === host);
      return own.map(({ name }) => ({ account, name }));
    }),
  );
  return found.flat();
}

/** Returns no endpoints for an account that was deleted. */
function noneIfDeleted(error: unknown): readonly never[] {
  if (error instanceof Problem && error.code === "not_found") return [];
  throw error;
}

/** Section with the endpoints whose URL leads to a host; empty when none is known. */
export function HostEndpoints({ endpoints }: { readonly endpoints: readonly KnownEndpoint[] }) {
  if (endpoints.length === 0) return null;
  return (
    <Panel title="Endpoints at this host" aside="of the accounts of its newest callbacks">
      <ul>
        {endpoints.map(({ account, name }) => (
          <li>
            <a href={endpointPath(account, name)}>{name}</a>{" "}
            {account === null ? (
              <span class="muted">of the relay</span>
            ) : (
              <>
                <span class="muted">of</span> <a href={`/accounts/${account}`}>{account}</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
