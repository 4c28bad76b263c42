import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Refusal } from "../deploy/refusal.ts";
import { BUNDLE, workerdPath, writeRelease } from "./release.ts";

const root = join(import.meta.dirname, "../..");
/** Certificates of public authorities on Debian and its relatives, without which workerd does not start. */
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** Directory of the objects, the only one that the process writes to. */
const DATA = "var/lib/task-relay";
/** User and group of the process, which owns nothing else. ops/Dockerfile names it too. */
const USER = "65532";

/**
 * Writes what an image of the relay is built from: `Dockerfile`, and `root.tar` with all files of the image, whose times
 * and owners do not depend on this machine.
 * @param bundle file with the code of the relay.
 * @throws Refusal on a machine that lacks something that the image needs.
 */
export function writeImageContext(directory: string, bundle = BUNDLE): void {
  const files = join(directory, "root");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(files, DATA), { recursive: true });
  writeRelease(join(files, "opt/task-relay"), bundle);
  copyInto(files, CERTIFICATES, "install the package ca-certificates");
  for (const library of librariesOf(workerdPath)) copyInto(files, library, "");
  mkdirSync(join(files, "etc/task-relay"));
  copyFileSync(join(root, "ops/allow.capnp"), join(files, "etc/task-relay/allow.capnp"));
  writeFileSync(join(files, "etc/nsswitch.conf"), "hosts: files dns\n");
  copyFileSync(join(root, "ops/Dockerfile"), join(directory, "Dockerfile"));
  const archive = join(directory, "root.tar");
  const settled = ["--sort=name", "--mtime=@0", "--numeric-owner", "-C", files, "-f", archive];
  const open = ["--owner=0", "--group=0", "--mode=u=rwX,go=rX", `--exclude=./${DATA}`];
  const closed = [`--owner=${USER}`, `--group=${USER}`, "--mode=u=rwx,go="];
  execFileSync("tar", ["-c", ...settled, ...open, "."]);
  execFileSync("tar", ["-r", ...settled, ...closed, `./${DATA}`]);
  rmSync(files, { recursive: true });
}

/** Copies a file of this machine to the same path below a directory. */
function copyInto(files: string, path: string, cure: string): void {
  if (!existsSync(path)) throw new Refusal(`${path} is missing`, cure);
  mkdirSync(dirname(join(files, path)), { recursive: true });
  copyFileSync(realpathSync(path), join(files, path));
}

/** Returns the paths of the shared libraries of a program, its loader among them. @throws Refusal without glibc. */
function librariesOf(program: string): readonly string[] {
  if (process.platform !== "linux") throw new Refusal("the image needs glibc", "build it on Linux");
  const listed = execFileSync("ldd", [program], { encoding: "utf8" });
  const paths = Array.from(listed.matchAll(/^\t(?:\S+ => )?(\/\S+) \(/gm), ([, path = ""]) => path);
  if (paths.some((path) => path.includes("/libc.so."))) return paths;
  throw new Refusal("the image needs glibc", "build it on Debian or Ubuntu");
}
