import { expect, it } from "vitest";
import { rawPathOf, routerOf } from "../../src/api/http/router.ts";
import type { Route } from "../../src/api/http/route.ts";

const handle: Route["handle"] = async () => new Response();

function aRoute(method: Route["method"], path: string): Route {
  return { id: path, method, path, access: "anyone", query: null, body: null, handle };
}

const routesOf = routerOf([
  aRoute("GET", "/things"),
  aRoute("POST", "/things"),
  aRoute("GET", "/things/all"),
  aRoute("GET", "/things/{id}"),
  aRoute("GET", "/things/{id}/parts/{number}"),
]);

it.each([
  ["http://a.example/things", "/things", {}],
  ["http://a.example/%74hings", "/things", {}],
  ["http://a.example/things/all", "/things/all", {}],
  [
    "http://a.example/things/all/parts/1",
    "/things/{id}/parts/{number}",
    { id: "all", number: "1" },
  ],
  ["http://a.example/things/7?a=/b", "/things/{id}", { id: "7" }],
  ["http://a.example/things/a%2Fb%25", "/things/{id}", { id: "a/b%" }],
  ["http://a.example/things/%zz", "/things/{id}", { id: "%zz" }],
  ["http://a.example/things/__proto__", "/things/{id}", { id: "__proto__" }],
  ["http://a.example/things/", null, null],
  ["http://a.example/things//parts/1", null, null],
  ["http://a.example/things/7/parts", null, null],
  ["http://a.example/a/../things", null, null],
  ["http://a.example//things", null, null],
  ["http://a.example", null, null],
])("the router finds for the URL %s the path %s with the parameters %o", (url, path, params) => {
  const found = routesOf(rawPathOf(url));
  expect([found?.path ?? null, found?.params ?? null]).toEqual([path, params]);
});

it("the router returns all routes of a path by their methods", () => {
  expect([...(routesOf("/things")?.byMethod.keys() ?? [])]).toEqual(["GET", "POST"]);
});
