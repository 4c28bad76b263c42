import { publicJwk, publicWhpk } from "../../src/security/keyring.ts";
import { casesOf } from "./cases.ts";
import { publishedPrivateKey, publishedSecret, type Scheme, schemeOf } from "./keys.ts";
import { RequestBuilder } from "./requests.ts";

/** Time of all vectors, in Unix seconds: 2026-01-01T00:00:00Z. */
const NOW_S = 1_767_225_600;
const TOLERANCE_S = 300;

/** Returns the texts of the files in `conformance/` that contain the vectors, by file name. */
export async function vectorFiles(): Promise<ReadonlyMap<string, string>> {
  const [symmetric, asymmetric] = [await publishedSecret(), await publishedPrivateKey()];
  return new Map([
    ["v1.json", await fileOf(symmetric)],
    ["v1a.json", await fileOf(asymmetric)],
  ]);
}

async function fileOf(secret: string): Promise<string> {
  const scheme = await schemeOf(secret);
  if (scheme === null) throw new Error("the published secret is none");
  const vectors = await Promise.all(
    casesOf(scheme.name, true).map(async ({ name, when, requests }, index) => {
      const taskId = `00000000-0000-4000-8000-${String(index + 1).padStart(12, "0")}`;
      const sent = await requests(new RequestBuilder(scheme, taskId, NOW_S));
      return {
        name,
        when,
        requests: sent.map(({ expected, request }) => ({ expected, ...request })),
      };
    }),
  );
  const head = { scheme: scheme.name, secret, ...publicHalf(scheme) };
  const file = { ...head, now: NOW_S, tolerance_s: TOLERANCE_S, vectors };
  return `${JSON.stringify(file, null, 2)}\n`;
}

function publicHalf({ known }: Scheme): object {
  const [key] = known.signingKeys;
  return key === undefined ? {} : { public_key: publicWhpk(key), jwk: publicJwk(key) };
}
