import type { Child, PropsWithChildren } from "hono/jsx";
import type { OperatorBrand } from "../../config/operator-brand.ts";
import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { sha256, toBase64 } from "../../security/encoding.ts";
import { loading } from "../http/html-answer.ts";
import { Document, type Theme } from "../layout/layout.tsx";
import { ThemeButton } from "../layout/topbar.tsx";

const NO_BRAND: OperatorBrand = { name: null, logo: null, color: null };
const PRODUCT = "Task Relay";

interface CustomerLayoutProps {
  readonly title: string;
  readonly theme: Theme;
  readonly brand: OperatorBrand;
  /** Further elements in the head of the page. */
  readonly head?: Child;
}

/** Returns how the operator is presented to customers; without a brand while the configuration is not valid. */
export function brandOf(env: Env): OperatorBrand {
  return configOf(env)?.brand ?? NO_BRAND;
}

/**
 * A page for customers of the operator or of an account. It has the name, the logo and the colour of the operator, and
 * no link to the console.
 */
export function CustomerLayout({
  title,
  theme,
  brand,
  head,
  children,
}: PropsWithChildren<CustomerLayoutProps>) {
  const { name, logo, color } = brand;
  const style = styleOf(color);
  const owner = name ?? PRODUCT;
  const icon = logo === null ? {} : { icon: `/brand/${logo}` };
  const elements = (
    <>
      {style === null ? null : <style>{style}</style>}
      {head}
    </>
  );
  return (
    <Document title={title} theme={theme} owner={owner} head={elements} {...icon}>
      <div class="frame">
        <header class="topbar">
          <p class="brand result-owner">
            {logo === null ? null : <img src={`/brand/${logo}`} alt="" />}
            <bdi>{owner}</bdi>
          </p>
          <div class="topbar-end">
            <ThemeButton />
          </div>
        </header>
        <main id="main" class="main result" tabindex={-1}>
          {children}
        </main>
      </div>
    </Document>
  );
}

/**
 * Returns the headers of a page for customers: it sends no referrer, which would contain the token of its link, search
 * engines do not list it, and it may load the colour of the operator and the given media.
 * @param media schemes or origins of the pictures, videos and sounds that the page may show.
 */
export async function customerHeaders(
  { color }: OperatorBrand,
  media: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const style = styleOf(color);
  const hash = style === null ? {} : { styleHash: toBase64(await sha256(style)) };
  return {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    ...loading({ media, ...hash }),
  };
}

/** Returns the inline style with the colour of the operator; null when there is none. */
function styleOf(color: OperatorBrand["color"]): string | null {
  return color === null ? null : `:root{--brand:${color.fill};--on-brand:${color.text}}`;
}
