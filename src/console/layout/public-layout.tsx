import type { PropsWithChildren } from "hono/jsx";
import { Brand } from "./brand.tsx";
import { Document, type Theme } from "./layout.tsx";
import { ThemeButton } from "./topbar.tsx";

interface PublicLayoutProps {
  readonly title: string;
  readonly theme?: Theme;
}

/** A page for readers who are not logged in, e.g. the login or an error. */
export function PublicLayout({
  title,
  theme = null,
  children,
}: PropsWithChildren<PublicLayoutProps>) {
  return (
    <Document title={title} theme={theme}>
      <div class="frame">
        <header class="topbar">
          <Brand />
          <div class="topbar-end">
            <ThemeButton />
          </div>
        </header>
        <main id="main" class="main main-narrow" tabindex={-1}>
          {children}
        </main>
      </div>
    </Document>
  );
}
