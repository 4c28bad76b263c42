import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const inOps = (file: string) => readFileSync(join(import.meta.dirname, "../../ops", file), "utf8");
const ADDRESSES = /^--(?:socket-addr=http|cluster-addr|cluster-advertise)=/;

const Service = z.looseObject({
  image: z.string(),
  build: z.optional(z.string()),
  restart: z.string(),
  command: z.optional(z.array(z.string())),
  ports: z.optional(z.array(z.string())),
  volumes: z.array(z.string()),
});
const Compose = z.looseObject({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
});

/** Reads a file of Compose. */
const composed = (file: string) => Compose.parse(parse(inOps(file), { merge: true }));

/** Returns a command of workerd as words, without the addresses, which differ from one place to the next. */
const withoutAddresses = (words: readonly string[]) =>
  words.filter((word) => !ADDRESSES.test(word));

/** Returns the last command that a unit of systemd starts. */
function commandOf(file: string): readonly string[] {
  const command = [...inOps(file).matchAll(/^ExecStart=(.+)$/gm)].at(-1)?.[1] ?? "";
  return command.split(" ").filter((word) => word !== "--import-path=${CREDENTIALS_DIRECTORY}");
}

/** Returns a list of ops/Dockerfile, such as ENTRYPOINT. */
function listOf(instruction: "ENTRYPOINT" | "CMD"): readonly string[] {
  const [, list = ""] = new RegExp(`^${instruction} (.*)$`, "m").exec(inOps("Dockerfile")) ?? [];
  return z.array(z.string()).parse(JSON.parse(list));
}

it("the image, ops/compose.cluster.yaml and the units of systemd start workerd with the same options but for the addresses", () => {
  const [entry, single] = [listOf("ENTRYPOINT"), listOf("CMD")];
  expect(withoutAddresses([...entry, ...single])).toEqual(
    withoutAddresses(commandOf("task-relay.service")),
  );
  const { services } = composed("compose.cluster.yaml");
  const nodes = Object.entries(services).filter(([name]) => name.startsWith("relay-"));
  expect(nodes).toHaveLength(3);
  for (const [name, { command = [] }] of nodes) {
    expect(command).toContain(`--cluster-advertise=${name}:7000`);
    expect(withoutAddresses([...entry, ...command])).toEqual(
      withoutAddresses(commandOf("cluster.conf")),
    );
    expect(inOps("haproxy.cfg")).toMatch(new RegExp(`^ {2}server ${name} ${name}:8787$`, "m"));
  }
});

it.each(["compose.yaml", "compose.cluster.yaml"])(
  "ops/%s publishes ports on this machine alone, restarts whatever ends, pins images, and mounts only volumes that it declares",
  (file) => {
    const { services, volumes } = composed(file);
    const mounted: string[] = [];
    for (const service of Object.values(services)) {
      expect(service.restart).toBe("always");
      for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
      if (service.build === undefined) expect(service.image).toMatch(/:v?\d+\.\d+/);
      else expect([service.image, service.build]).toEqual(["task-relay", "../dist/image"]);
      const named = service.volumes.map((volume) => volume.split(":")[0] ?? "");
      mounted.push(...named.filter((name) => !name.startsWith("./")));
    }
    expect(mounted.toSorted()).toEqual(Object.keys(volumes).toSorted());
  },
);
