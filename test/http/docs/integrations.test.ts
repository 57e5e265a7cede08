import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { CategoryFeature } from '../../../shared/bundle/manifest/manifest.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { type RawCall, rawCall } from '../../support/http/raw-connection.js';
import { demoBundleWith, fillIn } from '../../support/http/tool-fixture.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { blocksWithResult, jsonForm, type MarkdownBlock, markdownBlocks } from '../../support/markdown-blocks.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const maxPictureWidth = 100;

/** The result of the function of a HubSpot custom action: the call that HubSpot will make. */
interface CustomActionCall {
  readonly webhookUrl: string;
  readonly body: string;
  readonly httpMethod: string;
  readonly contentType: string;
  readonly accept: string;
  readonly httpHeaders: Readonly<Record<string, string>>;
}

interface Summarised {
  readonly input_summary: {
    readonly records: number;
    readonly fields: readonly object[];
    readonly ignored: readonly object[];
  };
}

describe('docs/integrations', () => {
  const directory = projectFile('docs/integrations');
  const files = readdirSync(directory).sort();
  const markdownOf = (file: string): string => readFileSync(join(directory, file), 'utf8');
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    // the aliases of the example in pipedrive.md
    const aliases = { 'Lead Source': ['d4de1c1518b4531717c676029a45911c340390a6'] };
    own = await workspace(service, { bundle: await demoBundleWith(aliases) });
  });

  /** The call in a block: request line, headers, an empty line, body. */
  function callIn({ text }: MarkdownBlock): RawCall {
    const filled = { modelId: own.model._id, secret: own.live.secret };
    const template = text
      .trimEnd()
      .replaceAll('mdl_YOUR_MODEL', '{{model_id}}')
      .replaceAll('BASE64_OF_YOUR_API_KEY_AND_COLON', '{{basic}}')
      .replaceAll('YOUR_API_KEY', '{{api_key}}');
    const [head = '', ...body] = fillIn(template, filled).split('\n\n');
    const [requestLine = '', ...headers] = head.split('\n');
    const [method = '', path = ''] = requestLine.split(' ');
    return {
      method,
      path,
      headers: Object.fromEntries(headers.map((line) => line.split(': ', 2) as [string, string])),
      body: body.join('\n\n'),
    };
  }

  /** A page shows the summary alone, with some of its fields. */
  function expectSummary(reply: Summarised, { input_summary: shown }: Summarised): void {
    const { fields, ...others } = reply.input_summary;
    expect(others).to.deep.equal({ records: shown.records, ignored: shown.ignored });
    expect(shown.fields).to.not.have.length(0);
    for (const field of shown.fields) expect(fields).to.deep.include(field);
  }

  it('docs/integrations has a page for each tool', () => {
    const pages = ['README', 'hubspot', 'make', 'n8n', 'pipedrive', 'salesforce', 'zapier'];
    expect(files).to.deep.equal(pages.map((page) => `${page}.md`));
  });

  it('hubspot.md has a custom action function that sends the call shown below it', async () => {
    const markdown = markdownOf('hubspot.md');
    const source = markdownBlocks(markdown).find(({ language }) => language === 'js');
    const example = blocksWithResult(markdown, ['http']).find(({ block }) => block.line > (source?.line ?? 0));
    if (source === undefined || example === undefined)
      throw new Error('hubspot.md has no function or no call after it');
    const { path, body } = callIn(example.block);
    const exported: { main?: (event: unknown, callback: (sent: CustomActionCall) => void) => void } = {};
    runInNewContext(source.text.replaceAll('YOUR_API_KEY', own.live.secret), { exports: exported });
    // HubSpot passes the body, with the address as an additional member.
    const event = { webhookUrl: `https://leads.example.com${path}`, ...JSON.parse(String(body)) };
    const sent = await new Promise<CustomActionCall>((resolve) => exported.main?.(event, resolve));
    expect(sent).to.include({ webhookUrl: event.webhookUrl, httpMethod: 'POST' });
    expect(JSON.parse(sent.body)).to.deep.equal(JSON.parse(String(body)));
    const headers = { ...sent.httpHeaders, 'Content-Type': sent.contentType, Accept: sent.accept };
    const reply = await rawCall(service.url(), { path, headers, body: sent.body });
    expect(reply.status, reply.text).to.equal(200);
  });

  it('pipedrive.md has an example of category_aliases that maps an option id to its category', async () => {
    const block = markdownBlocks(markdownOf('pipedrive.md')).find(({ text }) => text.includes('category_aliases'));
    const shown = JSON.parse(block?.text ?? '{}') as Pick<CategoryFeature, 'field' | 'category_aliases'>;
    const [id = '', label = ''] = Object.entries(shown.category_aliases ?? {})[0] ?? [];
    const scoreOf = async (modelId: string, option: object): Promise<number> => {
      const data = { custom_fields: { [shown.field]: { type: 'enum', ...option } } };
      const body = { model_id: modelId, meta: { version: '2.0' }, data };
      return scoredWebhook(await own.call('/v1/webhooks/score', { body })).score;
    };
    const named = await own.addModel({ bundle: await demoBundleWith({}, [shown]) });
    const asLabel = await scoreOf(named._id, { value: label });
    expect(await scoreOf(named._id, { id: Number(id) })).to.equal(asLabel);
    expect(await scoreOf(own.model._id, { id: Number(id) })).to.not.equal(asLabel);
  });

  for (const file of files.filter((name) => name !== 'README.md')) {
    describe(file, () => {
      const calls = blocksWithResult(markdownOf(file), ['http']);

      it(`${file} shows a call`, () => expect(calls).to.not.have.length(0));

      for (const { block, result } of calls) {
        it(`returns the reply shown for the call in line ${block.line} of ${file}`, async () => {
          const call = callIn(block);
          // A GET reads the score of the first call on the page, and an outcome is of its lead.
          const needsScore = call.method === 'GET' || call.path.startsWith('/v1/webhooks/outcome');
          if (needsScore && calls[0]) await rawCall(service.url(), callIn(calls[0].block));
          const reply = await rawCall(service.url(), call);
          expect(reply.status, reply.text).to.equal(200);
          const shown = JSON.parse(result.text);
          if (Object.keys(shown).join() === 'input_summary') return expectSummary(JSON.parse(reply.text), shown);
          expect(jsonForm(JSON.parse(reply.text))).to.deep.equal(jsonForm(shown));
          const { crm_id, enriched } = JSON.parse(result.text) as { crm_id?: string; enriched?: boolean };
          if (crm_id !== undefined) expect(JSON.parse(reply.text)).to.include({ crm_id });
          if (enriched !== undefined) expect(JSON.parse(reply.text)).to.include({ enriched });
        });
      }

      it(`${file} explains the errors and how to write the score back`, () => {
        expect(markdownOf(file))
          .to.include('## Errors and retries')
          .and.match(/write the score back/i);
      });

      it(`${file} has diagrams of at most 100 columns`, () => {
        for (const { language, text, line } of markdownBlocks(markdownOf(file)))
          if (language === 'text')
            expect(Math.max(...text.split('\n').map((each) => each.length)), `line ${line}`).to.be.at.most(
              maxPictureWidth,
            );
      });
    });
  }
});
