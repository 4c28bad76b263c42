import * as z from "zod";

/** A variable as text: TOML numbers and booleans arrive as such, and an empty one means absent. */
export function text(fallback: string) {
  return z
    .union([z.string(), z.number(), z.boolean()], "must be text")
    .nullish()
    .transform((value) => (value ?? "").toString().trim() || fallback);
}

export function number(fallback: string, min: number, max: number) {
  return text(fallback)
    .transform(Number)
    .refine(
      (value) => value >= min && value <= max && value > 0,
      min === 0 ? `must be more than 0 and at most ${max}` : `must be from ${min} to ${max}`,
    );
}

export function httpUrl() {
  return text("").transform((value, ctx) => {
    if (value === "") return null;
    const url = URL.parse(value);
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    ctx.addIssue("must be an http(s) URL");
    return z.NEVER;
  });
}

export function flag() {
  return text("false")
    .refine((value) => value === "true" || value === "false", "must be true or false")
    .transform((value) => value === "true");
}

export function list(message: string, isValid: (item: string) => boolean) {
  return text("")
    .transform((value) => value.split(/\s+/).filter((item) => item !== ""))
    .refine((items) => items.every(isValid), message);
}

export function longEnough(secret: string, bytes: number): boolean {
  return new TextEncoder().encode(secret).length >= bytes;
}

export function nullIfEmpty(items: readonly string[]): readonly string[] | null {
  return items.length === 0 ? null : items;
}
