import { Status } from "../../../src/console/parts/chip.tsx";
import { Code } from "../../../src/console/parts/code.tsx";
import { Id } from "../../../src/console/parts/copy.tsx";
import { CloseButton, Dialog, DialogButton } from "../../../src/console/parts/dialog.tsx";
import { Empty } from "../../../src/console/parts/empty.tsx";
import { Hostile } from "../../../src/console/parts/hostile.tsx";
import { Layout, themeOf } from "../../../src/console/layout/layout.tsx";
import { Notice } from "../../../src/console/parts/notice.tsx";
import { PageHead, Panel } from "../../../src/console/parts/page-head.tsx";
import { Stat } from "../../../src/console/parts/stat.tsx";
import { Table } from "../../../src/console/parts/table.tsx";
import { Tabs } from "../../../src/console/parts/tabs.tsx";
import { Ago, Time } from "../../../src/console/parts/shown-time.tsx";

const NOW = Date.UTC(2026, 10, 22, 14, 31, 7);
const HOSTILE = `<script>alert("1")</script>\u202E' onload=x style=y`;
const JSON_TEXT = JSON.stringify({ text: HOSTILE, attempts: 3 }, null, 2);

const STATUSES =
  "pending processing completed waiting sending retrying delivered failed rejected redirected timeout unreachable blocked interrupted".split(
    " ",
  );

/**
 * Renders a page that has every part, for an account or the operator; each text by a third party is hostile.
 */
export async function samplePage(account: string | null): Promise<string> {
  const theme = themeOf(new Request("https://relay.test", { headers: { Cookie: "theme=dark" } }));
  const frame = { theme, account, who: HOSTILE, warnings: [HOSTILE], notes: [] };
  const page = (
    <Layout title={HOSTILE} section="tasks" frame={frame} isLive>
      <PageHead title="Tasks" sub={<Hostile text={HOSTILE} />}>
        <DialogButton opens="api">API</DialogButton>
      </PageHead>
      <Notice tone="bad" icon="cross" title={HOSTILE} actions={<a href="/hosts">Why</a>} />
      <Stat value="34" label="sending" href="/tasks?callback=sending" />
      <Panel title="Newest" aside="5 of 1,284">
        <Table
          caption="Tasks"
          rows={STATUSES}
          rowId={(status) => `row-${status}`}
          columns={[
            { title: "Callback", cell: (status) => <Status of={status} /> },
            { title: "Host", cell: () => <Hostile text={HOSTILE} /> },
            { title: "Created", cell: () => <Time at={NOW} precision="ms" /> },
            { title: "Age", isNumber: true, cell: () => <Ago at={NOW - 90_000} now={NOW} /> },
          ]}
        />
      </Panel>
      <Tabs
        name="language"
        label="Language"
        tabs={[{ title: "JSON", content: <Code what="answer" language="json" text={JSON_TEXT} /> }]}
      />
      <Empty icon="tasks" title="No task yet">
        <Id text={HOSTILE} what="task id" />
      </Empty>
      <Dialog id="api" title="The same by the API">
        <CloseButton of="api">Close</CloseButton>
      </Dialog>
    </Layout>
  );
  return (await page).toString();
}
