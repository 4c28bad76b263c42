// Files that `with { type: "text" }` imports as their text.

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "*.htm" {
  const text: string;
  export default text;
}

declare module "*/client/lists.js" {
  const text: string;
  export default text;
}

declare module "*/client/refresh.js" {
  const text: string;
  export default text;
}

declare module "*/client/console.js" {
  const text: string;
  export default text;
}

declare module "idiomorph/dist/idiomorph.min.js" {
  const text: string;
  export default text;
}
