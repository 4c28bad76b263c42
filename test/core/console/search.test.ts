import { expect, it } from "vitest";
import { searchPath, searchTarget } from "../../../src/console/search/search-page.ts";

const ID = "0edf0c76-03df-4fc8-941b-1cc4f8b7c465";
const HEADERS = `POST /hook HTTP/1.1\nHost: client.example.com\nwebhook-id: msg_${ID}\nx-attempt: 3`;

it.each([
  [ID, `/tasks/${ID}`],
  [` ${ID.toUpperCase()}\n`, `/tasks/${ID}`],
  [`msg_${ID}`, `/tasks/${ID}`],
  [`https://relay.example.com/hooks/ark/${ID}/dG9rZW4`, `/tasks/${ID}`],
  [`https://relay.example.com/tasks/${ID}?x=1`, `/tasks/${ID}`],
  [HEADERS, `/tasks/${ID}`],
  [`{"x-task-id": "${ID}", "x-attempt": "1"}`, `/tasks/${ID}`],
  ["client.example.com", "/hosts/client.example.com"],
  ["Client.Example.com:8443", "/hosts/client.example.com%3A8443"],
  ["https://client.example.com/hook?order=7", "/hosts/client.example.com"],
  ["localhost:3000", "/hosts/localhost%3A3000"],
  ["[::1]:3000", "/hosts/%5B%3A%3A1%5D%3A3000"],
  ["host: WS", "/hosts/ws"],
  ["account:acme", "/accounts/acme"],
  ["job:cgt-2026/1", "/tasks?job=cgt-2026%2F1"],
  ["model:client.example.com", "/tasks?model=client.example.com"],
  ["doubao-seedance-2.0", "/tasks?model=doubao-seedance-2.0"],
  ["wan 2.5 & more", "/tasks?model=wan%202.5%20%26%20more"],
  [`${ID}0`, `/tasks?model=${ID}0`],
])(
  "a search in the console opens the page of the task whose id the text contains, or else of a host or account, or the list of tasks of a job or model: %j opens %s",
  (text, path) => {
    const target = searchTarget(text);
    expect(target && searchPath(target)).toBe(path);
  },
);

it("the console's search takes a plain word for the possible name of an account, and blanks for no search", () => {
  expect(searchTarget("acme")).toEqual({ kind: "word", name: "acme" });
  expect(searchTarget(" \n")).toBeNull();
});
